#pragma once

#include <cstdint>

namespace vt {

// out = gelu(gate) * up
struct GeluMulArgs {
  static constexpr const char* kOp = "gelu_mul";
  const float* gate = nullptr;  // [count]
  const float* up = nullptr;    // [count]
  float* out = nullptr;         // [count], may be gate
  std::int64_t count = 0;
};

}  // namespace vt
