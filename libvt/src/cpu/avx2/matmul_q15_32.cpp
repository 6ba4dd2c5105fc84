// Weight types whose blocks hold 32 values.
#include "cpu/avx2/q15_tile.h"
#include "cpu/avx2/q15_types.h"

namespace vt {
namespace {

// 16 bytes of nibbles as 32 values: low halves, then high halves.
VT_INLINE __m256i Nibbles(const std::uint8_t* p) {
  const __m128i bytes = Load128(p);
  return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes), _mm256_set1_epi8(15));
}

// Bit i of the word as 16 in byte i.
VT_INLINE __m256i FifthBits(std::uint32_t word) {
  const __m256i spread = _mm256_shuffle_epi8(
      _mm256_set1_epi32(static_cast<int>(word)),
      _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303));
  const __m256i bit = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201u));
  const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
  return _mm256_and_si256(set, _mm256_set1_epi8(16));
}

VT_INLINE __m256i Levels(const std::int8_t* levels, __m256i index) {
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(Load128(levels)), index);
}

// d and min of eight blocks that start with two f16.
template <int kBlockBytes>
VT_INLINE void HalfPairs(const std::uint8_t* p, __m256& d, __m256& min) {
  d = _mm256_cvtph_ps(Halves<kBlockBytes>(p));
  min = _mm256_cvtph_ps(Halves<kBlockBytes>(p + 2));
}

template <int kBytes>
struct Type32 : TypeDefaults {
  static constexpr bool kHasTail = true;
  static constexpr int kBlockBytes = kBytes;
  static constexpr int kStepBytes = 8 * kBytes;

  VT_INLINE void Scales(const std::uint8_t* p, __m256& d, __m256& min) {
    d = _mm256_cvtph_ps(Halves<kBytes>(p));
    min = _mm256_setzero_ps();
  }
};

struct Q4_0 : Type32<18> {
  static constexpr bool kPack = true;
  static constexpr int kOffset = 8;

  template <int kGroups>
  VT_INLINE void Weights(const std::uint8_t* p, __m256i* w) {
    for (int g = 0; g < kGroups; ++g) w[g] = Nibbles(p + g * kBlockBytes + 2);
  }
};

struct Q4_1 : Type32<20> {
  static constexpr bool kPack = true;
  static constexpr bool kMin = true;

  template <int kGroups>
  VT_INLINE void Weights(const std::uint8_t* p, __m256i* w) {
    for (int g = 0; g < kGroups; ++g) w[g] = Nibbles(p + g * kBlockBytes + 4);
  }
  VT_INLINE void Scales(const std::uint8_t* p, __m256& d, __m256& min) {
    HalfPairs<kBlockBytes>(p, d, min);
  }
};

struct Q5_0 : Type32<22> {
  static constexpr bool kPack = true;
  static constexpr int kOffset = 16;

  template <int kGroups>
  VT_INLINE void Weights(const std::uint8_t* p, __m256i* w) {
    for (int g = 0; g < kGroups; ++g, p += kBlockBytes) {
      w[g] = _mm256_or_si256(Nibbles(p + 6), FifthBits(LoadU32(p + 2)));
    }
  }
};

struct Q5_1 : Type32<24> {
  static constexpr bool kPack = true;
  static constexpr bool kMin = true;

  template <int kGroups>
  VT_INLINE void Weights(const std::uint8_t* p, __m256i* w) {
    for (int g = 0; g < kGroups; ++g, p += kBlockBytes) {
      w[g] = _mm256_or_si256(Nibbles(p + 8), FifthBits(LoadU32(p + 4)));
    }
  }
  VT_INLINE void Scales(const std::uint8_t* p, __m256& d, __m256& min) {
    HalfPairs<kBlockBytes>(p, d, min);
  }
};

struct Q8_0 : Type32<34> {
  static constexpr bool kSigned = true;

  template <int kGroups>
  VT_INLINE void Weights(const std::uint8_t* p, __m256i* w) {
    for (int g = 0; g < kGroups; ++g) w[g] = Load256(p + g * kBlockBytes + 2);
  }
};

struct Iq4Nl : Type32<18> {
  static constexpr bool kSigned = true;

  template <int kGroups>
  VT_INLINE void Weights(const std::uint8_t* p, __m256i* w) {
    for (int g = 0; g < kGroups; ++g) {
      w[g] = Levels(kIq4Values, Nibbles(p + g * kBlockBytes + 2));
    }
  }
};

struct Mxfp4 : Type32<17> {
  static constexpr bool kSigned = true;
  static constexpr bool kPack = true;

  template <int kGroups>
  VT_INLINE void Weights(const std::uint8_t* p, __m256i* w) {
    for (int g = 0; g < kGroups; ++g) {
      w[g] = Levels(kFp4Values, Nibbles(p + g * kBlockBytes + 1));
    }
  }
  VT_INLINE void Scales(const std::uint8_t* p, __m256& d, __m256& min) {
    d = E8m0Halves<kBlockBytes>(p);
    min = _mm256_setzero_ps();
  }
};

}  // namespace

namespace avx2 {

void MatmulQ4_0(const MatmulArgs& args, const MatmulShare& share) {
  Q15Matmul<Q4_0>::Run(args, share);
}
void MatmulQ4_1(const MatmulArgs& args, const MatmulShare& share) {
  Q15Matmul<Q4_1>::Run(args, share);
}
void MatmulQ5_0(const MatmulArgs& args, const MatmulShare& share) {
  Q15Matmul<Q5_0>::Run(args, share);
}
void MatmulQ5_1(const MatmulArgs& args, const MatmulShare& share) {
  Q15Matmul<Q5_1>::Run(args, share);
}
void MatmulQ8_0(const MatmulArgs& args, const MatmulShare& share) {
  Q15Matmul<Q8_0>::Run(args, share);
}
void MatmulIq4Nl(const MatmulArgs& args, const MatmulShare& share) {
  Q15Matmul<Iq4Nl>::Run(args, share);
}
void MatmulMxfp4(const MatmulArgs& args, const MatmulShare& share) {
  Q15Matmul<Mxfp4>::Run(args, share);
}

}  // namespace avx2
}  // namespace vt
