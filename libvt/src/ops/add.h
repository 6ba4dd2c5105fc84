#pragma once

#include <cstdint>

namespace vt {

// out = a + b * scale
struct AddArgs {
  static constexpr const char* kOp = "add";
  const float* a = nullptr;
  const float* b = nullptr;
  float* out = nullptr;  // [count], may be a or b
  std::int64_t count = 0;
  float scale = 1.0f;
};

}  // namespace vt
