#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// out[r, h, n] = sum_k w[h * n_rows + n, k] * x[r, h, k], n_rows = w.rows / heads: each head has a
// matrix of its own. Heads and rows may lie apart by more than their values; a stride of 0 is the
// values themselves. Types as in matmul with f32 activations, and f8_e4m3 with scales.
struct HeadMatmulArgs {
  static constexpr const char* kOp = "head_matmul";
  Weight w;  // [heads * n_rows, k]
  std::int64_t heads = 0;
  const float* x = nullptr;  // head h of row r at x + (r * heads + h) * x_stride
  std::int64_t x_stride = 0;
  std::int64_t rows = 0;
  float* out = nullptr;  // head h of row r at out + (r * heads + h) * out_stride
  std::int64_t out_stride = 0;
};

}  // namespace vt
