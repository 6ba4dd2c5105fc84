// What the lists of cases are made with.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "ops/cases/op_cases.h"

namespace vt {

enum class Sweep { kEveryShape, kSpeed };

// One of `values`, by turns.
template <class T>
T Pick(std::int64_t turn, std::initializer_list<T> values) {
  return values.begin()[turn % static_cast<std::int64_t>(values.size())];
}

// All remainders of 16 and of 32, then sizes that models have; for speed one large size.
std::span<const std::int64_t> SizesOf(Sweep sweep);
std::span<const std::int64_t> RowCountsOf(Sweep sweep);
// The columns that rows of a type may have: the same sizes, or a few counts of blocks.
std::vector<std::int64_t> ColumnsOf(DType type, Sweep sweep);

// Calls add(rows, cols, turn) for every pair. Fixed rows meet every value that is picked by turn,
// and so do fixed columns.
template <class Add>
void ForEachShape(Sweep sweep, Add add) {
  std::int64_t c = 0;
  for (const std::int64_t cols : SizesOf(sweep)) {
    std::int64_t r = c++;
    for (const std::int64_t rows : RowCountsOf(sweep)) add(rows, cols, r++);
  }
}

// Shapes of an op with rows and cols. change(args, op_case, turn) sets what else matters.
template <class Args, class Change>
void AddShapes(CaseList& list, Sweep sweep, Change change) {
  Args args;
  ForEachShape(sweep, [&](std::int64_t rows, std::int64_t cols, std::int64_t turn) {
    args.rows = rows;
    args.cols = cols;
    OpCase next;
    change(args, next, turn);
    next.call = args;
    list.push_back(next);
  });
  if (sweep == Sweep::kSpeed) return;
  args.rows = -1;
  list.push_back({.call = args, .refused = true});
}

template <class Args>
void AddShapes(CaseList& list, Sweep sweep) {
  AddShapes<Args>(list, sweep, [](Args&, OpCase&, std::int64_t) {});
}

// Counts of an op on a run of values, none among them. change(args, turn) sets what else matters.
template <class Args, class Change>
void AddCounts(CaseList& list, Sweep sweep, Change change) {
  Args args;
  std::int64_t turn = 0;
  const auto add = [&](std::int64_t count) {
    for (const bool in_place : {false, true}) {
      args.count = count;
      change(args, turn++);
      list.push_back({.call = args, .in_place = in_place});
    }
  };
  if (sweep == Sweep::kSpeed) return add(1 << 20);
  add(0);
  for (const std::int64_t size : SizesOf(sweep)) add(size);
  args.count = -1;
  list.push_back({.call = args, .refused = true});
}

template <class Args>
void AddCounts(CaseList& list, Sweep sweep) {
  AddCounts<Args>(list, sweep, [](Args&, std::int64_t) {});
}

// A case that no kernel may take.
template <class Args>
void AddRefused(CaseList& list, Sweep sweep, const Args& args) {
  if (sweep == Sweep::kEveryShape) list.push_back({.call = args, .refused = true});
}

}  // namespace vt
