// Unaligned little-endian reads and the small tables that block formats share.
//
// Everything is in an unnamed namespace, so that each instruction set's files compile their own.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu/generic/half.h"

namespace vt {
namespace {

inline std::uint16_t LoadU16(const std::uint8_t* p) {
  std::uint16_t v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

inline std::uint32_t LoadU32(const std::uint8_t* p) {
  std::uint32_t v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

inline float LoadHalf(const std::uint8_t* p) { return F16ToF32(LoadU16(p)); }

// The E8M0 scale of an MXFP4 block, halved because kFp4Values are doubled: 2^(e - 128).
inline float HalfOfE8m0(std::uint8_t e) {
  return FloatFromBits(e < 2 ? 0x00200000u << e : static_cast<std::uint32_t>(e - 1) << 23);
}

// The E2M1 numbers of MXFP4 and NVFP4 (Open Compute MX 1.0), doubled.
constexpr std::int8_t kFp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// The 16 levels of IQ4_NL and IQ4_XS.
constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                        1,    13,   25,  38,  53,  69,  89,  113};

// The 8 scales and 8 minimums of a Q4_K or Q5_K block: 6 bits each in 12 bytes. Bytes 0-3 and 4-7
// hold the first four scales and minimums in their low 6 bits and, in the top 2, the top of the
// last four, whose low nibbles are in bytes 8-11 (scale low, minimum high).
inline void UnpackScalesK4(const std::uint8_t* p, std::uint8_t scales[8], std::uint8_t mins[8]) {
  const std::uint32_t a = LoadU32(p);
  const std::uint32_t b = LoadU32(p + 4);
  const std::uint32_t c = LoadU32(p + 8);
  const std::uint32_t words[4] = {a & 0x3f3f3f3fu, (c & 0x0f0f0f0fu) | ((a >> 2) & 0x30303030u),
                                  b & 0x3f3f3f3fu,
                                  ((c >> 4) & 0x0f0f0f0fu) | ((b >> 2) & 0x30303030u)};
  std::memcpy(scales, words, 8);
  std::memcpy(mins, words + 2, 8);
}

// The 16 scales of a Q3_K block: 6 bits each in 12 bytes, stored plus 32. Bytes 0-7 hold the low
// nibbles (scale i in the low half, i + 8 in the high half), bytes 8-11 the top 2 bits (scales i,
// i + 4, i + 8, i + 12 of byte 8 + i).
inline void UnpackScalesQ3K(const std::uint8_t* p, std::int8_t scales[16]) {
  const std::uint32_t a = LoadU32(p);
  const std::uint32_t b = LoadU32(p + 4);
  const std::uint32_t c = LoadU32(p + 8);
  const std::uint32_t words[4] = {
      (a & 0x0f0f0f0fu) | ((c << 4) & 0x30303030u),
      (b & 0x0f0f0f0fu) | ((c << 2) & 0x30303030u),
      ((a >> 4) & 0x0f0f0f0fu) | (c & 0x30303030u),
      ((b >> 4) & 0x0f0f0f0fu) | ((c >> 2) & 0x30303030u),
  };
  std::memcpy(scales, words, 16);
  for (int i = 0; i < 16; ++i) scales[i] = static_cast<std::int8_t>(scales[i] - 32);
}

}  // namespace
}  // namespace vt
