#pragma once

#include <cstdint>

#include "ops/expert_limits.h"
#include "ops/types.h"

namespace vt {

// out[r, :] = sum over j of weights[r, j] * x[p(r, j), :], added in the order of j; p(r, j) is the
// place of pair r * used + j in the sorted order, or the pair itself where there is no order.
struct ExpertCombineArgs {
  static constexpr const char* kOp = "expert_combine";
  const float* x = nullptr;             // [rows * used, cols]
  const std::int32_t* order = nullptr;  // [rows * used] or null
  const float* weights = nullptr;       // [rows, used], unsorted; null: all 1
  std::int64_t rows = 0;
  std::int64_t used = 0;
  std::int64_t cols = 0;
  float* out = nullptr;  // [rows, cols], does not overlap x
};

}  // namespace vt
