// The K formats: blocks of 256 values in sub-blocks whose small integer scales (and minimums) are
// multiples of the block's f16 d (and dmin).
#include "cpu/generic/quant_bits.h"
#include "cpu/quants/formats.h"

namespace vt {

// 16 scale bytes (low nibble scale, high nibble minimum, per 16 values), 64 bytes of 2-bit values,
// d, dmin. 32 bytes hold 128 values: bits 0-1 of byte i value i, bits 2-3 value i + 32, ...
void DequantizeQ2K(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 256, p += 84) {
    const float d = LoadHalf(p + 80);
    const float dmin = LoadHalf(p + 82);
    for (int sub = 0; sub < 16; ++sub) {
      const float scale = d * static_cast<float>(p[sub] & 15);
      const float min = dmin * static_cast<float>(p[sub] >> 4);
      const std::uint8_t* q = p + 16 + (sub / 8) * 32 + (sub % 2) * 16;
      const int shift = (sub % 8) / 2 * 2;
      for (int i = 0; i < 16; ++i) {
        *out++ = scale * static_cast<float>((q[i] >> shift) & 3) - min;
      }
    }
  }
}

// 32 bytes of high bits (bit j of byte i: value 32 j + i), 64 bytes of low 2 bits (as Q2_K), 12
// bytes of scales per 16 values, d. The 3-bit value is stored plus 4.
void DequantizeQ3K(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 256, p += 110) {
    const float d = LoadHalf(p + 108);
    std::int8_t scales[16];
    UnpackScalesQ3K(p + 96, scales);
    for (int sub = 0; sub < 16; ++sub) {
      const float scale = d * static_cast<float>(scales[sub]);
      const std::uint8_t* high = p + (sub % 2) * 16;
      const std::uint8_t* q = p + 32 + (sub / 8) * 32 + (sub % 2) * 16;
      const int shift = (sub % 8) / 2 * 2;
      for (int i = 0; i < 16; ++i) {
        const int value = ((q[i] >> shift) & 3) + (((high[i] >> (sub / 2)) & 1) << 2) - 4;
        *out++ = scale * static_cast<float>(value);
      }
    }
  }
}

// d, dmin, 12 bytes of scales and minimums per 32 values, 128 bytes of nibbles: 32 bytes hold 64
// values, low halves first.
void DequantizeQ4K(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 256, p += 144) {
    const float d = LoadHalf(p);
    const float dmin = LoadHalf(p + 2);
    std::uint8_t scales[8], mins[8];
    UnpackScalesK4(p + 4, scales, mins);
    for (int sub = 0; sub < 8; ++sub) {
      const float scale = d * static_cast<float>(scales[sub]);
      const float min = dmin * static_cast<float>(mins[sub]);
      const std::uint8_t* q = p + 16 + sub / 2 * 32;
      const int shift = sub % 2 * 4;
      for (int i = 0; i < 32; ++i) {
        *out++ = scale * static_cast<float>((q[i] >> shift) & 15) - min;
      }
    }
  }
}

// As Q4_K, with 32 bytes of fifth bits (bit j of byte i: value 32 j + i) before the nibbles.
void DequantizeQ5K(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 256, p += 176) {
    const float d = LoadHalf(p);
    const float dmin = LoadHalf(p + 2);
    std::uint8_t scales[8], mins[8];
    UnpackScalesK4(p + 4, scales, mins);
    for (int sub = 0; sub < 8; ++sub) {
      const float scale = d * static_cast<float>(scales[sub]);
      const float min = dmin * static_cast<float>(mins[sub]);
      const std::uint8_t* high = p + 16;
      const std::uint8_t* q = p + 48 + sub / 2 * 32;
      const int shift = sub % 2 * 4;
      for (int i = 0; i < 32; ++i) {
        const int value = ((q[i] >> shift) & 15) | (((high[i] >> sub) & 1) << 4);
        *out++ = scale * static_cast<float>(value) - min;
      }
    }
  }
}

// 128 bytes of low nibbles, 64 bytes of high 2 bits, 16 signed scales per 16 values, d; stored plus
// 32. For each half of 128 values: nibble byte i (of 64) holds values i and i + 64, high byte i (of
// 32) those of i, i + 32, i + 64, i + 96.
void DequantizeQ6K(const void* blocks, float* out, std::int64_t n) {
  const auto* p = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t b = 0; b < n; b += 256, p += 210) {
    const float d = LoadHalf(p + 208);
    for (int sub = 0; sub < 16; ++sub) {
      const float scale = d * static_cast<float>(static_cast<std::int8_t>(p[192 + sub]));
      const int quarter = sub % 8 / 2;  // 32 values each
      const std::uint8_t* low = p + sub / 8 * 64 + quarter % 2 * 32 + sub % 2 * 16;
      const std::uint8_t* high = p + 128 + sub / 8 * 32 + sub % 2 * 16;
      const int low_shift = quarter / 2 * 4;
      const int high_shift = quarter * 2;
      for (int i = 0; i < 16; ++i) {
        const int value =
            (((low[i] >> low_shift) & 15) | (((high[i] >> high_shift) & 3) << 4)) - 32;
        *out++ = scale * static_cast<float>(value);
      }
    }
  }
}

}  // namespace vt
