// The 16-lane vector of cpu/generic/vec16.h as one AVX-512 register (F, BW, DQ, VL).
#pragma once

// GCC 12 takes the "undefined" operands inside its own intrinsics for uninitialised variables.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <cstdint>

#include "cpu/generic/vec16.h"

namespace vt {
namespace {

struct Avx512Vec16 {
  using F = __m512;
  using I = __m512i;
  static constexpr int kAccumulators = 16;  // of the 32 registers

  VT_VEC_INLINE F Splat(float x) { return _mm512_set1_ps(x); }
  VT_VEC_INLINE F Load(const float* p) { return _mm512_loadu_ps(p); }
  VT_VEC_INLINE F LoadPartial(const float* p, int n) { return _mm512_maskz_loadu_ps(Mask(n), p); }
  VT_VEC_INLINE void Store(float* p, F a) { _mm512_storeu_ps(p, a); }
  VT_VEC_INLINE void StorePartial(float* p, F a, int n) { _mm512_mask_storeu_ps(p, Mask(n), a); }

  VT_VEC_INLINE float HalfToFloat(std::uint16_t h) { return _cvtsh_ss(h); }
  VT_VEC_INLINE F LoadF16(const std::uint16_t* p) { return _mm512_cvtph_ps(Load256(p)); }
  VT_VEC_INLINE F LoadF16Partial(const std::uint16_t* p, int n) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(Mask(n), p));
  }
  VT_VEC_INLINE void StoreF16(std::uint16_t* p, F a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), F16Bits(a));
  }
  VT_VEC_INLINE void StoreF16Partial(std::uint16_t* p, F a, int n) {
    _mm256_mask_storeu_epi16(p, Mask(n), F16Bits(a));
  }
  VT_VEC_INLINE F LoadBf16(const std::uint16_t* p) { return WidenBf16(Load256(p)); }
  VT_VEC_INLINE F LoadBf16Partial(const std::uint16_t* p, int n) {
    return WidenBf16(_mm256_maskz_loadu_epi16(Mask(n), p));
  }
  VT_VEC_INLINE void StoreBf16(std::uint16_t* p, F a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), Bf16Bits(a));
  }
  VT_VEC_INLINE void StoreBf16Partial(std::uint16_t* p, F a, int n) {
    _mm256_mask_storeu_epi16(p, Mask(n), Bf16Bits(a));
  }

  VT_VEC_INLINE F LoadF8(const std::uint8_t* p) {
    return WidenF8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  VT_VEC_INLINE F LoadF8Partial(const std::uint8_t* p, int n) {
    return WidenF8(_mm_maskz_loadu_epi8(Mask(n), p));
  }

  VT_VEC_INLINE F LoadI8(const std::int8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
  }
  VT_VEC_INLINE void StoreI8(std::int8_t* p, F a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(a)));
  }

  VT_VEC_INLINE F Add(F a, F b) { return _mm512_add_ps(a, b); }
  VT_VEC_INLINE F Sub(F a, F b) { return _mm512_sub_ps(a, b); }
  VT_VEC_INLINE F Mul(F a, F b) { return _mm512_mul_ps(a, b); }
  VT_VEC_INLINE F Div(F a, F b) { return _mm512_div_ps(a, b); }
  VT_VEC_INLINE F Fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  VT_VEC_INLINE F Max(F a, F b) { return _mm512_max_ps(a, b); }
  VT_VEC_INLINE F Min(F a, F b) { return _mm512_min_ps(a, b); }
  VT_VEC_INLINE F Abs(F a) { return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a); }
  VT_VEC_INLINE F CopySign(F a, F s) {
    return _mm512_or_ps(Abs(a), _mm512_and_ps(_mm512_set1_ps(-0.0f), s));
  }
  VT_VEC_INLINE F Trunc(F a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  }
  VT_VEC_INLINE F RoundEven(F a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  VT_VEC_INLINE F FirstLanes(F a, int n) { return _mm512_maskz_mov_ps(Mask(n), a); }

  VT_VEC_INLINE float ReduceAdd(F a) {
    const __m256 v8 = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 v4 = _mm_add_ps(_mm256_castps256_ps128(v8), _mm256_extractf128_ps(v8, 1));
    const __m128 v2 = _mm_add_ps(v4, _mm_movehl_ps(v4, v4));
    return _mm_cvtss_f32(_mm_add_ss(v2, _mm_shuffle_ps(v2, v2, 1)));
  }
  VT_VEC_INLINE float ReduceMax(F a) {
    const __m256 v8 = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 v4 = _mm_max_ps(_mm256_castps256_ps128(v8), _mm256_extractf128_ps(v8, 1));
    const __m128 v2 = _mm_max_ps(v4, _mm_movehl_ps(v4, v4));
    return _mm_cvtss_f32(_mm_max_ss(v2, _mm_shuffle_ps(v2, v2, 1)));
  }
  VT_VEC_INLINE void ReduceAdd4(F a, F b, F c, F d, float* out) {
    // 16 lanes to 8: quarters a0 a1 b0 b1 hold the folded a and b.
    const __m512 ab =
        _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    const __m512 cd =
        _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
    // 8 to 4: quarters a b c d.
    const __m512 q =
        _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
    // 4 to 2 to 1 inside each quarter.
    const __m512 h = _mm512_add_ps(q, _mm512_permute_ps(q, 0x4e));
    const __m512 s = _mm512_add_ps(h, _mm512_permute_ps(h, 0xb1));
    const __m512i first = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    _mm_storeu_ps(out, _mm512_castps512_ps128(_mm512_permutexvar_ps(first, s)));
  }

  VT_VEC_INLINE I SplatI(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  VT_VEC_INLINE I Bits(F a) { return _mm512_castps_si512(a); }
  VT_VEC_INLINE F FromBits(I a) { return _mm512_castsi512_ps(a); }
  VT_VEC_INLINE I AddI(I a, I b) { return _mm512_add_epi32(a, b); }
  VT_VEC_INLINE I SubI(I a, I b) { return _mm512_sub_epi32(a, b); }
  template <int kCount>
  VT_VEC_INLINE I ShiftLeft(I a) {
    return _mm512_slli_epi32(a, kCount);
  }
  template <int kCount>
  VT_VEC_INLINE I ShiftRightSigned(I a) {
    return _mm512_srai_epi32(a, kCount);
  }

 private:
  VT_VEC_INLINE __mmask16 Mask(int n) { return static_cast<__mmask16>((1u << n) - 1u); }
  VT_VEC_INLINE __m256i Load256(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  VT_VEC_INLINE F WidenBf16(__m256i v) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
  }
  VT_VEC_INLINE F WidenF8(__m128i v) {
    const __m256i bytes = _mm256_cvtepu8_epi16(v);
    const __m256i body = _mm256_and_si256(bytes, _mm256_set1_epi16(0x7f));
    const __mmask16 nan = _mm256_cmpeq_epi16_mask(body, _mm256_set1_epi16(0x7f));
    const __m256i up = _mm256_slli_epi16(body, 7);
    const __m256i magnitude = _mm256_or_si256(up, _mm256_maskz_set1_epi16(nan, 0x7c00));
    const __m256i sign = _mm256_slli_epi16(_mm256_xor_si256(bytes, body), 8);
    return _mm512_mul_ps(_mm512_cvtph_ps(_mm256_or_si256(magnitude, sign)), _mm512_set1_ps(256.0f));
  }
  VT_VEC_INLINE __m256i F16Bits(F a) {
    return _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  VT_VEC_INLINE __m256i Bf16Bits(F a) {
    const __m512i bits = _mm512_castps_si512(a);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_srli_epi32(
        _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
    const __m512i nan = _mm512_or_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x40));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(_mm512_mask_blend_epi32(is_nan, rounded, nan));
  }
};

}  // namespace
}  // namespace vt
