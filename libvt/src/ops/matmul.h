#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// out[m, n] = sum_k w[n, k] * x[m, k] (+ bias[n]) (+ out[m, n] when accumulate)
struct MatmulArgs {
  static constexpr const char* kOp = "matmul";
  Weight w;  // [n, k]
  ActType act = ActType::kF32;
  const float* x = nullptr;  // [m, k] when act is kF32
  Q15Rows q = {};            // [m, k] when act is kQ15
  std::int64_t m = 0;
  const float* bias = nullptr;  // [n] or null
  bool accumulate = false;
  float* out = nullptr;  // [m, n]
};

}  // namespace vt
