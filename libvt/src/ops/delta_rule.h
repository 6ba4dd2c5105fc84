#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// The gated delta rule (Yang et al. 2024, arXiv 2412.06464), a row at a time. Of head h, with key
// head g = h / (heads / key_heads), or h % key_heads:
//   q, k = q[r, g], k[r, g], each divided by sqrt(sum of its squares + eps); q times key_dim^-1/2
//   S = S * exp(a[h] * softplus(alpha[r, h] + dt_bias[h]))
//   S = S + k (sigmoid(beta[r, h]) * (v[r, h] - S^T k))^T
//   out[r, h] = S^T q
// S belongs to the row's sequence; a fresh row begins with zeros. softplus as in ssm_scan. The
// state holds S transposed: a row for each value, which meets k and q as dot products.
struct DeltaRuleArgs {
  static constexpr const char* kOp = "delta_rule";
  const float* q = nullptr;        // [rows, key_heads, key_dim] at row stride qkv_stride
  const float* k = nullptr;        // [rows, key_heads, key_dim] at row stride qkv_stride
  const float* v = nullptr;        // [rows, heads, value_dim] at row stride qkv_stride
  std::int64_t qkv_stride = 0;     // at least a row of each
  const float* alpha = nullptr;    // [rows, heads]
  const float* beta = nullptr;     // [rows, heads]
  const float* dt_bias = nullptr;  // [heads]
  const float* a = nullptr;        // [heads]
  const StateRow* row = nullptr;   // [rows]
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  bool interleaved_keys = false;  // g = h % key_heads
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  float eps = 1e-6f;
  float* state = nullptr;  // [slots, heads, value_dim, key_dim]
  float* out = nullptr;    // [rows, heads, value_dim]
};

}  // namespace vt
