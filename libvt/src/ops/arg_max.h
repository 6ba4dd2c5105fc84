#pragma once

#include <cstdint>

namespace vt {

// out[r] = the lowest index of the largest value of the row. NaN counts as -infinity.
struct ArgMaxArgs {
  static constexpr const char* kOp = "arg_max";
  const float* x = nullptr;     // [rows, cols]
  std::int32_t* out = nullptr;  // [rows]
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

}  // namespace vt
