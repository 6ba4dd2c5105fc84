#pragma once

#include <cstdint>

namespace vt {

// out[r, c] = exp(s - max s) / sum exp(s - max s) over the row, s = x * scale. A row that holds a
// NaN or +infinity, or nothing above -infinity, becomes NaN throughout.
struct SoftmaxArgs {
  static constexpr const char* kOp = "softmax";
  const float* x = nullptr;  // [rows, cols]
  float* out = nullptr;      // [rows, cols], may be x
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float scale = 1.0f;
};

}  // namespace vt
