// Activations to 15 bits in two digits, a body over the 16-lane vector.
//
// For a group of 32 values with largest magnitude a: scale = a / 16256, q = x * (16256 / a) rounded
// half to even, high = q / 128 rounded half to even, low = q - 128 * high: all exact in f32. A
// group that holds a NaN or an infinity gets a NaN as its scale and zeros as values, so that every
// result that uses it is NaN. Below 2^-100, where 16256 / a nears the end of the float range, a
// group counts as zeros.
#pragma once

#include <cstdint>

#include "cpu/generic/vec16.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

constexpr float kLargest = 16256.0f;  // 127 * 128

// Rounding q / 128 half to even instead of up moves a half to the other digit; low then is 64,
// which a signed byte holds as well.
template <class V>
VT_VEC_INLINE void StoreDigits(typename V::F q, std::int8_t* high, std::int8_t* low) {
  const typename V::F h = V::RoundEven(V::Mul(q, V::Splat(1.0f / 128.0f)));
  V::StoreI8(high, h);
  V::StoreI8(low, V::Fma(h, V::Splat(-128.0f), q));
}

template <class V>
void QuantizeGroups(const QuantizeArgs& args, Range groups) {
  using F = typename V::F;
  for (std::int64_t g = groups.begin; g < groups.end; ++g) {
    const float* x = args.x + g * kQ15Group;
    std::int8_t* high = args.out.high + g * kQ15Group;
    std::int8_t* low = args.out.low + g * kQ15Group;
    const F lo = V::Load(x);
    const F hi = V::Load(x + 16);
    // Zero, or NaN where a value is not finite.
    const float poison = V::ReduceAdd(V::Add(V::Sub(lo, lo), V::Sub(hi, hi)));
    const float largest = V::ReduceMax(V::Max(V::Abs(lo), V::Abs(hi)));
    if (poison == 0.0f && largest >= 0x1p-100f) {
      const F inverse = V::Splat(kLargest / largest);
      const F q_lo = V::RoundEven(V::Mul(lo, inverse));
      const F q_hi = V::RoundEven(V::Mul(hi, inverse));
      StoreDigits<V>(q_lo, high, low);
      StoreDigits<V>(q_hi, high + 16, low + 16);
      args.out.scales[g] = largest / kLargest;
      args.out.sums[g] = static_cast<std::int32_t>(V::ReduceAdd(V::Add(q_lo, q_hi)));
    } else {
      for (int i = 0; i < kQ15Group; ++i) high[i] = low[i] = 0;
      args.out.scales[g] = poison == 0.0f ? 0.0f : __builtin_nanf("");
      args.out.sums[g] = 0;
    }
  }
}

}  // namespace
}  // namespace vt
