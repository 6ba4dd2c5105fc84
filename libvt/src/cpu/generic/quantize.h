// Activations to 8 bits, a body over the 16-lane vector.
//
// For a group of 32 values with largest magnitude a: scale = a / 127, values = x * (127 / a)
// rounded half to even. A group that holds a NaN or an infinity gets a NaN as its scale and zeros
// as values, so that every result that uses it is NaN. Below 2^-100, where 127 / a nears the end of
// the float range, a group counts as zeros.
#pragma once

#include <cstdint>

#include "cpu/generic/vec16.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

template <class V>
void QuantizeGroups(const QuantizeArgs& args, Range groups) {
  using F = typename V::F;
  for (std::int64_t g = groups.begin; g < groups.end; ++g) {
    const float* x = args.x + g * kQ8Group;
    std::int8_t* values = args.out.values + g * kQ8Group;
    const F lo = V::Load(x);
    const F hi = V::Load(x + 16);
    // Zero, or NaN where a value is not finite.
    const float poison = V::ReduceAdd(V::Add(V::Sub(lo, lo), V::Sub(hi, hi)));
    const float largest = V::ReduceMax(V::Max(V::Abs(lo), V::Abs(hi)));
    if (poison == 0.0f && largest >= 0x1p-100f) {
      const F inverse = V::Splat(127.0f / largest);
      const F q_lo = V::RoundEven(V::Mul(lo, inverse));
      const F q_hi = V::RoundEven(V::Mul(hi, inverse));
      V::StoreI8(values, q_lo);
      V::StoreI8(values + 16, q_hi);
      args.out.scales[g] = largest / 127.0f;
      args.out.sums[g] = static_cast<std::int32_t>(V::ReduceAdd(V::Add(q_lo, q_hi)));
    } else {
      V::StoreI8(values, V::Splat(0.0f));
      V::StoreI8(values + 16, V::Splat(0.0f));
      args.out.scales[g] = poison == 0.0f ? 0.0f : __builtin_nanf("");
      args.out.sums[g] = 0;
    }
  }
}

}  // namespace
}  // namespace vt
