#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// out[r, c] = x[r, c] of rows that lie further apart than their values: takes parts of rows out of
// wider ones, or puts them there. A stride of 0 stands for cols.
struct CopyColumnsArgs {
  static constexpr const char* kOp = "copy_columns";
  const float* x = nullptr;  // row r at x + r * x_stride
  std::int64_t x_stride = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float* out = nullptr;  // row r at out + r * out_stride; does not overlap x
  std::int64_t out_stride = 0;
};

}  // namespace vt
