// The specification of a matmul with 15-bit activations: what one group of 32 weights contributes.
//
// Every weight type reads as 32 small integers w[i] and a few scales. With dot = sum w[i] a[i] over
// the group, dot0 and dot1 the same over its first and last 16, and likewise sum, sum0, sum1 of the
// activations a[i] alone, all exact integers, a group's float t is
//   kPlain    t = d * dot
//   kMin      t = fma(min, sum, d * dot)
//   kPairs    t = d * (scale0 * dot0 + scale1 * dot1)
//   kPairMin  t = fma(min, min0 * sum0 + min1 * sum1, d * (scale0 * dot0 + scale1 * dot1))
// with the integers, which fit 32 bits, converted to f32 (round to nearest even), and each *
// rounded.
#pragma once

#include <cstdint>

#include "cpu/generic/quant_bits.h"
#include "vt/dtype.h"

namespace vt {
namespace {

enum class Q15Form { kPlain, kMin, kPairs, kPairMin };

constexpr Q15Form FormOf(DType type) {
  switch (type) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return Q15Form::kMin;
    case DType::kQ3_K:
    case DType::kQ6_K:
      return Q15Form::kPairs;
    case DType::kQ2_K:
      return Q15Form::kPairMin;
    default:
      return Q15Form::kPlain;
  }
}

struct Q15Group {
  std::int8_t w[32];
  int scales[2] = {1, 1};
  int mins[2] = {0, 0};
  float d = 0;
  float min = 0;
};

// Byte i of `nibbles` holds values i and i + 16.
inline void UnpackNibbles(const std::uint8_t* nibbles, int offset, std::int8_t* w) {
  for (int i = 0; i < 16; ++i) {
    w[i] = static_cast<std::int8_t>((nibbles[i] & 15) - offset);
    w[i + 16] = static_cast<std::int8_t>((nibbles[i] >> 4) - offset);
  }
}

inline void UnpackLevels(const std::uint8_t* nibbles, const std::int8_t* levels, std::int8_t* w) {
  for (int i = 0; i < 16; ++i) {
    w[i] = levels[nibbles[i] & 15];
    w[i + 16] = levels[nibbles[i] >> 4];
  }
}

inline void AddFifthBits(std::uint32_t bits, std::int8_t* w) {
  for (int i = 0; i < 32; ++i) {
    w[i] = static_cast<std::int8_t>(w[i] + static_cast<int>((bits >> i) & 1u) * 16);
  }
}

// A group of Q4_K or Q5_K; `high` is null for Q4_K.
inline Q15Group UnpackGroupK4(const std::uint8_t* block, const std::uint8_t* high,
                              const std::uint8_t* nibbles, int sub) {
  Q15Group out;
  std::uint8_t scales[8], mins[8];
  UnpackScalesK4(block + 4, scales, mins);
  out.d = LoadHalf(block) * static_cast<float>(scales[sub]);
  out.min = -(LoadHalf(block + 2) * static_cast<float>(mins[sub]));
  for (int i = 0; i < 32; ++i) {
    const int low = (nibbles[sub / 2 * 32 + i] >> (sub % 2 * 4)) & 15;
    const int fifth = high ? ((high[i] >> sub) & 1) * 16 : 0;
    out.w[i] = static_cast<std::int8_t>(low + fifth);
  }
  return out;
}

// Group g of a row that starts at `row`. The layouts are told in cpu/quants.
inline Q15Group UnpackGroup(DType type, const std::uint8_t* row, std::int64_t g) {
  Q15Group out;
  const int sub = static_cast<int>(g % 8);  // within a block of 256
  switch (type) {
    case DType::kQ4_0: {
      const std::uint8_t* p = row + g * 18;
      out.d = LoadHalf(p);
      UnpackNibbles(p + 2, 8, out.w);
      return out;
    }
    case DType::kQ4_1: {
      const std::uint8_t* p = row + g * 20;
      out.d = LoadHalf(p);
      out.min = LoadHalf(p + 2);
      UnpackNibbles(p + 4, 0, out.w);
      return out;
    }
    case DType::kQ5_0: {
      const std::uint8_t* p = row + g * 22;
      out.d = LoadHalf(p);
      UnpackNibbles(p + 6, 16, out.w);
      AddFifthBits(LoadU32(p + 2), out.w);
      return out;
    }
    case DType::kQ5_1: {
      const std::uint8_t* p = row + g * 24;
      out.d = LoadHalf(p);
      out.min = LoadHalf(p + 2);
      UnpackNibbles(p + 8, 0, out.w);
      AddFifthBits(LoadU32(p + 4), out.w);
      return out;
    }
    case DType::kQ8_0: {
      const std::uint8_t* p = row + g * 34;
      out.d = LoadHalf(p);
      std::memcpy(out.w, p + 2, 32);
      return out;
    }
    case DType::kIQ4_NL: {
      const std::uint8_t* p = row + g * 18;
      out.d = LoadHalf(p);
      UnpackLevels(p + 2, kIq4Values, out.w);
      return out;
    }
    case DType::kMXFP4: {
      const std::uint8_t* p = row + g * 17;
      out.d = HalfOfE8m0(p[0]);
      UnpackLevels(p + 1, kFp4Values, out.w);
      return out;
    }
    case DType::kIQ4_XS: {
      const std::uint8_t* p = row + g / 8 * 136;
      const int low = (p[4 + sub / 2] >> (sub % 2 * 4)) & 15;
      const int high = (LoadU16(p + 2) >> (2 * sub)) & 3;
      out.d = LoadHalf(p) * static_cast<float>((low | high << 4) - 32);
      UnpackLevels(p + 8 + 16 * sub, kIq4Values, out.w);
      return out;
    }
    case DType::kQ4_K: {
      const std::uint8_t* p = row + g / 8 * 144;
      return UnpackGroupK4(p, nullptr, p + 16, sub);
    }
    case DType::kQ5_K: {
      const std::uint8_t* p = row + g / 8 * 176;
      return UnpackGroupK4(p, p + 16, p + 48, sub);
    }
    case DType::kQ2_K: {
      const std::uint8_t* p = row + g / 8 * 84;
      out.d = LoadHalf(p + 80);
      out.min = -LoadHalf(p + 82);
      for (int h = 0; h < 2; ++h) {
        out.scales[h] = p[2 * sub + h] & 15;
        out.mins[h] = p[2 * sub + h] >> 4;
      }
      const std::uint8_t* q = p + 16 + sub / 4 * 32;
      for (int i = 0; i < 32; ++i) {
        out.w[i] = static_cast<std::int8_t>((q[i] >> (sub % 4 * 2)) & 3);
      }
      return out;
    }
    case DType::kQ3_K: {
      const std::uint8_t* p = row + g / 8 * 110;
      out.d = LoadHalf(p + 108);
      std::int8_t scales[16];
      UnpackScalesQ3K(p + 96, scales);
      for (int h = 0; h < 2; ++h) out.scales[h] = scales[2 * sub + h];
      const std::uint8_t* q = p + 32 + sub / 4 * 32;
      for (int i = 0; i < 32; ++i) {
        const int high = (p[i] >> sub) & 1;
        out.w[i] = static_cast<std::int8_t>(((q[i] >> (sub % 4 * 2)) & 3) + high * 4 - 4);
      }
      return out;
    }
    case DType::kQ6_K: {
      const std::uint8_t* p = row + g / 8 * 210;
      out.d = LoadHalf(p + 208);
      for (int h = 0; h < 2; ++h) {
        out.scales[h] = static_cast<std::int8_t>(p[192 + 2 * sub + h]);
      }
      const int quarter = sub % 4;
      const std::uint8_t* low = p + sub / 4 * 64 + quarter % 2 * 32;
      const std::uint8_t* high = p + 128 + sub / 4 * 32;
      for (int i = 0; i < 32; ++i) {
        const int value = ((low[i] >> (quarter / 2 * 4)) & 15) | ((high[i] >> (quarter * 2)) & 3)
                                                                     << 4;
        out.w[i] = static_cast<std::int8_t>(value - 32);
      }
      return out;
    }
    default:
      return out;
  }
}

// t for the activations of the same group.
inline float GroupProduct(Q15Form form, const Q15Group& group, const std::int8_t* high,
                          const std::int8_t* low) {
  int dot[2] = {0, 0};
  int sum[2] = {0, 0};
  for (int h = 0; h < 2; ++h) {
    for (int i = 16 * h; i < 16 * h + 16; ++i) {
      const int a = 128 * high[i] + low[i];
      dot[h] += group.w[i] * a;
      sum[h] += a;
    }
  }
  const float main =
      group.d * static_cast<float>(group.scales[0] * dot[0] + group.scales[1] * dot[1]);
  if (form == Q15Form::kPlain || form == Q15Form::kPairs) return main;
  const int mins =
      form == Q15Form::kMin ? sum[0] + sum[1] : group.mins[0] * sum[0] + group.mins[1] * sum[1];
  return __builtin_fmaf(group.min, static_cast<float>(mins), main);
}

}  // namespace
}  // namespace vt
