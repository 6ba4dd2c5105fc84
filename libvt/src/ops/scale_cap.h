#pragma once

#include <cstdint>

namespace vt {

// x = cap * tanh(x * scale / cap), or x * scale where cap is 0; in place.
struct ScaleCapArgs {
  static constexpr const char* kOp = "scale_cap";
  float* x = nullptr;  // [count]
  std::int64_t count = 0;
  float scale = 1.0f;
  float cap = 0.0f;
};

}  // namespace vt
