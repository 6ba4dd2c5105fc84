#pragma once

#include <cstdint>

namespace vt {

// out = x / sqrt(mean(x^2) + eps) * weight (+ bias). weight and bias have weight_rows rows of cols
// values, used in turn (row r of x takes row r % weight_rows); null means all ones, and no bias.
struct RmsNormArgs {
  static constexpr const char* kOp = "rms_norm";
  const float* x = nullptr;  // [rows, cols]
  const float* weight = nullptr;
  const float* bias = nullptr;
  std::int64_t weight_rows = 1;
  float* out = nullptr;  // [rows, cols], may be x
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float eps = 1e-6f;
  std::int64_t stride = 0;  // floats from a row to the next, in x and in out; 0: cols
};

}  // namespace vt
