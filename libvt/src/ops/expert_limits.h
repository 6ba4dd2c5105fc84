// Sizes that the ops of expert layers agree on.
#pragma once

#include <cstdint>

namespace vt {

// Of one layer, and of one row's choice: kernels keep a count or a value for each on their stack.
inline constexpr std::int64_t kMostExperts = 1024;

// From so many rows on, each with its own expert, a step is sorted by expert; fewer are indexed.
inline constexpr std::int64_t kFewestGroupedRows = 64;

}  // namespace vt
