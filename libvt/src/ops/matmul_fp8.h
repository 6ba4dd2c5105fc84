#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// out[m, n] = sum_k w[n, k] * x[m, k] (+ bias[n]) (+ out[m, n] when accumulate): matmul of f32
// activations with an f8_e4m3 weight and its scales.
struct MatmulFp8Args {
  static constexpr const char* kOp = "matmul_fp8";
  Weight w;                  // [n, k], f8_e4m3
  const float* x = nullptr;  // [m, k]
  std::int64_t m = 0;
  const float* bias = nullptr;  // [n] or null
  bool accumulate = false;
  float* out = nullptr;  // [m, n]
  // Room for the decoded weight, which the composed form needs and no other.
  float* scratch = nullptr;
  std::int64_t scratch_floats = 0;
};
constexpr std::int64_t ScratchFloats(const MatmulFp8Args& a) { return a.w.rows * a.w.cols; }

}  // namespace vt
