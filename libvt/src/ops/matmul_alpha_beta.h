#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// out[m, n] = alpha * sum_k b[n, k] * a[m, k] + beta * out[m, n]; with beta 0 out is not read.
struct MatmulAlphaBetaArgs {
  static constexpr const char* kOp = "matmul_alpha_beta";
  Weight b;                  // [n, k]
  const float* a = nullptr;  // [m, k]
  std::int64_t m = 0;
  float alpha = 1.0f;
  float beta = 0.0f;
  float* out = nullptr;  // [m, n]
  float* scratch = nullptr;
};
constexpr std::int64_t ScratchFloats(const MatmulAlphaBetaArgs& a) {
  return a.beta == 0.0f ? 0 : a.m * a.b.rows;
}

}  // namespace vt
