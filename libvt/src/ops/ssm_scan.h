#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// The selective state space of Mamba 2 (Dao and Gu 2024, arXiv 2405.21060), a row at a time:
//   t = softplus(dt[r, h] + dt_bias[h])
//   S[h, i, n] = S[h, i, n] * exp(t * a[h]) + t * x[r, h, i] * b[r, g, n]
//   out[r, h, i] = sum over n of S[h, i, n] * c[r, g, n] + d[h] * x[r, h, i]
// with g = h / (heads / groups) and softplus(v) = log(1 + exp(v)). S belongs to the row's sequence;
// a fresh row begins with zeros.
struct SsmScanArgs {
  static constexpr const char* kOp = "ssm_scan";
  const float* x = nullptr;        // [rows, heads, head_dim] at row stride x_stride
  const float* b = nullptr;        // [rows, groups, state] at row stride x_stride
  const float* c = nullptr;        // [rows, groups, state] at row stride x_stride
  std::int64_t x_stride = 0;       // at least a row of each
  const float* dt = nullptr;       // [rows, heads] at row stride dt_stride
  std::int64_t dt_stride = 0;      // 0: heads
  const float* dt_bias = nullptr;  // [heads]
  const float* a = nullptr;        // [heads]
  const float* d = nullptr;        // [heads]
  const StateRow* row = nullptr;   // [rows]
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t groups = 0;
  std::int64_t state_size = 0;
  float* state = nullptr;  // [slots, heads, head_dim, state_size]
  float* out = nullptr;    // [rows, heads, head_dim]
};

}  // namespace vt
