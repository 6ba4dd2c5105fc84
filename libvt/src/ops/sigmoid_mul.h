#pragma once

#include <cstdint>

namespace vt {

// out[r, c] = x[r, c] * sigmoid(gate[r, c]), or x[r, c] * sigmoid(gate[r]) where gate_cols is 1;
// x * sigmoid(g) is computed as x / (1 + exp(-g)).
struct SigmoidMulArgs {
  static constexpr const char* kOp = "sigmoid_mul";
  const float* x = nullptr;     // [rows, cols]
  const float* gate = nullptr;  // [rows, gate_cols]
  float* out = nullptr;         // [rows, cols], may be x
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t gate_cols = 0;  // cols or 1
};

}  // namespace vt
