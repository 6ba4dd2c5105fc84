// The body of attention over the 16-lane vector V.
//
// One pass serves the query heads of one row that share a key head: scores of all positions into
// scratch, softmax there, then the weighted sum of values straight into the output. Cells are
// visited a block at a time, so that a block stays in the nearest cache while every head uses it.
//
// The order of additions is fixed by position and dimension alone. A score is a dot product as
// vec16.h defines it. The sum of exponentials adds position p in lane (p - first) % 16. A value
// dimension adds its positions in order, with Fma, and is multiplied by 1 / sum at the end. A
// sink's exponential is added to the sum last.
#pragma once

#include <cstdint>

#include "cpu/generic/attention_scores.h"
#include "cpu/generic/vec_math.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

// out[h * out_stride + d] += sum over the block's cells of weights[h * stride + c] * cell[c][d],
// for a tile of heads and kVectors vectors of dimensions; n is the lanes used of the last.
template <class V, class Cells, int kHeads, int kVectors>
VT_VEC_INLINE void ValueTile(const CellBlock& block, std::int64_t d, int n, const float* weights,
                             std::int64_t stride, float* out, std::int64_t out_stride, bool fetch) {
  using F = typename V::F;
  F acc[kHeads][kVectors];
  for (int h = 0; h < kHeads; ++h) {
    for (int v = 0; v < kVectors; ++v) {
      const float* p = out + h * out_stride + d + v * kLanes;
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
      float* p = out + h * out_stride + d + v * kLanes;
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
                float* out, std::int64_t out_stride, bool fetch) {
  constexpr int kFit = V::kAccumulators / kHeads;
  constexpr int kVectors = kFit >= 4 ? 4 : kFit >= 2 ? 2 : 1;
  std::int64_t d = 0;
  for (; d + kVectors * kLanes <= dim; d += kVectors * kLanes) {
    ValueTile<V, Cells, kHeads, kVectors>(block, d, kLanes, weights, stride, out, out_stride,
                                          fetch && d == 0);
  }
  for (; d + kLanes <= dim; d += kLanes) {
    ValueTile<V, Cells, kHeads, 1>(block, d, kLanes, weights, stride, out, out_stride,
                                   fetch && d == 0);
  }
  if (d < dim) {
    const int n = static_cast<int>(dim - d);
    ValueTile<V, Cells, kHeads, 1>(block, d, n, weights, stride, out, out_stride, fetch && d == 0);
  }
}

// The same for all heads and dimensions. As in ScoreBlock cells are decoded once for many heads, 64
// dimensions at a time.
template <class V, class Cells>
void ValueBlock(const CellBlock& block, std::int64_t dim, int heads, const float* weights,
                std::int64_t stride, float* out) {
  constexpr int kSlice = 64;
  if (Cells::kIsF32 || heads < kManyHeads) {
    ForHeadTiles(heads, [&](auto tile, int h) {
      ValueHeads<V, Cells, decltype(tile)::value>(block, dim, weights + h * stride, stride,
                                                  out + h * dim, dim, h == 0);
    });
    return;
  }
  alignas(64) float decoded[kBlock * kSlice];
  CellBlock slice;
  slice.count = block.count;
  for (int c = 0; c < block.count; ++c) {
    slice.head[c] = reinterpret_cast<const char*>(decoded + c * kSlice);
  }
  for (std::int64_t d = 0; d < dim; d += kSlice) {
    const std::int64_t width = dim - d < kSlice ? dim - d : kSlice;
    for (int c = 0; c < block.count; ++c) {
      if (d == 0) block.Fetch(c);
      DecodeCell<V, Cells>(block.head[c], d, width, decoded + c * kSlice);
    }
    ForHeadTiles(heads, [&](auto tile, int h) {
      ValueHeads<V, F32Cells<V>, decltype(tile)::value>(slice, width, weights + h * stride, stride,
                                                        out + h * dim + d, dim, false);
    });
  }
}

// Query heads of one row that share a key head, and their scratch.
struct HeadGroup {
  AttentionRow row;
  std::int64_t positions;
  std::int64_t kv_head;
  int heads;
  const float* q;       // of the first head
  const float* sinks;   // of the first head, or null
  float* out;           // of the first head
  float* scratch;       // [heads, stride]
  std::int64_t stride;  // the positions rounded up to 16
};

template <class V, class Cells>
void Scores(const AttentionArgs& args, const HeadGroup& group) {
  const std::int64_t offset = Cells::Offset(group.kv_head * args.key_dim);
  CellBlock block;
  block.head_bytes = static_cast<int>(Cells::Offset(args.key_dim));
  for (std::int64_t p = 0; p < group.positions; p += kBlock) {
    FindCells(args.k, offset, args.page_cells, group.row, group.row.first + p, block);
    ScoreBlock<V, Cells>(group.q, group.heads, block, args.key_dim, group.scratch + p,
                         group.stride);
  }
}

template <class V, class Cells>
void Values(const AttentionArgs& args, const HeadGroup& group) {
  const std::int64_t offset = Cells::Offset(group.kv_head * args.value_dim);
  for (std::int64_t i = 0; i < group.heads * args.value_dim; ++i) group.out[i] = 0.0f;
  CellBlock block;
  block.head_bytes = static_cast<int>(Cells::Offset(args.value_dim));
  for (std::int64_t p = 0; p < group.positions; p += kBlock) {
    FindCells(args.v, offset, args.page_cells, group.row, group.row.first + p, block);
    ValueBlock<V, Cells>(block, args.value_dim, group.heads, group.scratch + p, group.stride,
                         group.out);
  }
}

template <class V>
float ExpOfOne(float x) {
  float lanes[kLanes];
  V::Store(lanes, Exp<V>(V::Splat(x)));
  return lanes[0];
}

// Scores of one head to exponentials, in place; returns their sum, with that of the head's sink if
// it has one. A NaN among the scores reaches the sum whatever the maximum then is.
template <class V>
float Exponentials(const AttentionArgs& args, float* scores, std::int64_t positions,
                   std::int64_t padded, const float* sink) {
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
  float largest = V::ReduceMax(most);
  if (sink && !(largest > *sink)) largest = *sink;
  const F max = V::Splat(largest);
  F sum = V::Splat(0.0f);
  for (std::int64_t i = 0; i < padded; i += kLanes) {
    const F e = Exp<V>(V::Sub(V::Load(scores + i), max));
    V::Store(scores + i, e);
    sum = V::Add(sum, e);
  }
  const float total = V::ReduceAdd(sum);
  return sink ? total + ExpOfOne<V>(*sink - largest) : total;
}

template <class V>
void AttendGroup(const AttentionArgs& args, const HeadGroup& group) {
  WithCells<V>(args.k.type, [&](auto cells) { Scores<V, decltype(cells)>(args, group); });
  float inverse[kMaxGroup];
  for (int h = 0; h < group.heads; ++h) {
    float* scores = group.scratch + h * group.stride;
    const float* sink = group.sinks ? group.sinks + h : nullptr;
    inverse[h] = 1.0f / Exponentials<V>(args, scores, group.positions, group.stride, sink);
  }
  WithCells<V>(args.v.type, [&](auto cells) { Values<V, decltype(cells)>(args, group); });
  for (int h = 0; h < group.heads; ++h) {
    float* out = group.out + h * args.value_dim;
    for (std::int64_t d = 0; d < args.value_dim; ++d) out[d] *= inverse[h];
  }
}

// `heads` query heads of a row from head `head` on, all of one key head, as many in a pass as the
// scratch holds.
template <class V>
void AttendHeads(const AttentionArgs& args, Part part, std::int64_t row, std::int64_t head,
                 std::int64_t heads) {
  HeadGroup group;
  group.row = args.row[row];
  group.positions = group.row.last - group.row.first + 1;
  group.stride = (group.positions + kLanes - 1) / kLanes * kLanes;
  group.scratch = args.scratch + part.index * args.scratch_floats;
  group.kv_head = head / (args.heads / args.kv_heads);
  const std::int64_t fit = args.scratch_floats / group.stride;
  const std::int64_t most = fit < kMaxGroup ? fit : kMaxGroup;
  for (std::int64_t end = head + heads; head < end; head += group.heads) {
    group.heads = static_cast<int>(end - head < most ? end - head : most);
    group.q = args.q + (row * args.heads + head) * args.key_dim;
    group.sinks = args.sinks ? args.sinks + head : nullptr;
    group.out = args.out + (row * args.heads + head) * args.value_dim;
    AttendGroup<V>(args, group);
  }
}

// How the work is put in line: every item of row r costs positions(r). With few rows an item is one
// query head, rows outermost. With many it is all heads of one key head, key heads outermost, so
// that the rows of a prompt find the cells they share in the cache.
struct Line {
  std::int64_t outer;  // key heads, or 1
  std::int64_t inner;  // items of a row inside that: 1, or query heads
  std::int64_t cost;   // of one item of each row

  Line(const AttentionArgs& args, Part part) {
    const bool many = args.rows >= 8 * part.count;
    outer = many ? args.kv_heads : 1;
    inner = many ? 1 : args.heads;
    cost = 0;
    for (std::int64_t r = 0; r < args.rows; ++r) cost += args.row[r].last - args.row[r].first + 1;
  }

  // The item at which part `index` of `count` begins: parts cost the same, give or take an item.
  std::int64_t Begin(const AttentionArgs& args, std::int64_t index, std::int64_t count) const {
    const std::int64_t target = cost * outer * inner * index / count;
    if (index == count || cost == 0) return index == count ? outer * args.rows * inner : 0;
    std::int64_t rest = target % (cost * inner);
    for (std::int64_t r = 0;; ++r) {
      const std::int64_t positions = args.row[r].last - args.row[r].first + 1;
      if (rest < positions * inner) {
        return (target / (cost * inner) * args.rows + r) * inner + rest / positions;
      }
      rest -= positions * inner;
    }
  }
};

template <class V>
void Attention(const AttentionArgs& args, Part part) {
  const std::int64_t per_kv_head = args.heads / args.kv_heads;
  const Line line(args, part);
  const std::int64_t end = line.Begin(args, part.index + 1, part.count);
  for (std::int64_t item = line.Begin(args, part.index, part.count); item < end;) {
    if (line.inner == 1) {
      const std::int64_t kv_head = item / args.rows;
      AttendHeads<V>(args, part, item % args.rows, kv_head * per_kv_head, per_kv_head);
      ++item;
    } else {
      const std::int64_t head = item % args.heads;
      const std::int64_t shared = per_kv_head - head % per_kv_head;  // with this key head
      const std::int64_t heads = shared < end - item ? shared : end - item;
      AttendHeads<V>(args, part, item / args.heads, head, heads);
      item += heads;
    }
  }
}

}  // namespace
}  // namespace vt
