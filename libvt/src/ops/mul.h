#pragma once

#include <cstdint>

namespace vt {

// out[r, c] = a[r, c] * b[r, c], or a[r, c] * b[r] where b_cols is 1.
struct MulArgs {
  static constexpr const char* kOp = "mul";
  const float* a = nullptr;  // [rows, cols]
  const float* b = nullptr;  // [rows, b_cols]
  float* out = nullptr;      // [rows, cols], may be a
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t b_cols = 0;  // cols or 1
};

}  // namespace vt
