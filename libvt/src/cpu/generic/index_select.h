// The body of index_select over the 16-lane vector V.
//
// A row's scores go to scratch: dot products as vec16.h defines them, folded over the heads in
// their order with Fma. The threshold of the largest is then found digit by digit in counts of the
// scores' bits, three passes whatever `top` is; only where more scores are equal at the threshold
// than there is room for does a heap decide.
#pragma once

#include <cstdint>

#include "cpu/generic/attention_scores.h"
#include "cpu/generic/vectors.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

template <class V, class Cells>
void IndexScores(const IndexSelectArgs& args, std::int64_t r, float* scores) {
  using F = typename V::F;
  const AttentionRow& row = args.row[r];
  const float* q = args.q + r * args.heads * args.dim;
  const float* weights = args.weights + r * args.heads;
  constexpr int kHeads = 64;  // of one pass
  alignas(64) float dots[kHeads * kBlock];
  CellBlock block;
  block.head_bytes = static_cast<int>(Cells::Offset(args.dim));
  for (std::int64_t p = row.first; p <= row.last; p += kBlock, scores += kBlock) {
    FindCells(args.k, 0, args.page_cells, row, p, block);
    for (std::int64_t g = 0; g < args.heads; g += kHeads) {
      const std::int64_t left = args.heads - g;
      const int count = left < kHeads ? static_cast<int>(left) : kHeads;
      ScoreBlock<V, Cells>(q + g * args.dim, count, block, args.dim, dots, kBlock);
      ForVectors(block.count, [&](std::int64_t i, int n) {
        F sum = g == 0 ? V::Splat(0.0f) : LoadN<V>(scores + i, n);
        for (int h = 0; h < count; ++h) {
          const F dot = LoadN<V>(dots + h * kBlock + i, n);
          sum = V::Fma(V::Splat(weights[g + h]), V::Max(V::Splat(0.0f), dot), sum);
        }
        StoreN<V>(scores + i, sum, n);
      });
    }
  }
}

// Whole numbers in the order of the scores. -0 is 0; a NaN counts as -infinity.
VT_VEC_INLINE std::uint32_t KeyOf(float score) {
  const std::uint32_t bits = BitsOfFloat(score == score ? score + 0.0f : -__builtin_inff());
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// Of `count` scores the `top` largest are those whose key is above `key`, and the first `equal` of
// those with this key.
struct Threshold {
  std::uint32_t key;
  std::int64_t equal;
};

// top lies in [1, count].
inline Threshold FindThreshold(const float* scores, std::int64_t count, std::int64_t top) {
  struct Digit {
    int shift;
    std::uint32_t mask;
  };
  Threshold found{0, top};
  std::uint32_t known = 0;
  for (const Digit digit : {Digit{21, 2047}, {10, 2047}, {0, 1023}}) {
    std::int64_t counts[2048] = {};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint32_t key = KeyOf(scores[i]);
      if ((key & known) == found.key) ++counts[key >> digit.shift & digit.mask];
    }
    std::uint32_t d = digit.mask;
    for (; counts[d] < found.equal; --d) found.equal -= counts[d];
    found.key |= d << digit.shift;
    known |= digit.mask << digit.shift;
  }
  return found;
}

inline std::int64_t CountOf(std::uint32_t key, const float* scores, std::int64_t count) {
  std::int64_t same = 0;
  for (std::int64_t i = 0; i < count; ++i) same += KeyOf(scores[i]) == key ? 1 : 0;
  return same;
}

// A heap of the indices of the largest scores so far, the smallest on top: every parent is no
// larger than its children. Of equal scores it keeps those that the standard library's partial_sort
// keeps.
class BestHeap {
 public:
  BestHeap(const float* scores, std::int32_t* heap, std::int64_t size)
      : scores_(scores), heap_(heap), size_(size) {}

  // Takes the `size` best of the indices [0, count), in no order.
  void Select(std::int64_t count) {
    for (std::int64_t i = 0; i < size_; ++i) heap_[i] = static_cast<std::int32_t>(i);
    for (std::int64_t i = (size_ - 2) / 2; size_ > 1 && i >= 0; --i) Settle(i, heap_[i]);
    for (std::int64_t i = size_; i < count; ++i) {
      const auto next = static_cast<std::int32_t>(i);
      if (Better(next, heap_[0])) Settle(0, next);
    }
  }

 private:
  bool Better(std::int32_t a, std::int32_t b) const {
    return KeyOf(scores_[a]) > KeyOf(scores_[b]);
  }

  // Puts `value` into the subtree of `top`, whose root is free: the free place sinks to a leaf
  // along the worse child, and the value rises from there.
  void Settle(std::int64_t top, std::int32_t value) {
    std::int64_t place = top;
    for (std::int64_t child = 2 * place + 2; child <= size_; child = 2 * place + 2) {
      if (child == size_ || Better(heap_[child], heap_[child - 1])) --child;
      heap_[place] = heap_[child];
      place = child;
    }
    while (place > top && Better(heap_[(place - 1) / 2], value)) {
      heap_[place] = heap_[(place - 1) / 2];
      place = (place - 1) / 2;
    }
    heap_[place] = value;
  }

  const float* scores_;
  std::int32_t* heap_;
  std::int64_t size_;
};

// Scores become 1 where BestHeap keeps them, else 0. `heap` has room for `top`.
inline void MarkByHeap(float* scores, std::int64_t visible, std::int32_t* heap, std::int64_t top) {
  BestHeap(scores, heap, top).Select(visible);
  for (std::int64_t i = 0; i < visible; ++i) scores[i] = 0.0f;
  for (std::int64_t i = 0; i < top; ++i) scores[heap[i]] = 1.0f;
}

template <class V>
void IndexSelectRow(const IndexSelectArgs& args, std::int64_t r, float* scores) {
  const AttentionRow& row = args.row[r];
  const std::int64_t visible = row.last - row.first + 1;
  std::int32_t* selected = args.selected + r * args.top;
  const bool all = visible <= args.top;
  Threshold least{0, visible};
  if (!all) {
    WithCells<V>(args.k.type,
                 [&](auto cells) { IndexScores<V, decltype(cells)>(args, r, scores); });
    least = FindThreshold(scores, visible, args.top);
    if (CountOf(least.key, scores, visible) > least.equal) {
      MarkByHeap(scores, visible, selected, args.top);
      least = {KeyOf(1.0f), args.top};
    }
  }
  std::int64_t kept = 0;
  std::int64_t page = row.first / args.page_cells, in_page = row.first % args.page_cells;
  for (std::int64_t i = 0; i < visible; ++i) {
    bool take = all;
    if (!all) {
      const std::uint32_t key = KeyOf(scores[i]);
      take = key > least.key || (key == least.key && least.equal-- > 0);
    }
    if (take) {
      selected[kept++] = static_cast<std::int32_t>(row.pages[page] * args.page_cells + in_page);
    }
    if (++in_page == args.page_cells) {
      in_page = 0;
      ++page;
    }
  }
  args.sparse[r] = {selected, 0, static_cast<std::int32_t>(kept - 1)};
}

// Later rows of a prompt see more, so rows are dealt out in turn.
template <class V>
void IndexSelect(const IndexSelectArgs& args, Part part) {
  float* scores = args.scratch + part.index * args.scratch_floats;
  for (std::int64_t r = part.index; r < args.rows; r += part.count) {
    IndexSelectRow<V>(args, r, scores);
  }
}

}  // namespace
}  // namespace vt
