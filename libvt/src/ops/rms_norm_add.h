#pragma once

#include <cstdint>

namespace vt {

// out = rms_norm(x) * weight + residual
struct RmsNormAddArgs {
  static constexpr const char* kOp = "rms_norm_add";
  const float* x = nullptr;         // [rows, cols]
  const float* weight = nullptr;    // [cols] or null
  const float* residual = nullptr;  // [rows, cols]
  float* out = nullptr;             // [rows, cols], may be x or residual
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float eps = 1e-6f;
  float* scratch = nullptr;  // may be x
};
constexpr std::int64_t ScratchFloats(const RmsNormAddArgs& a) { return a.rows * a.cols; }

}  // namespace vt
