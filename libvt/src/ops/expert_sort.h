#pragma once

#include <cstdint>

#include "ops/expert_limits.h"
#include "ops/types.h"

namespace vt {

// The (row, expert) pairs of a step in order of expert, pairs of one expert in order of row: pair p
// of the sorted order is pair order[p] of the unsorted, and has expert sorted_ids[p].
struct ExpertSortArgs {
  static constexpr const char* kOp = "expert_sort";
  const std::int32_t* ids = nullptr;  // [pairs], each in [0, experts)
  std::int64_t pairs = 0;
  std::int64_t experts = 0;
  std::int32_t* order = nullptr;       // [pairs]
  std::int32_t* sorted_ids = nullptr;  // [pairs]
};

}  // namespace vt
