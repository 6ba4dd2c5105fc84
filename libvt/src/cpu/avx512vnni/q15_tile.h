// Matmul with 15-bit activations on AVX-512 VNNI: the part that all weight types share.
//
// Work goes in steps of 8 groups (256 values) of two rows of w, which fill 16 float lanes: groups
// 0-7 of the first row, then of the second. A row's 8 groups are held as two quads of 4 groups,
// and a quad as two registers: its 128-bit lane i has the first (second) 16 bytes of group i. So
// two dpbusd leave 4 partial sums per group, and one tree over the four quads of two rows leaves
// all 16 group sums in one register. Unpacking is paid once per step and serves up to 32 rows of x.
//
// dpbusd takes unsigned times signed bytes: weights are stored plus an offset, which is taken off
// again as offset * (sum of the activations), all in exact integers.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "cpu/generic/q15_steps.h"
#include "cpu/generic/x86_quant.h"
#include "cpu/matmul.h"

namespace vt {
namespace {

// A single row of x is bound by reading w, and short rows defeat the hardware's prefetch: on one
// core of a Xeon of 2023, q4_1 of 2048 columns, 7.2 GB/s without kPrefetchBytes and 11.6 with it (2
// to 16 KiB are alike). 32 rows of x then run at some 0.6 of what dpbusd alone could do.
constexpr std::int64_t kPrefetchBytes = 4096;  // how far ahead weights are fetched, at least

// How large the sum of 8 products of a type can get, which decides how partial sums are added up:
// kSmall: 16 products fit 16 bits; kMedium: 8 products do; kLarge: neither.
enum class SumSize { kSmall, kMedium, kLarge };

VT_INLINE __m512i Load512(const void* p) { return _mm512_loadu_si512(p); }

// From two registers of whole groups (0 1 and 2 3) the first and the second halves of all four.
VT_INLINE void SplitHalves(__m512i g01, __m512i g23, __m512i* quad) {
  quad[0] = _mm512_shuffle_i64x2(g01, g23, 0x88);
  quad[1] = _mm512_shuffle_i64x2(g01, g23, 0xdd);
}

template <int kQuads>
VT_INLINE void LoadActivations(const std::int8_t* a, __m512i quads[2][2]) {
  for (int q = 0; q < kQuads; ++q) {
    SplitHalves(Load512(a + 128 * q), Load512(a + 128 * q + 64), quads[q]);
  }
}

// Per 128-bit lane: a0+a1 a2+a3 b0+b1 b2+b3, for sums that fit 16 bits.
VT_INLINE __m512i PairSums16(__m512i a, __m512i b) {
  return _mm512_madd_epi16(_mm512_packs_epi32(a, b), _mm512_set1_epi16(1));
}

// The totals of the 4 lanes of each 128-bit lane of z[0..3], as lane 4 i + j for lane i of z[j].
template <SumSize kSize>
VT_INLINE __m512i QuadSums(const __m512i* z) {
  if constexpr (kSize == SumSize::kSmall) {
    return PairSums16(PairSums16(z[0], z[1]), PairSums16(z[2], z[3]));
  } else if constexpr (kSize == SumSize::kMedium) {
    // The two halves of a total lie side by side: 0 0 1 1 and 2 2 3 3.
    const __m512i a = PairSums16(z[0], z[1]);
    const __m512i b = PairSums16(z[2], z[3]);
    const __m512 even = _mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0x88);
    const __m512 odd = _mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0xdd);
    return _mm512_add_epi32(_mm512_castps_si512(even), _mm512_castps_si512(odd));
  } else {
    // The two halves lie apart: 0 1 0 1 and 2 3 2 3.
    const __m512i a =
        _mm512_add_epi32(_mm512_unpacklo_epi32(z[0], z[1]), _mm512_unpackhi_epi32(z[0], z[1]));
    const __m512i b =
        _mm512_add_epi32(_mm512_unpacklo_epi32(z[2], z[3]), _mm512_unpackhi_epi32(z[2], z[3]));
    return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  }
}

// From QuadSums' order (lane 4 i + j, j = 2 row + quad) to group order within a row, row by row.
VT_INLINE __m512i GroupOrder(__m512i sums) {
  const __m512i from = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(from, sums);
}

// 128 * high + low
VT_INLINE __m512i JoinDigits(__m512i high, __m512i low) {
  return _mm512_add_epi32(_mm512_slli_epi32(high, 7), low);
}

VT_INLINE __m512i TwiceI(const std::int32_t* p) { return _mm512_broadcast_i64x4(Load256(p)); }
VT_INLINE __m512 TwiceF(const float* p) {
  return _mm512_castsi512_ps(_mm512_broadcast_i64x4(Load256(p)));
}
VT_INLINE __m512 Join(__m256 first, __m256 second) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(first), second, 1);
}

template <int kOffset>
VT_INLINE __m512i TimesOffset(__m512i sums) {
  if constexpr (kOffset == 8) return _mm512_slli_epi32(sums, 3);
  if constexpr (kOffset == 16) return _mm512_slli_epi32(sums, 4);
  if constexpr (kOffset == 128) return _mm512_slli_epi32(sums, 7);
  return _mm512_setzero_si512();
}

// Two rows of a type T whose weights are one unsigned byte each, minus kOffset, with one d per
// group. T gives kSize, kOffset, kMin (t has a term min * sum), kStepBytes, Weights and Scales.
template <class T>
struct PlainTile {
  __m512i w[2][2][2];
  __m512 d;
  __m512 min;

  template <int kQuads>
  VT_INLINE void Unpack(const std::uint8_t* row0, const std::uint8_t* row1, PlainTile& tile) {
    T::template Weights<kQuads>(row0, tile.w[0]);
    T::template Weights<kQuads>(row1, tile.w[1]);
    T::Scales(row0, row1, tile.d, tile.min);
  }

  VT_INLINE void ZeroScales(PlainTile& tile, __mmask16 keep) {
    tile.d = _mm512_maskz_mov_ps(keep, tile.d);
    tile.min = _mm512_maskz_mov_ps(keep, tile.min);
  }

  // The group sums of the products with one digit.
  template <int kQuads>
  VT_INLINE __m512i Dot(const PlainTile& tile, const std::int8_t* digits) {
    __m512i a[2][2];
    LoadActivations<kQuads>(digits, a);
    __m512i z[4];
    for (int j = 0; j < 4; ++j) z[j] = _mm512_setzero_si512();
    for (int row = 0; row < 2; ++row) {
      for (int q = 0; q < kQuads; ++q) {
        __m512i& sum = z[2 * row + q];
        sum = _mm512_dpbusd_epi32(sum, tile.w[row][q][0], a[q][0]);
        sum = _mm512_dpbusd_epi32(sum, tile.w[row][q][1], a[q][1]);
      }
    }
    return QuadSums<T::kSize>(z);
  }

  template <int kQuads>
  VT_INLINE __m512 Product(const PlainTile& tile, const StepInput& x) {
    __m512i dot = GroupOrder(JoinDigits(Dot<kQuads>(tile, x.high), Dot<kQuads>(tile, x.low)));
    if constexpr (T::kOffset != 0) {
      dot = _mm512_sub_epi32(dot, TimesOffset<T::kOffset>(TwiceI(x.sums)));
    }
    const __m512 t = _mm512_mul_ps(tile.d, _mm512_cvtepi32_ps(dot));
    if constexpr (!T::kMin) return t;
    return _mm512_fmadd_ps(tile.min, _mm512_cvtepi32_ps(TwiceI(x.sums)), t);
  }
};

template <class T, class Tile>
class Q15Matmul {
 public:
  static void Run(const MatmulArgs& args, const MatmulShare& share) {
    Tail tail;
    for (std::int64_t x0 = 0; x0 < args.m; x0 += kBlockCols) {
      const int count = args.m - x0 < kBlockCols ? static_cast<int>(args.m - x0) : kBlockCols;
      FillTail(args, x0, count, tail);
      for (std::int64_t r = share.rows.begin; r < share.rows.end; r += 2) {
        TwoRows(args, share, r, x0, count, tail);
      }
    }
  }

 private:
  template <int kQuads>
  VT_INLINE void AddStep(const Tile& tile, const StepInput& x, __m512& sum) {
    sum = _mm512_fmadd_ps(Tile::template Product<kQuads>(tile, x), TwiceF(x.scales), sum);
  }

  // `rest` groups of each row.
  template <int kQuads>
  VT_INLINE void AddTail(const std::uint8_t* row0, const std::uint8_t* row1, int rest, int count,
                         const Tail& tail, __m512* sums) {
    Tile tile;
    Tile::template Unpack<kQuads>(row0, row1, tile);
    Tile::ZeroScales(tile, static_cast<__mmask16>(((1u << rest) - 1u) * 0x101u));
    for (int c = 0; c < count; ++c) {
      AddStep<kQuads>(tile, {tail.high[c], tail.low[c], tail.scales[c], tail.sums[c]}, sums[c]);
    }
  }

  // How far to fetch ahead: whole pairs of rows, so that what is fetched is read in this order.
  VT_INLINE std::int64_t PrefetchDistance(std::int64_t row_bytes) {
    const std::int64_t pair = 2 * row_bytes;
    return (kPrefetchBytes + pair - 1) / pair * pair;
  }
  VT_INLINE void Prefetch(const std::uint8_t* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0);
  }

  // Rows r and r + 1; where the share ends at r, row r twice.
  static void TwoRows(const MatmulArgs& args, const MatmulShare& share, std::int64_t r,
                      std::int64_t x0, int count, const Tail& tail) {
    const std::int64_t groups = args.w.cols / kQ15Group;
    const std::int64_t steps = groups / kStepGroups;
    const int rest = static_cast<int>(groups % kStepGroups);
    const bool two = r + 1 < share.rows.end;
    const auto* row0 = static_cast<const std::uint8_t*>(args.w.data) + r * share.row_bytes;
    const auto* row1 = two ? row0 + share.row_bytes : row0;
    __m512 sums[kBlockCols];
    for (int c = 0; c < count; ++c) sums[c] = _mm512_setzero_ps();
    Tile tile;
    const std::int64_t ahead = PrefetchDistance(share.row_bytes);
    for (std::int64_t s = 0; s < steps; ++s) {
      for (int at = 0; at < T::kStepBytes; at += 64) {
        Prefetch(row0 + s * T::kStepBytes + ahead + at);
        Prefetch(row1 + s * T::kStepBytes + ahead + at);
      }
      Tile::template Unpack<2>(row0 + s * T::kStepBytes, row1 + s * T::kStepBytes, tile);
      for (int c = 0; c < count; ++c) {
        const std::int64_t at = (x0 + c) * groups + s * kStepGroups;
        AddStep<2>(tile,
                   {args.q.high + at * kQ15Group, args.q.low + at * kQ15Group, args.q.scales + at,
                    args.q.sums + at},
                   sums[c]);
      }
    }
    if constexpr (T::kHasTail) {
      if (rest != 0) {
        const std::int64_t at = steps * T::kStepBytes;
        const std::uint8_t* end =
            static_cast<const std::uint8_t*>(args.w.data) + args.w.rows * share.row_bytes;
        // Unpacking reads 8 blocks. Those past the row are the next row's, whose products with the
        // zero activations vanish; past the last row there may be no memory, so copy.
        std::uint8_t copy[2][kMaxStepBytes];
        const std::uint8_t* p0 = row0 + at;
        const std::uint8_t* p1 = row1 + at;
        if (p1 + T::kStepBytes > end) {
          const auto bytes = static_cast<unsigned>(rest * (T::kStepBytes / kStepGroups));
          std::memset(copy, 0, sizeof(copy));
          std::memcpy(copy[0], p0, bytes);
          std::memcpy(copy[1], p1, bytes);
          p0 = copy[0];
          p1 = copy[1];
        }
        if (rest > 4) {
          AddTail<2>(p0, p1, rest, count, tail, sums);
        } else {
          AddTail<1>(p0, p1, rest, count, tail, sums);
        }
      }
    }
    for (int c = 0; c < count; ++c) {
      __m512 v = sums[c];
      v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0xb1));
      v = _mm512_add_ps(v, _mm512_permute_ps(v, 0x4e));
      v = _mm512_add_ps(v, _mm512_permute_ps(v, 0xb1));
      float* out = args.out + (x0 + c) * args.w.rows + r;
      Finish(args, r, _mm512_cvtss_f32(v), out);
      if (two) Finish(args, r + 1, _mm_cvtss_f32(_mm512_extractf32x4_ps(v, 2)), out + 1);
    }
  }

  VT_INLINE void Finish(const MatmulArgs& args, std::int64_t r, float value, float* out) {
    if (args.bias) value += args.bias[r];
    *out = args.accumulate ? value + *out : value;
  }
};

template <class T>
using PlainMatmul = Q15Matmul<T, PlainTile<T>>;

}  // namespace
}  // namespace vt
