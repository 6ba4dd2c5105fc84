#pragma once

#include <cstdint>

namespace vt {

// out = silu(gate) * up
struct SiluMulArgs {
  static constexpr const char* kOp = "silu_mul";
  const float* gate = nullptr;  // [count]
  const float* up = nullptr;    // [count]
  float* out = nullptr;         // [count], may be gate
  std::int64_t count = 0;
};

}  // namespace vt
