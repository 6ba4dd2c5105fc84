#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// out[r, c] = act(gate[r, c]) * up[r, c] for the activations that have no op of their own:
//   relu: max(0, g) * u
//   clamped_swiglu (gpt-oss): g = min(gate, limit), u = clamp(up, -limit, limit);
//     g / (1 + exp(-1.702 g)) * (u + 1)
enum class GatedActKind : std::uint8_t { kRelu, kClampedSwiglu };
struct GatedActArgs {
  static constexpr const char* kOp = "gated_act";
  const float* gate = nullptr;  // [count]
  const float* up = nullptr;    // [count]
  float* out = nullptr;         // [count], may be gate or up
  std::int64_t count = 0;
  GatedActKind act = GatedActKind::kRelu;
  float limit = 7.0f;
};

}  // namespace vt
