// Formats of small blocks with one scale (and maybe a minimum): x = d * q or d * q + m.
//
// d and m are f16 and come first unless said otherwise. In a nibble block of 32 values, byte i
// holds value i in its low half and value i + 16 in its high half.
#include "cpu/generic/quant_bits.h"
#include "cpu/quants/formats.h"

namespace vt {
namespace {

// The 32 fifth bits of Q5_0 and Q5_1, as 0 or 16.
inline int FifthBit(std::uint32_t bits, int i) { return static_cast<int>((bits >> i) & 1u) << 4; }

// Digit `power` (of 3^power) of a byte of TQ1_0 as -1, 0, 1. The byte holds five base-3 digits as a
// fraction of 256, so multiplying by 3 moves the next digit above the byte.
inline int Trit(std::uint8_t byte, std::uint8_t power) {
  const auto shifted = static_cast<std::uint8_t>(byte * power);
  return ((shifted * 3) >> 8) - 1;
}

// The unsigned E4M3 scale of NVFP4, halved because kFp4Values are doubled; 0x7f is read as zero.
inline float HalfOfUe4m3(std::uint8_t x) {
  if (x == 0x7f) return 0.0f;
  const std::uint32_t exponent = (x >> 3) & 15u;
  const std::uint32_t mantissa = x & 7u;
  if (exponent == 0) return static_cast<float>(mantissa) * (1.0f / 1024.0f);
  return FloatFromBits((exponent + 119u) << 23 | mantissa << 20);
}

}  // namespace

// d, 16 bytes of nibbles stored plus 8.
void DequantizeQ4_0(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 32, p += 18, out += 32) {
    const float d = LoadHalf(p);
    for (int i = 0; i < 16; ++i) {
      out[i] = static_cast<float>((p[2 + i] & 15) - 8) * d;
      out[i + 16] = static_cast<float>((p[2 + i] >> 4) - 8) * d;
    }
  }
}

// d, m, 16 bytes of nibbles.
void DequantizeQ4_1(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 32, p += 20, out += 32) {
    const float d = LoadHalf(p);
    const float m = LoadHalf(p + 2);
    for (int i = 0; i < 16; ++i) {
      out[i] = static_cast<float>(p[4 + i] & 15) * d + m;
      out[i + 16] = static_cast<float>(p[4 + i] >> 4) * d + m;
    }
  }
}

// d, a 32-bit word with the fifth bit of each value, 16 bytes of nibbles; stored plus 16.
void DequantizeQ5_0(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 32, p += 22, out += 32) {
    const float d = LoadHalf(p);
    const std::uint32_t high = LoadU32(p + 2);
    for (int i = 0; i < 16; ++i) {
      out[i] = static_cast<float>(((p[6 + i] & 15) | FifthBit(high, i)) - 16) * d;
      out[i + 16] = static_cast<float>(((p[6 + i] >> 4) | FifthBit(high, i + 16)) - 16) * d;
    }
  }
}

// d, m, the fifth bits, 16 bytes of nibbles.
void DequantizeQ5_1(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 32, p += 24, out += 32) {
    const float d = LoadHalf(p);
    const float m = LoadHalf(p + 2);
    const std::uint32_t high = LoadU32(p + 4);
    for (int i = 0; i < 16; ++i) {
      out[i] = static_cast<float>((p[8 + i] & 15) | FifthBit(high, i)) * d + m;
      out[i + 16] = static_cast<float>((p[8 + i] >> 4) | FifthBit(high, i + 16)) * d + m;
    }
  }
}

// d, 32 signed bytes.
void DequantizeQ8_0(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 32, p += 34, out += 32) {
    const float d = LoadHalf(p);
    for (int i = 0; i < 32; ++i) {
      out[i] = static_cast<float>(static_cast<std::int8_t>(p[2 + i])) * d;
    }
  }
}

// d, 128 bits, lowest first: 1 is d, 0 is -d.
void DequantizeQ1_0(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 128, p += 18, out += 128) {
    const float d = LoadHalf(p);
    for (int i = 0; i < 128; ++i) out[i] = (p[2 + i / 8] >> (i % 8)) & 1 ? d : -d;
  }
}

// d, 64 values of 2 bits, lowest first, stored plus 1.
void DequantizeQ2_0(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 64, p += 18, out += 64) {
    const float d = LoadHalf(p);
    for (int i = 0; i < 64; ++i) {
      out[i] = static_cast<float>(((p[2 + i / 4] >> (i % 4 * 2)) & 3) - 1) * d;
    }
  }
}

// Five values of -1, 0, 1 to a byte: 32 bytes for values 0-159 (byte i: i, i + 32, ...), 16 bytes
// for 160-239 (steps of 16), 4 bytes for 240-255 (four values each, steps of 4), then d.
void DequantizeTq1_0(const void* blocks, float* out, std::int64_t n) {
  constexpr std::uint8_t kPowers[5] = {1, 3, 9, 27, 81};
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 256, p += 54) {
    const float d = LoadHalf(p + 52);
    for (int k = 0; k < 5; ++k) {
      for (int i = 0; i < 32; ++i) *out++ = static_cast<float>(Trit(p[i], kPowers[k])) * d;
    }
    for (int k = 0; k < 5; ++k) {
      for (int i = 32; i < 48; ++i) *out++ = static_cast<float>(Trit(p[i], kPowers[k])) * d;
    }
    for (int k = 0; k < 4; ++k) {
      for (int i = 48; i < 52; ++i) *out++ = static_cast<float>(Trit(p[i], kPowers[k])) * d;
    }
  }
}

// Two runs of 32 bytes, each 128 values of 2 bits stored plus 1 (bits 0-1 of byte i: value i, bits
// 2-3: value i + 32, ...), then d.
void DequantizeTq2_0(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 256, p += 66) {
    const float d = LoadHalf(p + 64);
    for (int run = 0; run < 64; run += 32) {
      for (int shift = 0; shift < 8; shift += 2) {
        for (int i = 0; i < 32; ++i) {
          *out++ = static_cast<float>(((p[run + i] >> shift) & 3) - 1) * d;
        }
      }
    }
  }
}

// An E8M0 scale byte, 16 bytes of E2M1 nibbles.
void DequantizeMxfp4(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 32, p += 17, out += 32) {
    const float d = HalfOfE8m0(p[0]);
    for (int i = 0; i < 16; ++i) {
      out[i] = static_cast<float>(kFp4Values[p[1 + i] & 15]) * d;
      out[i + 16] = static_cast<float>(kFp4Values[p[1 + i] >> 4]) * d;
    }
  }
}

// Four E4M3 scale bytes, one per 16 values, then four runs of 8 bytes of E2M1 nibbles (byte i of a
// run: values i and i + 8).
void DequantizeNvfp4(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 64, p += 36) {
    for (int run = 0; run < 4; ++run, out += 16) {
      const float d = HalfOfUe4m3(p[run]);
      for (int i = 0; i < 8; ++i) {
        const std::uint8_t byte = p[4 + 8 * run + i];
        out[i] = static_cast<float>(kFp4Values[byte & 15]) * d;
        out[i + 8] = static_cast<float>(kFp4Values[byte >> 4]) * d;
      }
    }
  }
}

}  // namespace vt
