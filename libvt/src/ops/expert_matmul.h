#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// out[r, n] = sum_k w[ids[r], n, k] * x[r, k]: each row is multiplied with its expert's matrix.
// Runs of rows with the same id cost least. Types as in matmul, and f8_e4m3 with row scales.
struct ExpertMatmulArgs {
  static constexpr const char* kOp = "expert_matmul";
  Weight w;  // [experts * n, k]
  std::int64_t experts = 0;
  ActType act = ActType::kF32;
  const float* x = nullptr;           // [rows, k] when act is kF32
  Q15Rows q = {};                     // [rows, k] when act is kQ15
  const std::int32_t* ids = nullptr;  // [rows], each in [0, experts)
  std::int64_t rows = 0;
  float* out = nullptr;  // [rows, n]
};

}  // namespace vt
