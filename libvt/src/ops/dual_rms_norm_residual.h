#pragma once

#include <cstdint>

namespace vt {

// out = rms_norm3(rms_norm1(x1) + rms_norm2(x2)) + residual
struct DualRmsNormResidualArgs {
  static constexpr const char* kOp = "dual_rms_norm_residual";
  const float* x1 = nullptr;       // [rows, cols]
  const float* x2 = nullptr;       // [rows, cols]
  const float* weight1 = nullptr;  // [cols] or null, and so the others
  const float* weight2 = nullptr;
  const float* weight3 = nullptr;
  const float* residual = nullptr;  // [rows, cols]
  float* out = nullptr;             // [rows, cols], may be residual
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float eps = 1e-6f;
  float* scratch = nullptr;
};
constexpr std::int64_t ScratchFloats(const DualRmsNormResidualArgs& a) {
  return 2 * a.rows * a.cols;
}

}  // namespace vt
