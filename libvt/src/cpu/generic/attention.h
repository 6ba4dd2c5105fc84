// The body of attention over the 16-lane vector V.
//
// One pass serves the query heads of one row that share a key head: scores of all positions into
// scratch, softmax there, then the weighted sum of values straight into the output. Cells are
// visited a block at a time, so that a block stays in the nearest cache while every head uses it.
//
// The order of additions is fixed by position and dimension alone. A score is a dot product as
// vec16.h defines it. The sum of exponentials adds position p in lane (p - first) % 16. A value
// dimension adds its positions in order, with Fma, and is multiplied by 1 / sum at the end.
#pragma once

#include <cstdint>

#include "cpu/elementwise.h"
#include "cpu/generic/vec_math.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

// How 16 values of a head are read from its place in a cell. LoadPartial takes the first n.
template <class V>
struct F32Cells {
  static std::int64_t Offset(std::int64_t dim) { return dim * 4; }
  VT_VEC_INLINE typename V::F Load(const char* head, std::int64_t dim) {
    return V::Load(reinterpret_cast<const float*>(head) + dim);
  }
  VT_VEC_INLINE typename V::F LoadPartial(const char* head, std::int64_t dim, int n) {
    return V::LoadPartial(reinterpret_cast<const float*>(head) + dim, n);
  }
};
template <class V>
struct F16Cells {
  static std::int64_t Offset(std::int64_t dim) { return dim * 2; }
  VT_VEC_INLINE typename V::F Load(const char* head, std::int64_t dim) {
    return V::LoadF16(reinterpret_cast<const std::uint16_t*>(head) + dim);
  }
  VT_VEC_INLINE typename V::F LoadPartial(const char* head, std::int64_t dim, int n) {
    return V::LoadF16Partial(reinterpret_cast<const std::uint16_t*>(head) + dim, n);
  }
};
template <class V>
struct Bf16Cells {
  static std::int64_t Offset(std::int64_t dim) { return dim * 2; }
  VT_VEC_INLINE typename V::F Load(const char* head, std::int64_t dim) {
    return V::LoadBf16(reinterpret_cast<const std::uint16_t*>(head) + dim);
  }
  VT_VEC_INLINE typename V::F LoadPartial(const char* head, std::int64_t dim, int n) {
    return V::LoadBf16Partial(reinterpret_cast<const std::uint16_t*>(head) + dim, n);
  }
};
template <class V>
struct Q8Cells {
  static std::int64_t Offset(std::int64_t dim) { return dim / 32 * kQ8BlockBytes; }
  VT_VEC_INLINE typename V::F Load(const char* head, std::int64_t dim) {
    const char* block = head + Offset(dim);
    const float scale = V::HalfToFloat(*reinterpret_cast<const std::uint16_t*>(block));
    const auto* values = reinterpret_cast<const std::int8_t*>(block + 2 + dim % 32);
    return V::Mul(V::LoadI8(values), V::Splat(scale));
  }
  // Never called: dimensions are a multiple of 32.
  VT_VEC_INLINE typename V::F LoadPartial(const char* head, std::int64_t dim, int n) {
    return V::FirstLanes(Load(head, dim), n);
  }
};

// Positions per block: 64 cells of 128 half-precision values fill half of a 32 KiB cache.
inline constexpr int kBlock = 64;
// Cells fetched ahead of use. A head's part of a cell is small and far from the next, a pattern
// that processors do not foresee where cells are large (8 heads of 128 halves: twice as fast with
// this).
inline constexpr int kAhead = 8;
inline constexpr int kMaxHeads = 4;   // of one tile
inline constexpr int kMaxGroup = 16;  // of one pass

// The places of one key head in the cells of positions begin .. begin + count, and of the next
// kAhead, as far as there are any (the last again where there are none).
struct CellBlock {
  const char* head[kBlock + kAhead];
  int count = 0;
  int head_bytes = 0;

  void Fetch(int cell) const {
    for (int i = 0; i < head_bytes; i += 64) __builtin_prefetch(head[cell + kAhead] + i);
  }
};

inline void FindCells(const KvCells& cells, std::int64_t offset, const AttentionArgs& args,
                      const AttentionRow& row, std::int64_t begin, CellBlock& block) {
  const std::int64_t left = row.last + 1 - begin;
  block.count = left < kBlock ? static_cast<int>(left) : kBlock;
  std::int64_t page = begin / args.page_cells;
  std::int64_t in_page = begin % args.page_cells;
  const int wanted = left < kBlock + kAhead ? static_cast<int>(left) : kBlock + kAhead;
  for (int i = 0; i < wanted; ++i) {
    const std::int64_t cell = row.pages[page] * args.page_cells + in_page;
    block.head[i] = static_cast<const char*>(cells.data) + cell * cells.cell_bytes + offset;
    if (++in_page == args.page_cells) {
      in_page = 0;
      ++page;
    }
  }
  for (int i = wanted; i < block.count + kAhead; ++i) block.head[i] = block.head[wanted - 1];
}

// scores[h * stride + c] = q[h] . cell[c] for a tile of heads and cells.
template <class V, class Cells, int kHeads, int kCells>
VT_VEC_INLINE void ScoreTile(const float* q, const char* const* cell, std::int64_t dim,
                             float* scores, std::int64_t stride) {
  using F = typename V::F;
  F acc[kHeads][kCells];
  for (int h = 0; h < kHeads; ++h) {
    for (int c = 0; c < kCells; ++c) acc[h][c] = V::Splat(0.0f);
  }
  std::int64_t d = 0;
  for (; d + kLanes <= dim; d += kLanes) {
    for (int c = 0; c < kCells; ++c) {
      const F k = Cells::Load(cell[c], d);
      for (int h = 0; h < kHeads; ++h) {
        acc[h][c] = V::Fma(V::Load(q + h * dim + d), k, acc[h][c]);
      }
    }
  }
  if (d < dim) {
    const int n = static_cast<int>(dim - d);
    for (int c = 0; c < kCells; ++c) {
      const F k = Cells::LoadPartial(cell[c], d, n);
      for (int h = 0; h < kHeads; ++h) {
        acc[h][c] = V::Fma(V::LoadPartial(q + h * dim + d, n), k, acc[h][c]);
      }
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    float* out = scores + h * stride;
    if constexpr (kCells == 4) {
      V::ReduceAdd4(acc[h][0], acc[h][1], acc[h][2], acc[h][3], out);
    } else {
      for (int c = 0; c < kCells; ++c) out[c] = V::ReduceAdd(acc[h][c]);
    }
  }
}

template <class V, class Cells, int kHeads>
void ScoreHeads(const float* q, const CellBlock& block, std::int64_t dim, float* scores,
                std::int64_t stride, bool fetch) {
  constexpr int kFit = V::kAccumulators / kHeads;
  constexpr int kCells = kFit >= 4 ? 4 : kFit >= 2 ? 2 : 1;
  int c = 0;
  for (; c + kCells <= block.count; c += kCells) {
    if (fetch) {
      for (int i = 0; i < kCells; ++i) block.Fetch(c + i);
    }
    ScoreTile<V, Cells, kHeads, kCells>(q, block.head + c, dim, scores + c, stride);
  }
  for (; c < block.count; ++c) {
    ScoreTile<V, Cells, kHeads, 1>(q, block.head + c, dim, scores + c, stride);
  }
}

// out[h * dim + d] += sum over the block's cells of weights[h * stride + c] * cell[c][d], for a
// tile of heads and kVectors vectors of dimensions; n is the lanes used of the last.
template <class V, class Cells, int kHeads, int kVectors>
VT_VEC_INLINE void ValueTile(const CellBlock& block, std::int64_t dim, std::int64_t d, int n,
                             const float* weights, std::int64_t stride, float* out, bool fetch) {
  using F = typename V::F;
  F acc[kHeads][kVectors];
  for (int h = 0; h < kHeads; ++h) {
    for (int v = 0; v < kVectors; ++v) {
      const float* p = out + h * dim + d + v * kLanes;
      acc[h][v] = n == kLanes ? V::Load(p) : V::LoadPartial(p, n);
    }
  }
  for (int c = 0; c < block.count; ++c) {
    if (fetch) block.Fetch(c);
    F value[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      value[v] = n == kLanes ? Cells::Load(block.head[c], d + v * kLanes)
                             : Cells::LoadPartial(block.head[c], d + v * kLanes, n);
    }
    for (int h = 0; h < kHeads; ++h) {
      const F w = V::Splat(weights[h * stride + c]);
      for (int v = 0; v < kVectors; ++v) acc[h][v] = V::Fma(w, value[v], acc[h][v]);
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    for (int v = 0; v < kVectors; ++v) {
      float* p = out + h * dim + d + v * kLanes;
      if (n == kLanes) {
        V::Store(p, acc[h][v]);
      } else {
        V::StorePartial(p, acc[h][v], n);
      }
    }
  }
}

template <class V, class Cells, int kHeads>
void ValueHeads(const CellBlock& block, std::int64_t dim, const float* weights, std::int64_t stride,
                float* out, bool fetch) {
  constexpr int kFit = V::kAccumulators / kHeads;
  constexpr int kVectors = kFit >= 4 ? 4 : kFit >= 2 ? 2 : 1;
  std::int64_t d = 0;
  for (; d + kVectors * kLanes <= dim; d += kVectors * kLanes) {
    ValueTile<V, Cells, kHeads, kVectors>(block, dim, d, kLanes, weights, stride, out,
                                          fetch && d == 0);
  }
  for (; d + kLanes <= dim; d += kLanes) {
    ValueTile<V, Cells, kHeads, 1>(block, dim, d, kLanes, weights, stride, out, fetch && d == 0);
  }
  if (d < dim) {
    const int n = static_cast<int>(dim - d);
    ValueTile<V, Cells, kHeads, 1>(block, dim, d, n, weights, stride, out, fetch && d == 0);
  }
}

// Query heads of one row that share a key head, and their scratch.
struct HeadGroup {
  const AttentionRow* row;
  std::int64_t row_index;
  std::int64_t first_head;
  int heads;
  std::int64_t stride;  // of scratch, from head to head: the positions rounded up to 16
  float* scratch;
};

template <class V, class Cells>
void Scores(const AttentionArgs& args, const HeadGroup& group) {
  const std::int64_t kv_head = group.first_head / (args.heads / args.kv_heads);
  const std::int64_t offset = Cells::Offset(kv_head * args.key_dim);
  const float* q = args.q + (group.row_index * args.heads + group.first_head) * args.key_dim;
  CellBlock block;
  block.head_bytes = static_cast<int>(Cells::Offset(args.key_dim));
  for (std::int64_t p = group.row->first; p <= group.row->last; p += kBlock) {
    FindCells(args.k, offset, args, *group.row, p, block);
    float* scores = group.scratch + (p - group.row->first);
    for (int h = 0; h < group.heads;) {
      const float* head_q = q + h * args.key_dim;
      float* out = scores + h * group.stride;
      const int left = group.heads - h;
      switch (left < kMaxHeads ? left : kMaxHeads) {
        case 1:
          ScoreHeads<V, Cells, 1>(head_q, block, args.key_dim, out, group.stride, h == 0);
          break;
        case 2:
          ScoreHeads<V, Cells, 2>(head_q, block, args.key_dim, out, group.stride, h == 0);
          break;
        case 3:
          ScoreHeads<V, Cells, 3>(head_q, block, args.key_dim, out, group.stride, h == 0);
          break;
        default:
          ScoreHeads<V, Cells, 4>(head_q, block, args.key_dim, out, group.stride, h == 0);
      }
      h += kMaxHeads;
    }
  }
}

template <class V, class Cells>
void Values(const AttentionArgs& args, const HeadGroup& group) {
  const std::int64_t kv_head = group.first_head / (args.heads / args.kv_heads);
  const std::int64_t offset = Cells::Offset(kv_head * args.value_dim);
  float* result = args.out + (group.row_index * args.heads + group.first_head) * args.value_dim;
  for (std::int64_t i = 0; i < group.heads * args.value_dim; ++i) result[i] = 0.0f;
  CellBlock block;
  block.head_bytes = static_cast<int>(Cells::Offset(args.value_dim));
  for (std::int64_t p = group.row->first; p <= group.row->last; p += kBlock) {
    FindCells(args.v, offset, args, *group.row, p, block);
    const float* weights = group.scratch + (p - group.row->first);
    for (int h = 0; h < group.heads;) {
      const float* head_weights = weights + h * group.stride;
      float* out = result + h * args.value_dim;
      const int left = group.heads - h;
      switch (left < kMaxHeads ? left : kMaxHeads) {
        case 1:
          ValueHeads<V, Cells, 1>(block, args.value_dim, head_weights, group.stride, out, h == 0);
          break;
        case 2:
          ValueHeads<V, Cells, 2>(block, args.value_dim, head_weights, group.stride, out, h == 0);
          break;
        case 3:
          ValueHeads<V, Cells, 3>(block, args.value_dim, head_weights, group.stride, out, h == 0);
          break;
        default:
          ValueHeads<V, Cells, 4>(block, args.value_dim, head_weights, group.stride, out, h == 0);
      }
      h += kMaxHeads;
    }
  }
}

// Scores of one head to exponentials, in place; returns their sum. A NaN among the scores reaches
// the sum whatever the maximum then is.
template <class V>
float Exponentials(const AttentionArgs& args, float* scores, std::int64_t positions,
                   std::int64_t padded) {
  using F = typename V::F;
  // The padding takes no part: exp(-inf) is 0.
  const float minus_infinity = -__builtin_inff();
  const F scale = V::Splat(args.scale), cap = V::Splat(args.softcap);
  F most = V::Splat(minus_infinity);
  for (std::int64_t i = 0; i < padded; i += kLanes) {
    if (i + kLanes > positions) {
      for (std::int64_t j = positions; j < padded; ++j) scores[j] = 0.0f;
    }
    F s = V::Mul(V::Load(scores + i), scale);
    if (args.softcap != 0.0f) s = V::Mul(cap, Tanh<V>(V::Div(s, cap)));
    V::Store(scores + i, s);
    if (i + kLanes > positions) {
      for (std::int64_t j = positions; j < padded; ++j) scores[j] = minus_infinity;
      s = V::Load(scores + i);
    }
    most = V::Max(most, s);
  }
  const F max = V::Splat(V::ReduceMax(most));
  F sum = V::Splat(0.0f);
  for (std::int64_t i = 0; i < padded; i += kLanes) {
    const F e = Exp<V>(V::Sub(V::Load(scores + i), max));
    V::Store(scores + i, e);
    sum = V::Add(sum, e);
  }
  return V::ReduceAdd(sum);
}

template <class V>
void AttendGroup(const AttentionArgs& args, const HeadGroup& group) {
  switch (args.k.type) {
    case DType::kF32:
      Scores<V, F32Cells<V>>(args, group);
      break;
    case DType::kF16:
      Scores<V, F16Cells<V>>(args, group);
      break;
    case DType::kBF16:
      Scores<V, Bf16Cells<V>>(args, group);
      break;
    default:
      Scores<V, Q8Cells<V>>(args, group);
  }
  const std::int64_t positions = group.row->last - group.row->first + 1;
  float inverse[kMaxGroup];
  for (int h = 0; h < group.heads; ++h) {
    inverse[h] =
        1.0f / Exponentials<V>(args, group.scratch + h * group.stride, positions, group.stride);
  }
  switch (args.v.type) {
    case DType::kF32:
      Values<V, F32Cells<V>>(args, group);
      break;
    case DType::kF16:
      Values<V, F16Cells<V>>(args, group);
      break;
    case DType::kBF16:
      Values<V, Bf16Cells<V>>(args, group);
      break;
    default:
      Values<V, Q8Cells<V>>(args, group);
  }
  float* out = args.out + (group.row_index * args.heads + group.first_head) * args.value_dim;
  for (int h = 0; h < group.heads; ++h) {
    for (std::int64_t d = 0; d < args.value_dim; ++d) out[d] *= inverse[h];
    out += args.value_dim;
  }
}

template <class V>
void Attention(const AttentionArgs& args, Part part) {
  const std::int64_t per_kv_head = args.heads / args.kv_heads;
  float* scratch = args.scratch + part.index * args.scratch_floats;
  const Range items = Share(args.rows * args.heads, part);
  for (std::int64_t item = items.begin; item < items.end;) {
    HeadGroup group;
    group.row_index = item / args.heads;
    group.row = args.row + group.row_index;
    group.first_head = item % args.heads;
    group.scratch = scratch;
    group.stride = (group.row->last - group.row->first + kLanes) / kLanes * kLanes;
    // To the end of the heads that share the key head, of this part, and of the scratch.
    std::int64_t heads = per_kv_head - group.first_head % per_kv_head;
    if (heads > items.end - item) heads = items.end - item;
    if (heads > args.scratch_floats / group.stride) heads = args.scratch_floats / group.stride;
    if (heads > kMaxGroup) heads = kMaxGroup;
    group.heads = static_cast<int>(heads);
    AttendGroup<V>(args, group);
    item += heads;
  }
}

}  // namespace
}  // namespace vt
