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

// An f8_e4m3 weight of `matrices` matrices with a scale for 128 x 128 values of each.
inline Weight ScaledBlocks(std::int64_t matrices, std::int64_t rows, std::int64_t cols) {
  Weight w = Shaped(DType::kF8_E4M3, matrices * rows, cols);
  w.scales = {.block_rows = 128, .block_cols = 128, .matrix_rows = matrices > 1 ? rows : 0};
  return w;
}

// Calls add(weight) with f8_e4m3 weights whose scales are of blocks: less than one, one, several,
// what is left of one in both directions, and such that begin within a block.
template <class Add>
void ForEachScaledBlock(Sweep sweep, Add add) {
  if (sweep == Sweep::kSpeed) return;
  for (const std::int64_t rows : {1, 127, 128, 130, 257}) {
    for (const std::int64_t cols : {1, 100, 128, 129, 256, 300, 520}) {
      add(ScaledBlocks(1, rows, cols));
    }
  }
  Weight w = ScaledBlocks(1, 150, 272);
  w.scales.first_row = 120;
  add(w);
  w = ScaledBlocks(3, 50, 200);
  w.scales.first_row = 40;
  add(w);
  // Blocks of other sizes, of which a vector may hold several.
  w = Shaped(DType::kF8_E4M3, 40, 90);
  w.scales = {.block_rows = 7, .block_cols = 5};
  add(w);
  w.scales = {.block_rows = 3, .block_cols = 0};
  add(w);
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
