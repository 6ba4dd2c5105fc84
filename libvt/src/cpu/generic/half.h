// Conversions of 16-bit and 8-bit floats in plain code: the definition that the vector instructions
// are held to.
//
// To f32 is exact. From f32 rounds to nearest, ties to even; a NaN stays a NaN (made quiet, its top
// bits kept, as F16C does); values past the range become infinity; denormals are kept.
#pragma once

#include <cstdint>

namespace vt {
namespace {

inline float FloatFromBits(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline std::uint32_t BitsOfFloat(float x) { return __builtin_bit_cast(std::uint32_t, x); }

inline float F16ToF32(std::uint16_t h) {
  const std::uint32_t sign = (h & 0x8000u) << 16;
  const std::uint32_t body = h & 0x7fffu;
  if (body >= 0x7c00u) {  // infinity, NaN
    const std::uint32_t quiet = body > 0x7c00u ? 0x400000u : 0u;
    return FloatFromBits(sign | 0x7f800000u | (body & 0x3ffu) << 13 | quiet);
  }
  if (body >= 0x400u) return FloatFromBits(sign | ((body << 13) + (112u << 23)));
  const float denormal = static_cast<float>(body) * 0x1p-24f;
  return FloatFromBits(sign | BitsOfFloat(denormal));
}

inline std::uint16_t F32ToF16(float x) {
  const std::uint32_t bits = BitsOfFloat(x);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t body = bits & 0x7fffffffu;
  std::uint32_t half;
  if (body > 0x7f800000u) {
    half = 0x7e00u | (body >> 13 & 0x3ffu);
  } else if (body >= 0x47800000u) {  // 65536 and up
    half = 0x7c00u;
  } else if (body >= 0x38800000u) {  // normal: drop 13 bits; a carry may reach the exponent
    half = (body - (112u << 23) + 0xfffu + (body >> 13 & 1u)) >> 13;
  } else {  // denormal: adding 0.5 leaves multiples of 2^-24 in the low bits, rounded by the FPU
    half = BitsOfFloat(FloatFromBits(body) + 0.5f) - 0x3f000000u;
  }
  return static_cast<std::uint16_t>(sign | half);
}

inline float Bf16ToF32(std::uint16_t b) {
  return FloatFromBits(static_cast<std::uint32_t>(b) << 16);
}

inline std::uint16_t F32ToBf16(float x) {
  const std::uint32_t bits = BitsOfFloat(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// OCP E4M3: sign, 4 exponent bits with bias 7, 3 mantissa bits; all ones is NaN, no infinity. The
// bits below the sign, moved up, are those of an f16 that is 256 times smaller.
inline float F8E4M3ToF32(std::uint8_t b) {
  const std::uint32_t sign = (b & 0x80u) << 8;
  const std::uint32_t body = b & 0x7fu;
  const std::uint32_t nan = body == 0x7fu ? 0x7c00u : 0u;
  return F16ToF32(static_cast<std::uint16_t>(sign | body << 7 | nan)) * 256.0f;
}

}  // namespace
}  // namespace vt
