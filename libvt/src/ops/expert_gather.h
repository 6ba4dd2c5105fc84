#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// out[p, :] = x[q / used, :] (* weights[q]) with q = order[p], or p where there is no order.
struct ExpertGatherArgs {
  static constexpr const char* kOp = "expert_gather";
  const float* x = nullptr;             // [pairs / used, cols]
  const std::int32_t* order = nullptr;  // [pairs] or null
  const float* weights = nullptr;       // [pairs], unsorted, or null
  std::int64_t pairs = 0;
  std::int64_t used = 0;
  std::int64_t cols = 0;
  float* out = nullptr;  // [pairs, cols]
};

}  // namespace vt
