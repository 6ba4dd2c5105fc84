// Cases of ops that read a weight: every type, known as a weight or not.
#pragma once

#include <cstdint>
#include <utility>

#include "ops/cases/case_lists.h"

namespace vt {

inline Weight Shaped(DType type, std::int64_t rows, std::int64_t cols) {
  return {.type = type, .rows = rows, .cols = cols};
}

// Calls add(type, cols, turn) for every type and the columns its rows may have.
template <class Add>
void ForEachType(Sweep sweep, Add add) {
  std::int64_t turn = 0;
  for (const DTypeInfo& info : AllDTypes()) {
    for (const std::int64_t cols : ColumnsOf(info.type, sweep)) add(info.type, cols, turn++);
  }
}

// Calls add(type, cols) with columns that are not whole blocks.
template <class Add>
void ForEachBrokenBlock(Sweep sweep, Add add) {
  if (sweep == Sweep::kSpeed) return;
  for (const DTypeInfo& info : AllDTypes()) {
    const std::int64_t block = info.block;
    if (block == 1) continue;
    for (const std::int64_t cols : {std::int64_t{1}, block / 2, block - 1, block + 1}) {
      add(info.type, cols);
    }
  }
}

// Rows of a weight and rows of activations, by turns: 1 to 33, remainders of the kernels' tiles.
inline std::int64_t OutputsAt(Sweep sweep, std::int64_t turn) {
  if (sweep == Sweep::kSpeed) return 1024;
  return Pick<std::int64_t>(turn, {1, 17, 2, 33, 3, 16, 5});
}
inline std::int64_t BatchAt(Sweep sweep, std::int64_t turn) {
  if (sweep == Sweep::kSpeed) return 1;
  return Pick<std::int64_t>(turn, {1, 2, 5, 8, 9, 33});
}
inline std::int64_t FewRowsAt(Sweep sweep, std::int64_t turn) {
  if (sweep == Sweep::kSpeed) return 1;
  return Pick<std::int64_t>(turn, {1, 3, 0, 7});
}
// For speed one: every byte of the weight is then read.
inline std::int64_t ExpertsAt(Sweep sweep, std::int64_t turn) {
  if (sweep == Sweep::kSpeed) return 1;
  return Pick<std::int64_t>(turn, {1, 4, 2});
}

}  // namespace vt
