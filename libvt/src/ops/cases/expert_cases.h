// Inputs of ops on (row, expert) pairs.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "ops/cases/binder.h"

namespace vt {

// The numbers [0, count) in some order.
inline const std::int32_t* Permutation(Binder& b, const char* name, std::int64_t count) {
  std::vector<std::int32_t> order(SizeOf(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[b.random().Below(i)]);
  }
  return b.Values<std::int32_t>(name, order);
}

}  // namespace vt
