#pragma once

#include <cstdint>

namespace vt {

// out = (x - mean) / sqrt(var + eps) * weight + bias, var over n. weight_rows as in RmsNormArgs,
// for weight and bias both; bias may be null.
struct LayerNormArgs {
  static constexpr const char* kOp = "layer_norm";
  const float* x = nullptr;  // [rows, cols]
  const float* weight = nullptr;
  const float* bias = nullptr;
  std::int64_t weight_rows = 1;
  float* out = nullptr;  // [rows, cols], may be x
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float eps = 1e-5f;
};

}  // namespace vt
