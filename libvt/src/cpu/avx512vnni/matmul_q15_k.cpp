// Weight types whose blocks hold 256 values: a step is a block.
#include "cpu/avx512vnni/q15_tile.h"
#include "cpu/avx512vnni/q15_types.h"

namespace vt {
namespace {

// x in the first eight lanes, y in the last.
VT_INLINE __m512 Each8(__m128 x, __m128 y) {
  return Join(_mm256_broadcastss_ps(x), _mm256_broadcastss_ps(y));
}
VT_INLINE __m512i Each8(std::uint32_t x, std::uint32_t y) {
  return _mm512_inserti64x4(_mm512_set1_epi32(static_cast<int>(x)),
                            _mm256_set1_epi32(static_cast<int>(y)), 1);
}
// Counts for a rotation that moves bit 4 q + i of each byte in 128-bit lane i to bit `to`. Rotating
// 64 bits by less than a byte keeps such a bit in its byte.
VT_INLINE __m512i RotateCounts(int q, int step, int to) {
  const long long base = to - q * 4 * step;
  return _mm512_setr_epi64(base, base, base - step, base - step, base - 2 * step, base - 2 * step,
                           base - 3 * step, base - 3 * step);
}

VT_INLINE __m512 BytesToFloats(std::uint64_t row0, std::uint64_t row1) {
  const __m128i bytes = _mm_set_epi64x(static_cast<long long>(row1), static_cast<long long>(row0));
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}

VT_INLINE void ScalesOfK4(const std::uint8_t* row0, const std::uint8_t* row1, __m512& d,
                          __m512& min) {
  std::uint64_t scales0, scales1, mins0, mins1;
  ScalesK4(row0 + 4, scales0, mins0);
  ScalesK4(row1 + 4, scales1, mins1);
  d = _mm512_mul_ps(Each8(HalfAt(row0), HalfAt(row1)), BytesToFloats(scales0, scales1));
  min = _mm512_mul_ps(Each8(HalfAt(row0 + 2), HalfAt(row1 + 2)), BytesToFloats(mins0, mins1));
  min = _mm512_xor_ps(min, _mm512_set1_ps(-0.0f));
}

// 64 bytes of nibbles of Q4_K or Q5_K: low halves are groups 0 and 2 of the quad, high 1 and 3.
VT_INLINE void NibblesK4(const std::uint8_t* p, __m512i* quad) {
  const __m512i mask = _mm512_set1_epi8(15);
  const __m512i bytes = Load512(p);
  const __m512i g02 = _mm512_and_si512(bytes, mask);
  const __m512i g13 = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), mask);
  const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
  const __m512i second = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
  quad[0] = _mm512_permutex2var_epi64(g02, first, g13);
  quad[1] = _mm512_permutex2var_epi64(g02, second, g13);
}

struct Q4K {
  static constexpr SumSize kSize = SumSize::kSmall;
  static constexpr int kOffset = 0;
  static constexpr bool kMin = true;
  static constexpr bool kHasTail = false;
  static constexpr int kStepBytes = 144;

  template <int kQuads>
  VT_INLINE void Weights(const std::uint8_t* p, __m512i w[2][2]) {
    for (int q = 0; q < 2; ++q) NibblesK4(p + 16 + 64 * q, w[q]);
  }
  VT_INLINE void Scales(const std::uint8_t* row0, const std::uint8_t* row1, __m512& d,
                        __m512& min) {
    ScalesOfK4(row0, row1, d, min);
  }
};

struct Q5K {
  static constexpr SumSize kSize = SumSize::kMedium;
  static constexpr int kOffset = 0;
  static constexpr bool kMin = true;
  static constexpr bool kHasTail = false;
  static constexpr int kStepBytes = 176;

  template <int kQuads>
  VT_INLINE void Weights(const std::uint8_t* p, __m512i w[2][2]) {
    const __m512i bit = _mm512_set1_epi8(16);
    for (int q = 0; q < 2; ++q) {
      NibblesK4(p + 48 + 64 * q, w[q]);
      for (int h = 0; h < 2; ++h) {
        const __m512i high = _mm512_broadcast_i32x4(Load128(p + 16 + 16 * h));
        const __m512i fifth = _mm512_rolv_epi64(high, RotateCounts(q, 1, 4));
        w[q][h] = _mm512_ternarylogic_epi64(w[q][h], fifth, bit, 0xf8);  // w | (fifth & bit)
      }
    }
  }
  VT_INLINE void Scales(const std::uint8_t* row0, const std::uint8_t* row1, __m512& d,
                        __m512& min) {
    ScalesOfK4(row0, row1, d, min);
  }
};

struct Iq4Xs {
  static constexpr SumSize kSize = SumSize::kLarge;
  static constexpr int kOffset = 128;
  static constexpr bool kMin = false;
  static constexpr bool kHasTail = false;
  static constexpr int kStepBytes = 136;

  template <int kQuads>
  VT_INLINE void Weights(const std::uint8_t* p, __m512i w[2][2]) {
    const __m512i mask = _mm512_set1_epi8(15);
    const __m512i table =
        _mm512_broadcast_i32x4(_mm_xor_si128(Load128(kIq4Values), _mm_set1_epi8(-128)));
    for (int q = 0; q < 2; ++q) {
      const __m512i bytes = Load512(p + 8 + 64 * q);
      w[q][0] = _mm512_shuffle_epi8(table, _mm512_and_si512(bytes, mask));
      w[q][1] = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(bytes, 4), mask));
    }
  }
  VT_INLINE void Scales(const std::uint8_t* row0, const std::uint8_t* row1, __m512& d,
                        __m512& min) {
    const __m512i by_nibble =
        _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    const __m512i by_pair = _mm512_srli_epi32(by_nibble, 1);
    const __m512i low =
        _mm512_and_si512(_mm512_srlv_epi32(Each8(LoadU32(row0 + 4), LoadU32(row1 + 4)), by_nibble),
                         _mm512_set1_epi32(15));
    const __m512i high =
        _mm512_and_si512(_mm512_srlv_epi32(Each8(LoadU16(row0 + 2), LoadU16(row1 + 2)), by_pair),
                         _mm512_set1_epi32(3));
    const __m512i scale =
        _mm512_sub_epi32(_mm512_or_si512(low, _mm512_slli_epi32(high, 4)), _mm512_set1_epi32(32));
    d = _mm512_mul_ps(Each8(HalfAt(row0), HalfAt(row1)), _mm512_cvtepi32_ps(scale));
    min = _mm512_setzero_ps();
  }
};

// 16 signed scales, one per 16 values, as words: in lane i of a quad's register four times the
// scale of the first half of group i, then four times that of the second.
VT_INLINE void WidenScales(__m128i scales, __m512i quads[2]) {
  const __m512i words = _mm512_castsi256_si512(_mm256_cvtepi8_epi16(scales));
  const __m512i from = _mm512_set_epi16(7, 7, 7, 7, 6, 6, 6, 6, 5, 5, 5, 5, 4, 4, 4, 4, 3, 3, 3, 3,
                                        2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
  quads[0] = _mm512_permutexvar_epi16(from, words);
  quads[1] = _mm512_permutexvar_epi16(_mm512_add_epi16(from, _mm512_set1_epi16(8)), words);
}

// Two blocks of a type T with a signed integer scale per 16 values. Here the activations are made
// unsigned (plus 128) and the weights stay signed; `start` takes 128 * (sum of the weights) off
// again.
template <class T>
struct PairTile {
  __m512i w[2][2][2];
  __m512i start[2][2][2];
  __m512i scales[2][2];
  __m512 d;

  template <int kQuads>
  VT_INLINE void Unpack(const std::uint8_t* row0, const std::uint8_t* row1, PairTile& tile) {
    const std::uint8_t* rows[2] = {row0, row1};
    for (int r = 0; r < 2; ++r) {
      T::Weights(rows[r], tile.w[r]);
      WidenScales(T::SubScales(rows[r]), tile.scales[r]);
      for (int q = 0; q < 2; ++q) {
        for (int h = 0; h < 2; ++h) {
          const __m512i zero = _mm512_setzero_si512();
          const __m512i sum = _mm512_dpbusd_epi32(zero, _mm512_set1_epi8(-128), tile.w[r][q][h]);
          tile.start[r][q][h] = _mm512_sub_epi32(zero, sum);
        }
      }
    }
    tile.d = Each8(HalfAt(row0 + T::kD), HalfAt(row1 + T::kD));
  }

  VT_INLINE __m512i Dot(const PairTile& tile, const std::int8_t* digits) {
    __m512i a[2][2];
    LoadActivations<2>(digits, a);
    for (int q = 0; q < 2; ++q) {
      for (int h = 0; h < 2; ++h) a[q][h] = _mm512_xor_si512(a[q][h], _mm512_set1_epi8(-128));
    }
    __m512i z[4];
    for (int row = 0; row < 2; ++row) {
      for (int q = 0; q < 2; ++q) {
        const __m512i first =
            _mm512_dpbusd_epi32(tile.start[row][q][0], a[q][0], tile.w[row][q][0]);
        const __m512i second =
            _mm512_dpbusd_epi32(tile.start[row][q][1], a[q][1], tile.w[row][q][1]);
        // Sums of 4 products of weights in [-32, 31] fit 16 bits.
        z[2 * row + q] = _mm512_madd_epi16(_mm512_packs_epi32(first, second), tile.scales[row][q]);
      }
    }
    return QuadSums<SumSize::kLarge>(z);
  }

  template <int kQuads>
  VT_INLINE __m512 Product(const PairTile& tile, const StepInput& x) {
    const __m512i dot = GroupOrder(JoinDigits(Dot(tile, x.high), Dot(tile, x.low)));
    return _mm512_mul_ps(tile.d, _mm512_cvtepi32_ps(dot));
  }
};

struct Q6K {
  static constexpr bool kHasTail = false;
  static constexpr int kStepBytes = 210;
  static constexpr int kD = 208;

  VT_INLINE void Weights(const std::uint8_t* p, __m512i w[2][2]) {
    const __m512i mask = _mm512_set1_epi8(15);
    for (int q = 0; q < 2; ++q) {
      const __m512i bytes = Load512(p + 64 * q);
      SplitHalves(_mm512_and_si512(bytes, mask),
                  _mm512_and_si512(_mm512_srli_epi16(bytes, 4), mask), w[q]);
      for (int h = 0; h < 2; ++h) {
        const __m512i high = _mm512_broadcast_i32x4(Load128(p + 128 + 32 * q + 16 * h));
        const __m512i bits = _mm512_rolv_epi64(high, RotateCounts(0, 2, 4));
        const __m512i value =
            _mm512_ternarylogic_epi64(w[q][h], bits, _mm512_set1_epi8(0x30), 0xf8);
        w[q][h] = _mm512_sub_epi8(value, _mm512_set1_epi8(32));
      }
    }
  }
  VT_INLINE __m128i SubScales(const std::uint8_t* p) { return Load128(p + 192); }
};

struct Q3K {
  static constexpr bool kHasTail = false;
  static constexpr int kStepBytes = 110;
  static constexpr int kD = 108;

  VT_INLINE void Weights(const std::uint8_t* p, __m512i w[2][2]) {
    const __m512i by_pair = _mm512_setr_epi64(0, 0, 2, 2, 4, 4, 6, 6);
    for (int q = 0; q < 2; ++q) {
      for (int h = 0; h < 2; ++h) {
        const __m512i bytes = _mm512_broadcast_i32x4(Load128(p + 32 + 32 * q + 16 * h));
        const __m512i low =
            _mm512_and_si512(_mm512_srlv_epi64(bytes, by_pair), _mm512_set1_epi8(3));
        const __m512i high = _mm512_broadcast_i32x4(Load128(p + 16 * h));
        const __m512i bits = _mm512_rolv_epi64(high, RotateCounts(q, 1, 2));
        const __m512i value = _mm512_ternarylogic_epi64(low, bits, _mm512_set1_epi8(4), 0xf8);
        w[q][h] = _mm512_sub_epi8(value, _mm512_set1_epi8(4));
      }
    }
  }
  VT_INLINE __m128i SubScales(const std::uint8_t* p) {
    std::int8_t scales[16];
    UnpackScalesQ3K(p + 96, scales);
    return Load128(scales);
  }
};

// Two blocks of Q2_K. Its scales are small enough to be multiplied into the weights (3 * 15) and
// its minimums are the weights of a second dot product.
struct Q2KTile {
  __m512i w[2][2][2];
  __m512i mins[2][2][2];
  __m512 d;
  __m512 min;

  template <int kQuads>
  VT_INLINE void Unpack(const std::uint8_t* row0, const std::uint8_t* row1, Q2KTile& tile) {
    const __m512i by_pair = _mm512_setr_epi64(0, 0, 2, 2, 4, 4, 6, 6);
    const std::uint8_t* rows[2] = {row0, row1};
    for (int r = 0; r < 2; ++r) {
      const std::uint8_t* p = rows[r];
      const __m512i words = _mm512_castsi256_si512(_mm256_cvtepu8_epi16(Load128(p)));
      for (int q = 0; q < 2; ++q) {
        for (int h = 0; h < 2; ++h) {
          const short first = static_cast<short>(8 * q + h);
          const __m512i pick = _mm512_permutexvar_epi16(WordOfLane(first), words);
          const __m512i scale = _mm512_and_si512(pick, _mm512_set1_epi16(15));
          const __m512i low_min = _mm512_srli_epi16(pick, 4);
          const __m512i bytes = _mm512_broadcast_i32x4(Load128(p + 16 + 32 * q + 16 * h));
          const __m512i value =
              _mm512_and_si512(_mm512_srlv_epi64(bytes, by_pair), _mm512_set1_epi8(3));
          // A word holds two values whose products stay below 256.
          tile.w[r][q][h] = _mm512_mullo_epi16(value, scale);
          tile.mins[r][q][h] = _mm512_or_si512(low_min, _mm512_slli_epi16(low_min, 8));
        }
      }
    }
    tile.d = Each8(HalfAt(row0 + 80), HalfAt(row1 + 80));
    tile.min = _mm512_xor_ps(Each8(HalfAt(row0 + 82), HalfAt(row1 + 82)), _mm512_set1_ps(-0.0f));
  }

  // The group sums of the products of one digit with the weights, and with the minimums.
  VT_INLINE void Dots(const Q2KTile& tile, const std::int8_t* digits, __m512i& weights,
                      __m512i& minimums) {
    __m512i a[2][2];
    LoadActivations<2>(digits, a);
    __m512i z[4], y[4];
    for (int row = 0; row < 2; ++row) {
      for (int q = 0; q < 2; ++q) {
        __m512i dot = _mm512_setzero_si512();
        __m512i sum = _mm512_setzero_si512();
        for (int h = 0; h < 2; ++h) {
          dot = _mm512_dpbusd_epi32(dot, tile.w[row][q][h], a[q][h]);
          sum = _mm512_dpbusd_epi32(sum, tile.mins[row][q][h], a[q][h]);
        }
        z[2 * row + q] = dot;
        y[2 * row + q] = sum;
      }
    }
    weights = QuadSums<SumSize::kLarge>(z);
    minimums = QuadSums<SumSize::kSmall>(y);
  }

  template <int kQuads>
  VT_INLINE __m512 Product(const Q2KTile& tile, const StepInput& x) {
    __m512i high_dot, high_sum, low_dot, low_sum;
    Dots(tile, x.high, high_dot, high_sum);
    Dots(tile, x.low, low_dot, low_sum);
    const __m512i dot = GroupOrder(JoinDigits(high_dot, low_dot));
    const __m512i sum = GroupOrder(JoinDigits(high_sum, low_sum));
    return _mm512_fmadd_ps(tile.min, _mm512_cvtepi32_ps(sum),
                           _mm512_mul_ps(tile.d, _mm512_cvtepi32_ps(dot)));
  }

 private:
  // Word `first` + 2 i in all of lane i.
  VT_INLINE __m512i WordOfLane(short first) {
    const __m512i lane =
        _mm512_setr_epi64(0, 0, 0x0002000200020002, 0x0002000200020002, 0x0004000400040004,
                          0x0004000400040004, 0x0006000600060006, 0x0006000600060006);
    return _mm512_add_epi16(lane, _mm512_set1_epi16(first));
  }
};

struct Q2K {
  static constexpr bool kHasTail = false;
  static constexpr int kStepBytes = 84;
};

}  // namespace

namespace avx512vnni {

void MatmulQ4K(const MatmulArgs& args, const MatmulShare& share) {
  PlainMatmul<Q4K>::Run(args, share);
}
void MatmulQ5K(const MatmulArgs& args, const MatmulShare& share) {
  PlainMatmul<Q5K>::Run(args, share);
}
void MatmulIq4Xs(const MatmulArgs& args, const MatmulShare& share) {
  PlainMatmul<Iq4Xs>::Run(args, share);
}
void MatmulQ6K(const MatmulArgs& args, const MatmulShare& share) {
  Q15Matmul<Q6K, PairTile<Q6K>>::Run(args, share);
}
void MatmulQ3K(const MatmulArgs& args, const MatmulShare& share) {
  Q15Matmul<Q3K, PairTile<Q3K>>::Run(args, share);
}
void MatmulQ2K(const MatmulArgs& args, const MatmulShare& share) {
  Q15Matmul<Q2K, Q2KTile>::Run(args, share);
}

}  // namespace avx512vnni
}  // namespace vt
