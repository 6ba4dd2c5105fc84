// Weight types whose blocks hold 256 values: a step is a block.
#include "cpu/avx2/q15_tile.h"
#include "cpu/avx2/q15_types.h"

namespace vt {
namespace {

VT_INLINE __m256 EachLane(__m128 x) { return _mm256_broadcastss_ps(x); }

VT_INLINE __m256 BytesToFloats(std::uint64_t bytes) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(bytes))));
}

// Bits kShift and up of every byte, moved to bit 0 (left for a negative kShift), under `mask`.
template <int kShift>
VT_INLINE __m256i BitsAt(__m256i bytes, int mask) {
  const __m256i moved = kShift >= 0 ? _mm256_srli_epi16(bytes, kShift < 0 ? 0 : kShift)
                                    : _mm256_slli_epi16(bytes, kShift < 0 ? -kShift : 0);
  return _mm256_and_si256(moved, _mm256_set1_epi8(static_cast<char>(mask)));
}

struct TypeK4 : TypeDefaults {
  static constexpr bool kPack = true;
  static constexpr bool kMin = true;

  VT_INLINE void Scales(const std::uint8_t* p, __m256& d, __m256& min) {
    std::uint64_t scales, mins;
    ScalesK4(p + 4, scales, mins);
    d = _mm256_mul_ps(EachLane(HalfAt(p)), BytesToFloats(scales));
    min = _mm256_mul_ps(EachLane(HalfAt(p + 2)), BytesToFloats(mins));
    min = _mm256_xor_ps(min, _mm256_set1_ps(-0.0f));
  }
};

struct Q4K : TypeK4 {
  static constexpr int kStepBytes = 144;

  template <int kGroups>
  VT_INLINE void Weights(const std::uint8_t* p, __m256i* w) {
    for (int j = 0; j < 4; ++j) {
      const __m256i bytes = Load256(p + 16 + 32 * j);
      w[2 * j] = BitsAt<0>(bytes, 15);
      w[2 * j + 1] = BitsAt<4>(bytes, 15);
    }
  }
};

struct Q5K : TypeK4 {
  static constexpr int kStepBytes = 176;

  // Groups kPair * 2 and kPair * 2 + 1.
  template <int kPair>
  VT_INLINE void Two(const std::uint8_t* p, __m256i high, __m256i* w) {
    const __m256i bytes = Load256(p + 48 + 32 * kPair);
    constexpr int kBit = 2 * kPair;
    w[kBit] = _mm256_or_si256(BitsAt<0>(bytes, 15), BitsAt<kBit - 4>(high, 16));
    w[kBit + 1] = _mm256_or_si256(BitsAt<4>(bytes, 15), BitsAt<kBit - 3>(high, 16));
  }
  template <int kGroups>
  VT_INLINE void Weights(const std::uint8_t* p, __m256i* w) {
    const __m256i high = Load256(p + 16);
    Two<0>(p, high, w);
    Two<1>(p, high, w);
    Two<2>(p, high, w);
    Two<3>(p, high, w);
  }
};

struct Iq4Xs : TypeDefaults {
  static constexpr bool kSigned = true;
  static constexpr int kStepBytes = 136;

  template <int kGroups>
  VT_INLINE void Weights(const std::uint8_t* p, __m256i* w) {
    const __m256i table = _mm256_broadcastsi128_si256(Load128(kIq4Values));
    for (int g = 0; g < 8; ++g) {
      const __m128i bytes = Load128(p + 8 + 16 * g);
      const __m256i index =
          _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes), _mm256_set1_epi8(15));
      w[g] = _mm256_shuffle_epi8(table, index);
    }
  }
  VT_INLINE void Scales(const std::uint8_t* p, __m256& d, __m256& min) {
    const __m256i by_nibble = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    const __m256i by_pair = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
    const __m256i low = _mm256_and_si256(
        _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(LoadU32(p + 4))), by_nibble),
        _mm256_set1_epi32(15));
    const __m256i high = _mm256_and_si256(
        _mm256_srlv_epi32(_mm256_set1_epi32(LoadU16(p + 2)), by_pair), _mm256_set1_epi32(3));
    const __m256i scale =
        _mm256_sub_epi32(_mm256_or_si256(low, _mm256_slli_epi32(high, 4)), _mm256_set1_epi32(32));
    d = _mm256_mul_ps(EachLane(HalfAt(p)), _mm256_cvtepi32_ps(scale));
    min = _mm256_setzero_ps();
  }
};

// 16 words, one per 16 values: words 2 g and 2 g + 1 fill the two lanes of w[g].
VT_INLINE void WidenScales(__m256i words, __m256i* w) {
  const __m256i first = _mm256_permute2x128_si256(words, words, 0x00);
  const __m256i last = _mm256_permute2x128_si256(words, words, 0x11);
  __m256i pick = _mm256_set_m128i(_mm_set1_epi16(0x0302), _mm_set1_epi16(0x0100));
  for (int g = 0; g < 4; ++g) {
    w[g] = _mm256_shuffle_epi8(first, pick);
    w[g + 4] = _mm256_shuffle_epi8(last, pick);
    pick = _mm256_add_epi8(pick, _mm256_set1_epi8(4));
  }
}

struct Q2K : TypeDefaults {
  static constexpr bool kPairs = true;
  static constexpr bool kPairMin = true;
  static constexpr int kStepBytes = 84;

  template <int kGroups>
  VT_INLINE void Weights(const std::uint8_t* p, __m256i* w) {
    for (int h = 0; h < 2; ++h) {
      const __m256i bytes = Load256(p + 16 + 32 * h);
      w[4 * h] = BitsAt<0>(bytes, 3);
      w[4 * h + 1] = BitsAt<2>(bytes, 3);
      w[4 * h + 2] = BitsAt<4>(bytes, 3);
      w[4 * h + 3] = BitsAt<6>(bytes, 3);
    }
  }
  VT_INLINE void Scales(const std::uint8_t* p, __m256& d, __m256& min) {
    d = EachLane(HalfAt(p + 80));
    min = _mm256_xor_ps(EachLane(HalfAt(p + 82)), _mm256_set1_ps(-0.0f));
  }
  VT_INLINE void SubScales(const std::uint8_t* p, __m256i* scales) {
    WidenScales(_mm256_cvtepu8_epi16(_mm_and_si128(Load128(p), _mm_set1_epi8(15))), scales);
  }
  VT_INLINE void SubMins(const std::uint8_t* p, __m256i* mins) {
    const __m128i bytes = _mm_and_si128(_mm_srli_epi16(Load128(p), 4), _mm_set1_epi8(15));
    const __m256i words = _mm256_cvtepu8_epi16(bytes);
    WidenScales(_mm256_or_si256(words, _mm256_slli_epi16(words, 8)), mins);
  }
};

struct Q3K : TypeDefaults {
  static constexpr bool kSigned = true;
  static constexpr bool kPairs = true;
  static constexpr int kStepBytes = 110;

  template <int kGroup>
  VT_INLINE void One(const std::uint8_t* p, __m256i high, __m256i* w) {
    const __m256i bytes = Load256(p + 32 + kGroup / 4 * 32);
    const __m256i value =
        _mm256_or_si256(BitsAt<kGroup % 4 * 2>(bytes, 3), BitsAt<kGroup - 2>(high, 4));
    w[kGroup] = _mm256_sub_epi8(value, _mm256_set1_epi8(4));
  }
  template <int kGroups>
  VT_INLINE void Weights(const std::uint8_t* p, __m256i* w) {
    const __m256i high = Load256(p);
    One<0>(p, high, w);
    One<1>(p, high, w);
    One<2>(p, high, w);
    One<3>(p, high, w);
    One<4>(p, high, w);
    One<5>(p, high, w);
    One<6>(p, high, w);
    One<7>(p, high, w);
  }
  VT_INLINE void Scales(const std::uint8_t* p, __m256& d, __m256& min) {
    d = EachLane(HalfAt(p + 108));
    min = _mm256_setzero_ps();
  }
  VT_INLINE void SubScales(const std::uint8_t* p, __m256i* out) {
    std::int8_t scales[16];
    UnpackScalesQ3K(p + 96, scales);
    WidenScales(_mm256_cvtepi8_epi16(Load128(scales)), out);
  }
};

struct Q6K : TypeDefaults {
  static constexpr bool kSigned = true;
  static constexpr bool kPairs = true;
  static constexpr int kStepBytes = 210;

  template <int kGroups>
  VT_INLINE void Weights(const std::uint8_t* p, __m256i* w) {
    const __m256i offset = _mm256_set1_epi8(32);
    for (int h = 0; h < 2; ++h) {
      const __m256i first = Load256(p + 64 * h);
      const __m256i second = Load256(p + 64 * h + 32);
      const __m256i high = Load256(p + 128 + 32 * h);
      __m256i* out = w + 4 * h;
      out[0] = _mm256_or_si256(BitsAt<0>(first, 15), BitsAt<-4>(high, 0x30));
      out[1] = _mm256_or_si256(BitsAt<0>(second, 15), BitsAt<-2>(high, 0x30));
      out[2] = _mm256_or_si256(BitsAt<4>(first, 15), BitsAt<0>(high, 0x30));
      out[3] = _mm256_or_si256(BitsAt<4>(second, 15), BitsAt<2>(high, 0x30));
      for (int i = 0; i < 4; ++i) out[i] = _mm256_sub_epi8(out[i], offset);
    }
  }
  VT_INLINE void Scales(const std::uint8_t* p, __m256& d, __m256& min) {
    d = EachLane(HalfAt(p + 208));
    min = _mm256_setzero_ps();
  }
  VT_INLINE void SubScales(const std::uint8_t* p, __m256i* scales) {
    WidenScales(_mm256_cvtepi8_epi16(Load128(p + 192)), scales);
  }
};

}  // namespace

namespace avx2 {

void MatmulQ2K(const MatmulArgs& args, const MatmulShare& share) {
  Q15Matmul<Q2K>::Run(args, share);
}
void MatmulQ3K(const MatmulArgs& args, const MatmulShare& share) {
  Q15Matmul<Q3K>::Run(args, share);
}
void MatmulQ4K(const MatmulArgs& args, const MatmulShare& share) {
  Q15Matmul<Q4K>::Run(args, share);
}
void MatmulQ5K(const MatmulArgs& args, const MatmulShare& share) {
  Q15Matmul<Q5K>::Run(args, share);
}
void MatmulQ6K(const MatmulArgs& args, const MatmulShare& share) {
  Q15Matmul<Q6K>::Run(args, share);
}
void MatmulIq4Xs(const MatmulArgs& args, const MatmulShare& share) {
  Q15Matmul<Iq4Xs>::Run(args, share);
}

}  // namespace avx2
}  // namespace vt
