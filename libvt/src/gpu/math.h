// Elementary functions of kernels: the operations, in the order, of cpu/generic/vec_math.h, so that
// what is computed value by value has the same bits on every device.
#pragma once

#include "gpu/rt.h"

namespace vt::VT_GPU_NAMESPACE {

// exp(x), within 1.1 ulp; 0 and infinity past the ends, denormals kept, NaN stays NaN.
VT_DEVICE float Exp(float x) {
  float held = -104.0f > x ? -104.0f : x;
  held = 89.0f < held ? 89.0f : held;
  const float magic = 0x1.8p23f;  // rounds to a whole number and leaves it in the low bits
  const float t = Fma(held, 0x1.715476p+0f, magic);
  const float n = t - magic;
  float r = Fma(n, -0x1.62e43p-1f, held);
  r = Fma(n, 0x1.05c61p-29f, r);
  float p = 0x1.6d113cp-10f;
  p = Fma(p, r, 0x1.120ba2p-7f);
  p = Fma(p, r, 0x1.55551ap-5f);
  p = Fma(p, r, 0x1.5554dcp-3f);
  p = Fma(p, r, 0.5f);
  const float m = 1.0f + Fma(r * r, p, r);
  const int whole = static_cast<int>(BitsOfFloat(t) - BitsOfFloat(magic));
  const int half = whole >> 1;
  const auto pow2 = [](int e) { return FloatFromBits(static_cast<std::uint32_t>(e + 127) << 23); };
  return m * pow2(half) * pow2(whole - half);
}

// x / (1 + exp(-x))
VT_DEVICE float Silu(float x) { return x / (1.0f + Exp(0.0f - x)); }

// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
VT_DEVICE float Gelu(float x) {
  const float c = Fma(x * x, -0.0713548163f, -1.59576912f);
  return x / (1.0f + Exp(x * c));
}

VT_DEVICE float F16ToF32(std::uint32_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t body = half & 0x7fffu;
  if (body >= 0x7c00u) {
    const std::uint32_t quiet = body > 0x7c00u ? 0x400000u : 0u;
    return FloatFromBits(sign | 0x7f800000u | (body & 0x3ffu) << 13 | quiet);
  }
  if (body >= 0x400u) return FloatFromBits(sign | ((body << 13) + (112u << 23)));
  return FloatFromBits(sign | BitsOfFloat(static_cast<float>(body) * 0x1p-24f));
}

VT_DEVICE float Bf16ToF32(std::uint32_t bits) { return FloatFromBits(bits << 16); }

}  // namespace vt::VT_GPU_NAMESPACE
