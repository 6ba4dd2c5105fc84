// Formats whose encoding is settled: the same bytes as gguf-py (gguf.quants) writes.
//
// Codes are found with the unrounded scale; the block stores it as f16. A scale whose inverse is no
// finite number would be stored as 0, and its codes are those of zeros.
#include <cmath>

#include "cpu/generic/quant_bits.h"
#include "cpu/quants/quantize_formats.h"

namespace vt {
namespace {

void Store16(std::uint8_t* p, std::uint16_t value) { std::memcpy(p, &value, sizeof value); }
void StoreHalf(std::uint8_t* p, float value) { Store16(p, F32ToF16(value)); }

float Inverse(float d) {
  const float inverse = d == 0 ? 0.0f : 1 / d;
  return std::isfinite(inverse) ? inverse : 0.0f;
}

// The first of those with the largest magnitude.
float Extreme(const float* x, int n) {
  float extreme = x[0];
  for (int i = 1; i < n; ++i) {
    if (std::fabs(x[i]) > std::fabs(extreme)) extreme = x[i];
  }
  return extreme;
}

int Capped(float code, int top) {
  return code < static_cast<float>(top) ? static_cast<int>(code) : top;
}

// Codes 0..top around `zero`; top is 2 zero - 1.
void SymmetricCodes(const float* x, float d, int zero, int codes[32]) {
  const float inverse = Inverse(d);
  const float offset = static_cast<float>(zero) + 0.5f;
  for (int i = 0; i < 32; ++i) codes[i] = Capped(x[i] * inverse + offset, 2 * zero - 1);
}

struct Range {
  float low, step;
};
Range AffineCodes(const float* x, int top, int codes[32]) {
  float low = x[0], high = x[0];
  for (int i = 1; i < 32; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  const float step = (high - low) / static_cast<float>(top);
  const float inverse = Inverse(step);
  for (int i = 0; i < 32; ++i) codes[i] = Capped((x[i] - low) * inverse + 0.5f, top);
  return {low, step};
}

void StoreNibbles(const int codes[32], std::uint8_t* p) {
  for (int i = 0; i < 16; ++i) {
    p[i] = static_cast<std::uint8_t>((codes[i] & 15) | (codes[i + 16] & 15) << 4);
  }
}

void StoreFifthBits(const int codes[32], std::uint8_t* p) {
  std::uint32_t bits = 0;
  for (int i = 0; i < 32; ++i) bits |= static_cast<std::uint32_t>(codes[i] >> 4) << i;
  std::memcpy(p, &bits, sizeof bits);
}

// -1, 0, 1 as 0, 1, 2, by the largest magnitude, which is the scale.
float Trits(const float* x, int codes[256]) {
  const float d = std::fabs(Extreme(x, 256));
  const float inverse = Inverse(d);
  for (int i = 0; i < 256; ++i) codes[i] = static_cast<int>(std::round(x[i] * inverse)) + 1;
  return d;
}

}  // namespace

void EncodeF16(const float* x, std::uint8_t* block) { StoreHalf(block, *x); }

void EncodeBf16(const float* x, std::uint8_t* block) { Store16(block, F32ToBf16(*x)); }

void EncodeF8E4M3(const float* x, std::uint8_t* block) {
  const std::uint32_t bits = BitsOfFloat(*x);
  const std::uint32_t body = bits & 0x7fffffffu;
  const std::uint32_t sign = bits >> 24 & 0x80u;
  // Below 2^-6 the numbers are multiples of 2^-9; above, 20 fraction bits are dropped.
  const std::uint32_t code =
      body < 0x3c800000u ? static_cast<std::uint32_t>(std::nearbyint(FloatFromBits(body) * 512.0f))
                         : (body - (120u << 23) + 0x7ffffu + (body >> 20 & 1u)) >> 20;
  *block = static_cast<std::uint8_t>(sign | code);
}

void EncodeQ4_0(const float* x, std::uint8_t* block) {
  int codes[32];
  const float d = Extreme(x, 32) / -8;
  SymmetricCodes(x, d, 8, codes);
  StoreHalf(block, d);
  StoreNibbles(codes, block + 2);
}

void EncodeQ4_1(const float* x, std::uint8_t* block) {
  int codes[32];
  const Range range = AffineCodes(x, 15, codes);
  StoreHalf(block, range.step);
  StoreHalf(block + 2, range.low);
  StoreNibbles(codes, block + 4);
}

void EncodeQ5_0(const float* x, std::uint8_t* block) {
  int codes[32];
  const float d = Extreme(x, 32) / -16;
  SymmetricCodes(x, d, 16, codes);
  StoreHalf(block, d);
  StoreFifthBits(codes, block + 2);
  StoreNibbles(codes, block + 6);
}

void EncodeQ5_1(const float* x, std::uint8_t* block) {
  int codes[32];
  const Range range = AffineCodes(x, 31, codes);
  StoreHalf(block, range.step);
  StoreHalf(block + 2, range.low);
  StoreFifthBits(codes, block + 4);
  StoreNibbles(codes, block + 8);
}

void EncodeQ8_0(const float* x, std::uint8_t* block) {
  const float d = std::fabs(Extreme(x, 32)) / 127;
  const float inverse = Inverse(d);
  StoreHalf(block, d);
  for (int i = 0; i < 32; ++i) {
    block[2 + i] = static_cast<std::uint8_t>(static_cast<int>(std::round(x[i] * inverse)));
  }
}

void EncodeTq1_0(const float* x, std::uint8_t* block) {
  int codes[256];
  StoreHalf(block + 52, Trits(x, codes));
  // A run of bytes holds `digits` base-3 digits each, the first value's the highest, as a fraction
  // of 256 that is rounded up.
  const auto store = [](const int* from, int bytes, int digits, std::uint8_t* to) {
    for (int i = 0; i < bytes; ++i) {
      int number = 0;
      for (int k = 0; k < 5; ++k) number = 3 * number + (k < digits ? from[k * bytes + i] : 0);
      to[i] = static_cast<std::uint8_t>((number * 256 + 242) / 243);
    }
  };
  store(codes, 32, 5, block);
  store(codes + 160, 16, 5, block + 32);
  store(codes + 240, 4, 4, block + 48);
}

void EncodeTq2_0(const float* x, std::uint8_t* block) {
  int codes[256];
  StoreHalf(block + 64, Trits(x, codes));
  for (int i = 0; i < 64; ++i) {
    const int* first = codes + i / 32 * 128 + i % 32;
    block[i] =
        static_cast<std::uint8_t>(first[0] | first[32] << 2 | first[64] << 4 | first[96] << 6);
  }
}

void EncodeMxfp4(const float* x, std::uint8_t* block) {
  // The scale puts the largest magnitude at 4 or more, below 8; the largest number is 6.
  const float largest = std::fabs(Extreme(x, 32));
  const int exponent = largest > 0 ? std::ilogb(largest) - 2 + 127 : 0;
  block[0] = static_cast<std::uint8_t>(exponent > 0 ? exponent : 0);
  const float d = HalfOfE8m0(block[0]);
  int codes[32];
  for (int i = 0; i < 32; ++i) {
    codes[i] = 0;
    float least = std::fabs(x[i]);
    for (int code = 1; code < 16; ++code) {
      const float error = std::fabs(static_cast<float>(kFp4Values[code]) * d - x[i]);
      if (error >= least) continue;
      least = error;
      codes[i] = code;
    }
  }
  StoreNibbles(codes, block + 1);
}

// The mean magnitude is the best scale of signs.
void EncodeQ1_0(const float* x, std::uint8_t* block) {
  float sum = 0;
  for (int i = 0; i < 128; ++i) sum += std::fabs(x[i]);
  StoreHalf(block, sum / 128);
  std::memset(block + 2, 0, 16);
  for (int i = 0; i < 128; ++i) {
    if (x[i] >= 0) block[2 + i / 8] |= static_cast<std::uint8_t>(1 << i % 8);
  }
}

}  // namespace vt
