// Weight types whose blocks hold 32 values.
#include "cpu/avx512vnni/q15_tile.h"
#include "cpu/avx512vnni/q15_types.h"

namespace vt {
namespace {

// 16 bytes of each of four blocks.
template <int kBlockBytes>
VT_INLINE __m512i Gather16(const std::uint8_t* p) {
  __m512i v = _mm512_castsi128_si512(Load128(p));
  v = _mm512_inserti32x4(v, Load128(p + kBlockBytes), 1);
  v = _mm512_inserti32x4(v, Load128(p + 2 * kBlockBytes), 2);
  return _mm512_inserti32x4(v, Load128(p + 3 * kBlockBytes), 3);
}

VT_INLINE void SplitNibbles(__m512i bytes, __m512i* quad) {
  const __m512i mask = _mm512_set1_epi8(15);
  quad[0] = _mm512_and_si512(bytes, mask);
  quad[1] = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), mask);
}

template <int kBlockBytes>
VT_INLINE __m512 HalvesOfTwo(const std::uint8_t* row0, const std::uint8_t* row1) {
  return _mm512_cvtph_ps(_mm256_set_m128i(Halves<kBlockBytes>(row1), Halves<kBlockBytes>(row0)));
}

// Low and high 16 bits of 16 dwords as floats.
VT_INLINE void HalfPairs(__m512i dwords, __m512& low, __m512& high) {
  low = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(dwords));
  high = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(dwords, 16)));
}

// Fifth bits of four blocks (32 bits each) as 16 in the bytes of the two registers of a quad: the
// first 16 bits belong to quad[0].
VT_INLINE void AddFifth(std::uint32_t b0, std::uint32_t b1, std::uint32_t b2, std::uint32_t b3,
                        __m512i* quad) {
  const __m512i sixteen = _mm512_set1_epi8(16);
  const auto low = [](std::uint32_t x, std::uint32_t y) -> std::uint64_t {
    return (x & 0xffffu) | static_cast<std::uint64_t>(y & 0xffffu) << 16;
  };
  const auto high = [](std::uint32_t x, std::uint32_t y) -> std::uint64_t {
    return x >> 16 | static_cast<std::uint64_t>(y >> 16) << 16;
  };
  const __mmask64 first = _cvtu64_mask64(low(b0, b1) | low(b2, b3) << 32);
  const __mmask64 second = _cvtu64_mask64(high(b0, b1) | high(b2, b3) << 32);
  quad[0] = _mm512_mask_add_epi8(quad[0], first, quad[0], sixteen);
  quad[1] = _mm512_mask_add_epi8(quad[1], second, quad[1], sixteen);
}

// What the types share: their geometry, and one f16 scale at the start of a block.
template <int kBytes, SumSize kSum, int kTakenOff>
struct Type32 {
  static constexpr SumSize kSize = kSum;
  static constexpr int kOffset = kTakenOff;
  static constexpr bool kMin = false;
  static constexpr bool kHasTail = true;
  static constexpr int kBlockBytes = kBytes;
  static constexpr int kStepBytes = 8 * kBytes;

  VT_INLINE void Scales(const std::uint8_t* row0, const std::uint8_t* row1, __m512& d,
                        __m512& min) {
    d = HalvesOfTwo<kBytes>(row0, row1);
    min = _mm512_setzero_ps();
  }
};

struct Q4_0 : Type32<18, SumSize::kSmall, 8> {
  template <int kQuads>
  VT_INLINE void Weights(const std::uint8_t* p, __m512i w[2][2]) {
    for (int q = 0; q < kQuads; ++q) {
      SplitNibbles(Gather16<kBlockBytes>(p + 4 * q * kBlockBytes + 2), w[q]);
    }
  }
};

struct Q4_1 : Type32<20, SumSize::kSmall, 0> {
  static constexpr bool kMin = true;

  // Four blocks are 20 dwords, of which 5 i + 1 .. 5 i + 4 are nibbles; the second load starts 4
  // dwords after the first.
  template <int kQuads>
  VT_INLINE void Weights(const std::uint8_t* p, __m512i w[2][2]) {
    const __m512i from = _mm512_setr_epi32(1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 28, 29, 30, 31);
    for (int q = 0; q < kQuads; ++q, p += 4 * kBlockBytes) {
      SplitNibbles(_mm512_permutex2var_epi32(Load512(p), from, Load512(p + 16)), w[q]);
    }
  }
  VT_INLINE void Scales(const std::uint8_t* row0, const std::uint8_t* row1, __m512& d,
                        __m512& min) {
    const __m512i from = _mm512_setr_epi32(0, 5, 10, 15, 16, 21, 26, 31, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m512i dm0 =
        _mm512_permutex2var_epi32(Load512(row0), from, Load512(row0 + 4 * kBlockBytes));
    const __m512i dm1 =
        _mm512_permutex2var_epi32(Load512(row1), from, Load512(row1 + 4 * kBlockBytes));
    HalfPairs(_mm512_inserti64x4(dm0, _mm512_castsi512_si256(dm1), 1), d, min);
  }
};

struct Q5_0 : Type32<22, SumSize::kMedium, 16> {
  template <int kQuads>
  VT_INLINE void Weights(const std::uint8_t* p, __m512i w[2][2]) {
    for (int q = 0; q < kQuads; ++q, p += 4 * kBlockBytes) {
      SplitNibbles(Gather16<kBlockBytes>(p + 6), w[q]);
      AddFifth(LoadU32(p + 2), LoadU32(p + 24), LoadU32(p + 46), LoadU32(p + 68), w[q]);
    }
  }
};

struct Q5_1 : Type32<24, SumSize::kMedium, 0> {
  static constexpr bool kMin = true;

  // Four blocks are 24 dwords, of which 6 i + 2 .. 6 i + 5 are nibbles; the second load starts 8
  // dwords after the first.
  template <int kQuads>
  VT_INLINE void Weights(const std::uint8_t* p, __m512i w[2][2]) {
    const __m512i from =
        _mm512_setr_epi32(2, 3, 4, 5, 8, 9, 10, 11, 14, 15, 24, 25, 28, 29, 30, 31);
    for (int q = 0; q < kQuads; ++q, p += 4 * kBlockBytes) {
      SplitNibbles(_mm512_permutex2var_epi32(Load512(p), from, Load512(p + 32)), w[q]);
      AddFifth(LoadU32(p + 4), LoadU32(p + 28), LoadU32(p + 52), LoadU32(p + 76), w[q]);
    }
  }
  VT_INLINE void Scales(const std::uint8_t* row0, const std::uint8_t* row1, __m512& d,
                        __m512& min) {
    // Blocks 0-2 and 3-5 start in one load each (dwords 0 6 12), 6 and 7 in a third (4 10).
    const __m512i from = _mm512_setr_epi32(0, 6, 12, 16, 22, 28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m512i last = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 4, 10, 0, 0, 0, 0, 0, 0, 0, 0);
    const auto first_words = [&](const std::uint8_t* p) {
      const __m512i six = _mm512_permutex2var_epi32(Load512(p), from, Load512(p + 72));
      return _mm512_mask_permutexvar_epi32(six, 0xc0, last, Load512(p + 128));
    };
    const __m512i dm1 = first_words(row1);
    HalfPairs(_mm512_inserti64x4(first_words(row0), _mm512_castsi512_si256(dm1), 1), d, min);
  }
};

struct Q8_0 : Type32<34, SumSize::kLarge, 128> {
  VT_INLINE __m512i TwoBlocks(const std::uint8_t* p) {
    const __m512i v =
        _mm512_inserti64x4(_mm512_castsi256_si512(Load256(p + 2)), Load256(p + kBlockBytes + 2), 1);
    return _mm512_xor_si512(v, _mm512_set1_epi8(-128));
  }
  template <int kQuads>
  VT_INLINE void Weights(const std::uint8_t* p, __m512i w[2][2]) {
    for (int q = 0; q < kQuads; ++q, p += 4 * kBlockBytes) {
      SplitHalves(TwoBlocks(p), TwoBlocks(p + 2 * kBlockBytes), w[q]);
    }
  }
};

VT_INLINE __m512i LevelTable(const std::int8_t* levels, int offset) {
  const __m128i table = _mm_add_epi8(Load128(levels), _mm_set1_epi8(static_cast<char>(offset)));
  return _mm512_broadcast_i32x4(table);
}

struct Iq4Nl : Type32<18, SumSize::kLarge, 128> {
  template <int kQuads>
  VT_INLINE void Weights(const std::uint8_t* p, __m512i w[2][2]) {
    const __m512i table = LevelTable(kIq4Values, kOffset);
    Q4_0::Weights<kQuads>(p, w);
    for (int q = 0; q < kQuads; ++q) {
      for (int h = 0; h < 2; ++h) w[q][h] = _mm512_shuffle_epi8(table, w[q][h]);
    }
  }
};

struct Mxfp4 : Type32<17, SumSize::kMedium, 16> {
  template <int kQuads>
  VT_INLINE void Weights(const std::uint8_t* p, __m512i w[2][2]) {
    const __m512i table = LevelTable(kFp4Values, kOffset);
    for (int q = 0; q < kQuads; ++q) {
      SplitNibbles(Gather16<kBlockBytes>(p + 4 * q * kBlockBytes + 1), w[q]);
      for (int h = 0; h < 2; ++h) w[q][h] = _mm512_shuffle_epi8(table, w[q][h]);
    }
  }
  VT_INLINE void Scales(const std::uint8_t* row0, const std::uint8_t* row1, __m512& d,
                        __m512& min) {
    d = Join(E8m0Halves<kBlockBytes>(row0), E8m0Halves<kBlockBytes>(row1));
    min = _mm512_setzero_ps();
  }
};

}  // namespace

namespace avx512vnni {

void MatmulQ4_0(const MatmulArgs& args, const MatmulShare& share) {
  PlainMatmul<Q4_0>::Run(args, share);
}
void MatmulQ4_1(const MatmulArgs& args, const MatmulShare& share) {
  PlainMatmul<Q4_1>::Run(args, share);
}
void MatmulQ5_0(const MatmulArgs& args, const MatmulShare& share) {
  PlainMatmul<Q5_0>::Run(args, share);
}
void MatmulQ5_1(const MatmulArgs& args, const MatmulShare& share) {
  PlainMatmul<Q5_1>::Run(args, share);
}
void MatmulQ8_0(const MatmulArgs& args, const MatmulShare& share) {
  PlainMatmul<Q8_0>::Run(args, share);
}
void MatmulIq4Nl(const MatmulArgs& args, const MatmulShare& share) {
  PlainMatmul<Iq4Nl>::Run(args, share);
}
void MatmulMxfp4(const MatmulArgs& args, const MatmulShare& share) {
  PlainMatmul<Mxfp4>::Run(args, share);
}

}  // namespace avx512vnni
}  // namespace vt
