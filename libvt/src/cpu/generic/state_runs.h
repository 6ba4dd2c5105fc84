// How bodies of ops with a recurrent state walk the sequences of a step.
#pragma once

#include <cstdint>

#include "cpu/generic/vec16.h"
#include "ops/part.h"
#include "ops/types.h"

namespace vt {
namespace {

// Rows [begin, end) of one sequence.
struct StateRun {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t slot;
  bool fresh;
};

template <class Fn>
VT_VEC_INLINE void ForStateRuns(const StateRow* row, std::int64_t rows, Fn fn) {
  for (std::int64_t begin = 0; begin < rows;) {
    std::int64_t end = begin + 1;
    while (end < rows && row[end].slot == row[begin].slot && row[end].fresh == 0) ++end;
    fn(StateRun{begin, end, row[begin].slot, row[begin].fresh != 0});
    begin = end;
  }
}

// Calls fn(h, first, last) for the values of each head among the items, heads of `dim` values one
// after another.
template <class Fn>
VT_VEC_INLINE void ForHeadShares(Range items, std::int64_t dim, Fn fn) {
  for (std::int64_t item = items.begin; item < items.end;) {
    const std::int64_t h = item / dim, first = item % dim;
    const std::int64_t left = items.end - item;
    const std::int64_t last = left < dim - first ? first + left : dim;
    fn(h, first, last);
    item += last - first;
  }
}

// Calls fn(StateTile<n>{}, i) for tiles of n state rows from i on, that cover [first, last).
template <int kRows>
struct StateTile {
  static constexpr int value = kRows;
};
template <class Fn>
VT_VEC_INLINE void ForStateTiles(std::int64_t first, std::int64_t last, Fn fn) {
  std::int64_t i = first;
  for (; i + 4 <= last; i += 4) fn(StateTile<4>{}, i);
  for (; i < last; ++i) fn(StateTile<1>{}, i);
}

}  // namespace
}  // namespace vt
