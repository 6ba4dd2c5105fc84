// Reading block formats with x86 vectors: what the AVX2 and AVX-512 matmuls share.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "cpu/generic/quant_bits.h"

#define VT_INLINE [[gnu::always_inline]] static inline

namespace vt {
namespace {

VT_INLINE __m128i Load128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
VT_INLINE __m256i Load256(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

// The f16 at p, in lane 0.
VT_INLINE __m128 HalfAt(const std::uint8_t* p) {
  return _mm_cvtph_ps(_mm_cvtsi32_si128(LoadU16(p)));
}

// The f16 at the start of each of eight blocks: block i is read where its f16 falls on word i.
template <int kBlockBytes>
VT_INLINE __m128i Halves(const std::uint8_t* p) {
  constexpr int kStep = kBlockBytes - 2;
  __m128i v = Load128(p);
  v = _mm_blend_epi16(v, Load128(p + kStep), 1 << 1);
  v = _mm_blend_epi16(v, Load128(p + 2 * kStep), 1 << 2);
  v = _mm_blend_epi16(v, Load128(p + 3 * kStep), 1 << 3);
  v = _mm_blend_epi16(v, Load128(p + 4 * kStep), 1 << 4);
  v = _mm_blend_epi16(v, Load128(p + 5 * kStep), 1 << 5);
  v = _mm_blend_epi16(v, Load128(p + 6 * kStep), 1 << 6);
  return _mm_blend_epi16(v, Load128(p + 7 * kStep), 1 << 7);
}

// The E8M0 scales at the start of eight blocks, halved.
template <int kBlockBytes>
VT_INLINE __m256 E8m0Halves(const std::uint8_t* p) {
  alignas(32) float d[8];
  for (int i = 0; i < 8; ++i) d[i] = HalfOfE8m0(p[i * kBlockBytes]);
  return _mm256_load_ps(d);
}

// The 8 scales and 8 minimums of a block of Q4_K or Q5_K (UnpackScalesK4), a byte each.
VT_INLINE void ScalesK4(const std::uint8_t* p, std::uint64_t& scales, std::uint64_t& mins) {
  const std::uint32_t a = LoadU32(p);
  const std::uint32_t b = LoadU32(p + 4);
  const std::uint32_t c = LoadU32(p + 8);
  const std::uint32_t scales_hi = (c & 0x0f0f0f0fu) | ((a >> 2) & 0x30303030u);
  const std::uint32_t mins_hi = ((c >> 4) & 0x0f0f0f0fu) | ((b >> 2) & 0x30303030u);
  scales = (a & 0x3f3f3f3fu) | static_cast<std::uint64_t>(scales_hi) << 32;
  mins = (b & 0x3f3f3f3fu) | static_cast<std::uint64_t>(mins_hi) << 32;
}

}  // namespace
}  // namespace vt
