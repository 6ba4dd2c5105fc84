// The 16-lane vector of cpu/generic/vec16.h as two AVX2 registers (with FMA and F16C).
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "cpu/generic/vec16.h"

namespace vt {
namespace {

struct Avx2Vec16 {
  struct F {
    __m256 lo, hi;
  };
  struct I {
    __m256i lo, hi;
  };
  static constexpr int kAccumulators = 4;  // 8 of the 16 registers

  VT_VEC_INLINE F Splat(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  VT_VEC_INLINE F Load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  VT_VEC_INLINE F LoadPartial(const float* p, int n) {
    const I m = Mask(n);
    return {_mm256_maskload_ps(p, m.lo), _mm256_maskload_ps(p + 8, m.hi)};
  }
  VT_VEC_INLINE void Store(float* p, F a) {
    _mm256_storeu_ps(p, a.lo);
    _mm256_storeu_ps(p + 8, a.hi);
  }
  VT_VEC_INLINE void StorePartial(float* p, F a, int n) {
    const I m = Mask(n);
    _mm256_maskstore_ps(p, m.lo, a.lo);
    _mm256_maskstore_ps(p + 8, m.hi, a.hi);
  }

  VT_VEC_INLINE float HalfToFloat(std::uint16_t h) { return _cvtsh_ss(h); }
  VT_VEC_INLINE F LoadF16(const std::uint16_t* p) {
    return {_mm256_cvtph_ps(Load128(p)), _mm256_cvtph_ps(Load128(p + 8))};
  }
  VT_VEC_INLINE F LoadF16Partial(const std::uint16_t* p, int n) {
    std::uint16_t buffer[kLanes] = {};
    std::memcpy(buffer, p, static_cast<unsigned>(n) * sizeof(*p));
    return LoadF16(buffer);
  }
  VT_VEC_INLINE void StoreF16(std::uint16_t* p, F a) {
    Store128(p, _mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT));
    Store128(p + 8, _mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT));
  }
  VT_VEC_INLINE void StoreF16Partial(std::uint16_t* p, F a, int n) {
    std::uint16_t buffer[kLanes];
    StoreF16(buffer, a);
    std::memcpy(p, buffer, static_cast<unsigned>(n) * sizeof(*p));
  }
  VT_VEC_INLINE F LoadBf16(const std::uint16_t* p) {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(Load128(p)), 16)),
            _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(Load128(p + 8)), 16))};
  }
  VT_VEC_INLINE F LoadBf16Partial(const std::uint16_t* p, int n) {
    std::uint16_t buffer[kLanes] = {};
    std::memcpy(buffer, p, static_cast<unsigned>(n) * sizeof(*p));
    return LoadBf16(buffer);
  }
  VT_VEC_INLINE void StoreBf16(std::uint16_t* p, F a) {
    // packus takes 128-bit lanes in turn: lo0 hi0 lo1 hi1 in quarters.
    const __m256i packed = _mm256_packus_epi32(Bf16Bits(a.lo), Bf16Bits(a.hi));
    const __m256i ordered = _mm256_permute4x64_epi64(packed, 0xd8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), ordered);
  }
  VT_VEC_INLINE void StoreBf16Partial(std::uint16_t* p, F a, int n) {
    std::uint16_t buffer[kLanes];
    StoreBf16(buffer, a);
    std::memcpy(p, buffer, static_cast<unsigned>(n) * sizeof(*p));
  }

  VT_VEC_INLINE F LoadF8(const std::uint8_t* p) {
    const __m256i bytes = _mm256_cvtepu8_epi16(Load128(p));
    const __m256i body = _mm256_and_si256(bytes, _mm256_set1_epi16(0x7f));
    const __m256i nan = _mm256_cmpeq_epi16(body, _mm256_set1_epi16(0x7f));
    // 0x7f moved up by 7, with the exponent's top bit: an f16 NaN.
    const __m256i magnitude = _mm256_or_si256(_mm256_slli_epi16(body, 7),
                                              _mm256_and_si256(nan, _mm256_set1_epi16(0x7c00)));
    const __m256i sign = _mm256_slli_epi16(_mm256_xor_si256(bytes, body), 8);
    const __m256i halves = _mm256_or_si256(magnitude, sign);
    const F small = {_mm256_cvtph_ps(_mm256_castsi256_si128(halves)),
                     _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1))};
    return Mul(small, Splat(256.0f));
  }
  VT_VEC_INLINE F LoadF8Partial(const std::uint8_t* p, int n) {
    std::uint8_t buffer[kLanes] = {};
    std::memcpy(buffer, p, static_cast<unsigned>(n));
    return LoadF8(buffer);
  }

  VT_VEC_INLINE F LoadI8(const std::int8_t* p) {
    const __m128i bytes = Load128(p);
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
  }
  VT_VEC_INLINE void StoreI8(std::int8_t* p, F a) {
    const __m256i words = _mm256_permute4x64_epi64(
        _mm256_packs_epi32(_mm256_cvttps_epi32(a.lo), _mm256_cvttps_epi32(a.hi)), 0xd8);
    Store128(p, _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
  }

  VT_VEC_INLINE F Add(F a, F b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
  VT_VEC_INLINE F Sub(F a, F b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
  VT_VEC_INLINE F Mul(F a, F b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
  VT_VEC_INLINE F Div(F a, F b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
  VT_VEC_INLINE F Fma(F a, F b, F c) {
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
  }
  VT_VEC_INLINE F Max(F a, F b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
  VT_VEC_INLINE F Min(F a, F b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
  VT_VEC_INLINE F Abs(F a) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi)};
  }
  VT_VEC_INLINE F CopySign(F a, F s) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const F magnitude = Abs(a);
    return {_mm256_or_ps(magnitude.lo, _mm256_and_ps(sign, s.lo)),
            _mm256_or_ps(magnitude.hi, _mm256_and_ps(sign, s.hi))};
  }
  VT_VEC_INLINE F Trunc(F a) {
    constexpr int kMode = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
    return {_mm256_round_ps(a.lo, kMode), _mm256_round_ps(a.hi, kMode)};
  }
  VT_VEC_INLINE F RoundEven(F a) {
    constexpr int kMode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    return {_mm256_round_ps(a.lo, kMode), _mm256_round_ps(a.hi, kMode)};
  }
  VT_VEC_INLINE F FirstLanes(F a, int n) {
    const I m = Mask(n);
    return {_mm256_and_ps(a.lo, _mm256_castsi256_ps(m.lo)),
            _mm256_and_ps(a.hi, _mm256_castsi256_ps(m.hi))};
  }

  VT_VEC_INLINE float ReduceAdd(F a) {
    const __m256 v8 = _mm256_add_ps(a.lo, a.hi);
    const __m128 v4 = _mm_add_ps(_mm256_castps256_ps128(v8), _mm256_extractf128_ps(v8, 1));
    const __m128 v2 = _mm_add_ps(v4, _mm_movehl_ps(v4, v4));
    return _mm_cvtss_f32(_mm_add_ss(v2, _mm_shuffle_ps(v2, v2, 1)));
  }
  VT_VEC_INLINE float ReduceMax(F a) {
    const __m256 v8 = _mm256_max_ps(a.lo, a.hi);
    const __m128 v4 = _mm_max_ps(_mm256_castps256_ps128(v8), _mm256_extractf128_ps(v8, 1));
    const __m128 v2 = _mm_max_ps(v4, _mm_movehl_ps(v4, v4));
    return _mm_cvtss_f32(_mm_max_ss(v2, _mm_shuffle_ps(v2, v2, 1)));
  }
  VT_VEC_INLINE void ReduceAdd4(F a, F b, F c, F d, float* out) {
    // Four lanes of each, then a 4 x 4 transpose whose first two rows fold the last two.
    const __m128 a4 = Fold4(a), b4 = Fold4(b), c4 = Fold4(c), d4 = Fold4(d);
    const __m128 ab_lo = _mm_unpacklo_ps(a4, b4), ab_hi = _mm_unpackhi_ps(a4, b4);
    const __m128 cd_lo = _mm_unpacklo_ps(c4, d4), cd_hi = _mm_unpackhi_ps(c4, d4);
    const __m128 ab = _mm_add_ps(ab_lo, ab_hi);  // a0+a2 b0+b2 a1+a3 b1+b3
    const __m128 cd = _mm_add_ps(cd_lo, cd_hi);
    _mm_storeu_ps(out, _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab)));
  }

  VT_VEC_INLINE I SplatI(std::uint32_t x) {
    const __m256i v = _mm256_set1_epi32(static_cast<int>(x));
    return {v, v};
  }
  VT_VEC_INLINE I Bits(F a) { return {_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)}; }
  VT_VEC_INLINE F FromBits(I a) { return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)}; }
  VT_VEC_INLINE I AddI(I a, I b) {
    return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
  }
  VT_VEC_INLINE I SubI(I a, I b) {
    return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)};
  }
  template <int kCount>
  VT_VEC_INLINE I ShiftLeft(I a) {
    return {_mm256_slli_epi32(a.lo, kCount), _mm256_slli_epi32(a.hi, kCount)};
  }
  template <int kCount>
  VT_VEC_INLINE I ShiftRightSigned(I a) {
    return {_mm256_srai_epi32(a.lo, kCount), _mm256_srai_epi32(a.hi, kCount)};
  }

 private:
  // All ones in the first n lanes.
  VT_VEC_INLINE I Mask(int n) {
    const __m256i count = _mm256_set1_epi32(n);
    return {_mm256_cmpgt_epi32(count, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
            _mm256_cmpgt_epi32(count, _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15))};
  }
  VT_VEC_INLINE __m128i Load128(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
  VT_VEC_INLINE void Store128(void* p, __m128i v) { _mm_storeu_si128(static_cast<__m128i*>(p), v); }
  VT_VEC_INLINE __m128 Fold4(F a) {
    const __m256 v8 = _mm256_add_ps(a.lo, a.hi);
    return _mm_add_ps(_mm256_castps256_ps128(v8), _mm256_extractf128_ps(v8, 1));
  }
  // bf16 in the low half of each 32-bit lane.
  VT_VEC_INLINE __m256i Bf16Bits(__m256 a) {
    const __m256i bits = _mm256_castps_si256(a);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_srli_epi32(
        _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
    const __m256i nan = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(rounded, nan, is_nan);
  }
};

}  // namespace
}  // namespace vt
