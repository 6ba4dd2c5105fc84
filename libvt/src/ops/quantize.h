#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// Quantises rows for a matmul; cols a multiple of 32. scale = amax / 16256, values rounded half to
// even; a group of zeros has scale 0.
struct QuantizeArgs {
  static constexpr const char* kOp = "quantize";
  const float* x = nullptr;  // [rows, cols]
  Q15Rows out;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

}  // namespace vt
