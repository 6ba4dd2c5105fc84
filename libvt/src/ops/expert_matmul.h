#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// out[r, n] = sum_k w[ids[r], first + n, k] * x[r / x_repeat, k] (+ bias[ids[r], first + n]): each
// row is multiplied with rows [first, first + n) of its expert's matrix; n 0: with all of it. Runs
// of rows with the same id cost least. Types as in matmul, and f8_e4m3 with scales.
struct ExpertMatmulArgs {
  static constexpr const char* kOp = "expert_matmul";
  Weight w;  // [experts * expert rows, k]
  std::int64_t experts = 0;
  std::int64_t first = 0;
  std::int64_t n = 0;
  std::int64_t x_repeat = 1;    // how many rows in turn share a row of x
  const float* bias = nullptr;  // [experts * expert rows] or null
  ActType act = ActType::kF32;
  const float* x = nullptr;           // [rows / x_repeat, k] when act is kF32
  Q15Rows q = {};                     // [rows / x_repeat, k] when act is kQ15
  const std::int32_t* ids = nullptr;  // [rows], each in [0, experts)
  std::int64_t rows = 0;
  float* out = nullptr;  // [rows, n]
};

// The outputs of a row.
constexpr std::int64_t ExpertOutputs(const ExpertMatmulArgs& a) {
  return a.n > 0 || a.experts <= 0 ? a.n : a.w.rows / a.experts;
}

}  // namespace vt
