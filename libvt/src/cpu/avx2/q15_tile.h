// Matmul with 15-bit activations on AVX2: the part that all weight types share.
//
// Work goes in steps of 8 groups (256 values) of one row of w, a group to a register. maddubs
// multiplies unsigned by signed bytes and adds pairs into 16 bits, exactly as long as no pair
// passes 32767: unsigned weights below 64 are used as they are, signed ones as |w| times the
// activation with the sign of w, at most 2 * 128 * 127. A tree over the 8 registers leaves the 8
// group sums in one. Unpacking is paid once per step and serves up to 32 rows of x.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "cpu/generic/q15_steps.h"
#include "cpu/generic/x86_quant.h"
#include "cpu/matmul.h"

namespace vt {
namespace {

constexpr std::int64_t kPrefetchBytes = 4096;  // how far ahead weights are fetched

// What a weight type T declares, and the defaults.
struct TypeDefaults {
  static constexpr bool kSigned = false;   // weights are signed bytes
  static constexpr bool kPack = false;     // sums of 8 products fit 16 bits
  static constexpr int kOffset = 0;        // taken off each (unsigned) weight
  static constexpr bool kMin = false;      // t has a term min * sum
  static constexpr bool kPairs = false;    // an integer scale per 16 values
  static constexpr bool kPairMin = false;  // and an integer minimum per 16 values
  static constexpr bool kHasTail = false;  // blocks of 32: a row may end inside a step
};

// Per 128-bit lane, pairs of a then pairs of b added up.
template <bool kPack>
VT_INLINE __m256i PairSums(__m256i a, __m256i b) {
  if constexpr (kPack) {
    return _mm256_madd_epi16(_mm256_packs_epi32(a, b), _mm256_set1_epi16(1));
  } else {
    return _mm256_hadd_epi32(a, b);
  }
}

// The totals of 8 registers, lane i for z[i].
template <bool kPack>
VT_INLINE __m256i GroupSums(const __m256i* z) {
  const __m256i a = PairSums<kPack>(PairSums<kPack>(z[0], z[1]), PairSums<kPack>(z[2], z[3]));
  const __m256i b = PairSums<kPack>(PairSums<kPack>(z[4], z[5]), PairSums<kPack>(z[6], z[7]));
  return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20),
                          _mm256_permute2x128_si256(a, b, 0x31));
}

// 128 * high + low
VT_INLINE __m256i JoinDigits(__m256i high, __m256i low) {
  return _mm256_add_epi32(_mm256_slli_epi32(high, 7), low);
}

template <int kOffset>
VT_INLINE __m256i TimesOffset(__m256i sums) {
  static_assert(kOffset == 8 || kOffset == 16);
  return _mm256_slli_epi32(sums, kOffset == 8 ? 3 : 4);
}

// 8 groups of one row. T gives kStepBytes, Weights and Scales, and where it declares kPairs
// SubScales (16-bit scales of a group's two halves), where kPairMin SubMins (bytes).
template <class T>
struct Tile {
  __m256i w[kStepGroups];
  __m256i magnitude[T::kSigned ? kStepGroups : 1];
  __m256i scales[T::kPairs ? kStepGroups : 1];
  __m256i mins[T::kPairMin ? kStepGroups : 1];
  __m256 d;
  __m256 min;

  template <int kGroups>
  VT_INLINE void Unpack(const std::uint8_t* p, Tile& tile) {
    T::template Weights<kGroups>(p, tile.w);
    if constexpr (T::kSigned) {
      for (int g = 0; g < kGroups; ++g) tile.magnitude[g] = _mm256_abs_epi8(tile.w[g]);
    }
    if constexpr (T::kPairs) T::SubScales(p, tile.scales);
    if constexpr (T::kPairMin) T::SubMins(p, tile.mins);
    T::Scales(p, tile.d, tile.min);
  }

  VT_INLINE void ZeroScales(Tile& tile, int groups) {
    const __m256 keep = _mm256_castsi256_ps(
        _mm256_cmpgt_epi32(_mm256_set1_epi32(groups), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
    tile.d = _mm256_and_ps(tile.d, keep);
    tile.min = _mm256_and_ps(tile.min, keep);
  }

  // The group sums of the products of one digit with the weights and, of kPairMin, the minimums.
  template <int kGroups>
  VT_INLINE void Dots(const Tile& tile, const std::int8_t* digits, __m256i& weights,
                      __m256i& minimums) {
    const __m256i one = _mm256_set1_epi16(1);
    __m256i z[kStepGroups], y[kStepGroups];
    for (int g = 0; g < kStepGroups; ++g) z[g] = y[g] = _mm256_setzero_si256();
    for (int g = 0; g < kGroups; ++g) {
      const __m256i a = Load256(digits + 32 * g);
      __m256i pairs;
      if constexpr (T::kSigned) {
        pairs = _mm256_maddubs_epi16(tile.magnitude[g], _mm256_sign_epi8(a, tile.w[g]));
      } else {
        pairs = _mm256_maddubs_epi16(tile.w[g], a);
      }
      z[g] = _mm256_madd_epi16(pairs, T::kPairs ? tile.scales[T::kPairs ? g : 0] : one);
      if constexpr (T::kPairMin) {
        y[g] = _mm256_madd_epi16(_mm256_maddubs_epi16(tile.mins[g], a), one);
      }
    }
    weights = GroupSums<T::kPack>(z);
    minimums = T::kPairMin ? GroupSums<true>(y) : _mm256_setzero_si256();
  }

  template <int kGroups>
  VT_INLINE __m256 Product(const Tile& tile, const StepInput& x) {
    __m256i high_dot, high_sum, low_dot, low_sum;
    Dots<kGroups>(tile, x.high, high_dot, high_sum);
    Dots<kGroups>(tile, x.low, low_dot, low_sum);
    __m256i dot = JoinDigits(high_dot, low_dot);
    const __m256i sums = Load256(x.sums);
    if constexpr (T::kOffset != 0) dot = _mm256_sub_epi32(dot, TimesOffset<T::kOffset>(sums));
    const __m256 t = _mm256_mul_ps(tile.d, _mm256_cvtepi32_ps(dot));
    if constexpr (T::kMin) return _mm256_fmadd_ps(tile.min, _mm256_cvtepi32_ps(sums), t);
    if constexpr (T::kPairMin) {
      return _mm256_fmadd_ps(tile.min, _mm256_cvtepi32_ps(JoinDigits(high_sum, low_sum)), t);
    }
    return t;
  }
};

template <class T>
class Q15Matmul {
 public:
  static void Run(const MatmulArgs& args, const MatmulShare& share) {
    Tail tail;
    for (std::int64_t x0 = 0; x0 < args.m; x0 += kBlockCols) {
      const int count = args.m - x0 < kBlockCols ? static_cast<int>(args.m - x0) : kBlockCols;
      FillTail(args, x0, count, tail);
      for (std::int64_t r = share.rows.begin; r < share.rows.end; ++r) {
        OneRow(args, share, r, x0, count, tail);
      }
    }
  }

 private:
  template <int kGroups>
  VT_INLINE void AddStep(const Tile<T>& tile, const StepInput& x, __m256& sum) {
    sum = _mm256_fmadd_ps(Tile<T>::template Product<kGroups>(tile, x), _mm256_loadu_ps(x.scales),
                          sum);
  }

  template <int kGroups>
  VT_INLINE void AddTail(const std::uint8_t* p, int rest, int count, const Tail& tail,
                         __m256* sums) {
    Tile<T> tile;
    Tile<T>::template Unpack<kGroups>(p, tile);
    Tile<T>::ZeroScales(tile, rest);
    for (int c = 0; c < count; ++c) {
      AddStep<kGroups>(tile, {tail.high[c], tail.low[c], tail.scales[c], tail.sums[c]}, sums[c]);
    }
  }

  static void OneRow(const MatmulArgs& args, const MatmulShare& share, std::int64_t r,
                     std::int64_t x0, int count, const Tail& tail) {
    const std::int64_t groups = args.w.cols / kQ15Group;
    const std::int64_t steps = groups / kStepGroups;
    const int rest = static_cast<int>(groups % kStepGroups);
    const auto* row = static_cast<const std::uint8_t*>(args.w.data) + r * share.row_bytes;
    __m256 sums[kBlockCols];
    for (int c = 0; c < count; ++c) sums[c] = _mm256_setzero_ps();
    Tile<T> tile;
    for (std::int64_t s = 0; s < steps; ++s) {
      for (int at = 0; at < T::kStepBytes; at += 64) {
        const std::uint8_t* next = row + s * T::kStepBytes + kPrefetchBytes + at;
        _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T0);
      }
      Tile<T>::template Unpack<8>(row + s * T::kStepBytes, tile);
      for (int c = 0; c < count; ++c) {
        const std::int64_t at = (x0 + c) * groups + s * kStepGroups;
        AddStep<8>(tile,
                   {args.q.high + at * kQ15Group, args.q.low + at * kQ15Group, args.q.scales + at,
                    args.q.sums + at},
                   sums[c]);
      }
    }
    if constexpr (T::kHasTail) {
      if (rest != 0) {
        // Unpacking reads 8 blocks. Those past the row are the next row's, whose products with the
        // zero activations vanish; past the last row there may be no memory, so copy.
        const std::uint8_t* p = row + steps * T::kStepBytes;
        const std::uint8_t* end =
            static_cast<const std::uint8_t*>(args.w.data) + args.w.rows * share.row_bytes;
        std::uint8_t copy[kMaxStepBytes];
        if (p + T::kStepBytes > end) {
          std::memset(copy, 0, sizeof(copy));
          std::memcpy(copy, p, static_cast<unsigned>(rest * (T::kStepBytes / kStepGroups)));
          p = copy;
        }
        if (rest > 4) {
          AddTail<8>(p, rest, count, tail, sums);
        } else {
          AddTail<4>(p, rest, count, tail, sums);
        }
      }
    }
    for (int c = 0; c < count; ++c) {
      __m128 v = _mm_add_ps(_mm256_castps256_ps128(sums[c]), _mm256_extractf128_ps(sums[c], 1));
      v = _mm_add_ps(v, _mm_movehl_ps(v, v));
      v = _mm_add_ss(v, _mm_shuffle_ps(v, v, 1));
      float value = _mm_cvtss_f32(v);
      if (args.bias) value += args.bias[r];
      float& out = args.out[(x0 + c) * args.w.rows + r];
      out = args.accumulate ? value + out : value;
    }
  }
};

}  // namespace
}  // namespace vt
