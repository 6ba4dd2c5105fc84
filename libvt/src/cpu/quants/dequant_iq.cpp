// The IQ formats: blocks whose values are codebook entries (IQ1, IQ2, IQ3) or one of 16 uneven
// levels (IQ4). Blocks hold 256 values (IQ4_NL 32) and start with an f16 d unless said otherwise.
#include "cpu/generic/quant_bits.h"
#include "cpu/quants/codebooks.h"
#include "cpu/quants/formats.h"

namespace vt {
namespace {

constexpr float kIq1Delta = 0.125f;

// For a byte of signs, a word with 1 in byte i where bit i is set.
struct SignBytes {
  consteval SignBytes() : ones{} {
    for (unsigned s = 0; s < 256; ++s) {
      for (unsigned i = 0; i < 8; ++i)
        ones[s] |= static_cast<std::uint64_t>((s >> i) & 1) << (8 * i);
    }
  }
  std::uint64_t ones[256];
};
constexpr SignBytes kSignBytes;

// The eighth sign of a group is not stored: it makes the number of negative values even.
inline unsigned SignsOf7(unsigned index) {
  return index | (static_cast<unsigned>(__builtin_parity(index)) << 7);
}

// Eight magnitudes with their signs (bit i set: value i is negative) times a scale.
inline void Decode8(std::uint64_t magnitudes, float scale, unsigned signs, float* out) {
  // Negates bytes by complement and plus one; no magnitude is zero, so nothing carries over.
  const std::uint64_t ones = kSignBytes.ones[signs];
  const std::uint64_t values = (magnitudes ^ (ones * 255)) + ones;
  std::int8_t v[8];
  std::memcpy(v, &values, sizeof(v));
  for (int i = 0; i < 8; ++i) out[i] = scale * static_cast<float>(v[i]);
}

inline void DecodeIq1(unsigned index, float scale, bool negative_delta, float* out) {
  const std::uint64_t entry = kIq1Grid[index];
  const float delta = negative_delta ? -kIq1Delta : kIq1Delta;
  std::int8_t v[8];
  std::memcpy(v, &entry, sizeof(v));
  for (int i = 0; i < 8; ++i) out[i] = scale * (static_cast<float>(v[i]) + delta);
}

inline float Iq2Scale(float d, unsigned nibble) {
  return d * (0.5f + static_cast<float>(nibble)) * 0.25f;
}

}  // namespace

// d, 32 bytes of low index bits (one per 8 values), eight 16-bit words (one per 32 values): three
// high index bits for each of four groups, a 3-bit scale, the sign of the shift.
void DequantizeIq1S(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 256, p += 50) {
    const float d = LoadHalf(p);
    for (int sub = 0; sub < 8; ++sub) {
      const unsigned word = LoadU16(p + 34 + 2 * sub);
      const float scale = d * static_cast<float>(2 * ((word >> 12) & 7) + 1);
      for (int g = 0; g < 4; ++g, out += 8) {
        const unsigned index = p[2 + 4 * sub + g] | ((word >> (3 * g)) & 7) << 8;
        DecodeIq1(index, scale, (word & 0x8000u) != 0, out);
      }
    }
  }
}

// 32 bytes of low index bits, 16 bytes of nibbles (per 8 values: three high index bits and the sign
// of the shift), four 16-bit words: a 3-bit scale for each of four runs of 16 values, and in their
// top nibbles the f16 d.
void DequantizeIq1M(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 256, p += 56) {
    unsigned half = 0;
    for (int w = 0; w < 4; ++w) half |= (LoadU16(p + 48 + 2 * w) >> 12) << (4 * w);
    const float d = F16ToF32(static_cast<std::uint16_t>(half));
    for (int g = 0; g < 32; ++g, out += 8) {
      const unsigned word = LoadU16(p + 48 + g / 8 * 2);
      const float scale = d * static_cast<float>(2 * ((word >> (g % 8 / 2 * 3)) & 7) + 1);
      const unsigned high = (p[32 + g / 2] >> (g % 2 * 4)) & 15u;
      DecodeIq1(p[g] | (high & 7) << 8, scale, (high & 8) != 0, out);
    }
  }
}

// d, then for each 32 values four index bytes and a 32-bit word: four 7-bit sign groups, a 4-bit
// scale.
void DequantizeIq2Xxs(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 256, p += 66) {
    const float d = LoadHalf(p);
    for (int sub = 0; sub < 8; ++sub) {
      const std::uint8_t* q = p + 2 + 8 * sub;
      const std::uint32_t word = LoadU32(q + 4);
      const float scale = Iq2Scale(d, word >> 28);
      for (int g = 0; g < 4; ++g, out += 8) {
        Decode8(kIq2XxsGrid[q[g]], scale, SignsOf7((word >> (7 * g)) & 127), out);
      }
    }
  }
}

// d, 32 16-bit words (9 index bits, 7 sign bits) per 8 values, 8 bytes with a 4-bit scale per 16.
void DequantizeIq2Xs(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 256, p += 74) {
    const float d = LoadHalf(p);
    for (int g = 0; g < 32; ++g, out += 8) {
      const unsigned word = LoadU16(p + 2 + 2 * g);
      const float scale = Iq2Scale(d, (p[66 + g / 4] >> (g % 4 / 2 * 4)) & 15u);
      Decode8(kIq2XsGrid[word & 511], scale, SignsOf7(word >> 9), out);
    }
  }
}

// d, 32 bytes of low index bits, 32 sign bytes, 8 bytes with two high index bits per 8 values, 8
// bytes with a 4-bit scale per 16.
void DequantizeIq2S(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 256, p += 82) {
    const float d = LoadHalf(p);
    for (int g = 0; g < 32; ++g, out += 8) {
      const unsigned high = (p[66 + g / 4] >> (g % 4 * 2)) & 3u;
      const float scale = Iq2Scale(d, (p[74 + g / 4] >> (g % 4 / 2 * 4)) & 15u);
      Decode8(kIq2SGrid[p[2 + g] | high << 8], scale, p[34 + g], out);
    }
  }
}

// d, 64 index bytes (one per 4 values), then a 32-bit word per 32 values: four 7-bit sign groups, a
// 4-bit scale.
void DequantizeIq3Xxs(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 256, p += 98) {
    const float d = LoadHalf(p);
    for (int g = 0; g < 32; ++g, out += 8) {
      const std::uint32_t word = LoadU32(p + 66 + g / 4 * 4);
      const float scale = d * (0.5f + static_cast<float>(word >> 28)) * 0.5f;
      const unsigned signs = SignsOf7((word >> (g % 4 * 7)) & 127);
      const std::uint8_t* q = p + 2 + 2 * g;
      const std::uint64_t high = kIq3XxsGrid[q[1]];
      Decode8(kIq3XxsGrid[q[0]] | high << 32, scale, signs, out);
    }
  }
}

// d, 64 bytes of low index bits (one per 4 values), 8 bytes with their ninth bits, 32 sign bytes, 4
// bytes with a 4-bit scale per 32 values.
void DequantizeIq3S(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 256, p += 110) {
    const float d = LoadHalf(p);
    for (int g = 0; g < 32; ++g, out += 8) {
      const unsigned nibble = (p[106 + g / 8] >> (g / 4 % 2 * 4)) & 15u;
      const float scale = d * static_cast<float>(1 + 2 * nibble);
      const unsigned ninth = p[66 + g / 4] >> (g % 4 * 2);
      const unsigned signs = p[74 + g];
      const std::uint8_t* q = p + 2 + 2 * g;
      const std::uint64_t high = kIq3SGrid[q[1] | (ninth & 2) << 7];
      Decode8(kIq3SGrid[q[0] | (ninth & 1) << 8] | high << 32, scale, signs, out);
    }
  }
}

// d, 16 bytes of nibbles as in Q4_0, each the number of a level.
void DequantizeIq4Nl(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 32, p += 18, out += 32) {
    const float d = LoadHalf(p);
    for (int i = 0; i < 16; ++i) {
      out[i] = d * static_cast<float>(kIq4Values[p[2 + i] & 15]);
      out[i + 16] = d * static_cast<float>(kIq4Values[p[2 + i] >> 4]);
    }
  }
}

// d, a 16-bit word with the top 2 bits of eight 6-bit scales, 4 bytes with their low nibbles
// (stored plus 32), 128 bytes of nibbles: 16 bytes per 32 values as in IQ4_NL.
void DequantizeIq4Xs(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 256, p += 136) {
    const float d = LoadHalf(p);
    const unsigned high = LoadU16(p + 2);
    for (int sub = 0; sub < 8; ++sub, out += 32) {
      const int low = (p[4 + sub / 2] >> (sub % 2 * 4)) & 15;
      const int scale6 = (low | static_cast<int>((high >> (2 * sub)) & 3) << 4) - 32;
      const float scale = d * static_cast<float>(scale6);
      const std::uint8_t* q = p + 8 + 16 * sub;
      for (int i = 0; i < 16; ++i) {
        out[i] = scale * static_cast<float>(kIq4Values[q[i] & 15]);
        out[i + 16] = scale * static_cast<float>(kIq4Values[q[i] >> 4]);
      }
    }
  }
}

}  // namespace vt
