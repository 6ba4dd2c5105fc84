// Scores of query heads over the cells of one key head, and how heads are put in tiles.
//
// A score is a dot product as vec16.h defines it, whatever the tile.
#pragma once

#include <cstdint>

#include "cpu/generic/attention_cells.h"
#include "cpu/generic/vec16.h"

namespace vt {
namespace {

inline constexpr int kMaxHeads = 4;   // of one tile
inline constexpr int kMaxGroup = 32;  // of one pass
inline constexpr int kManyHeads = 9;  // for which cells are worth decoding once

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
  if constexpr (kHeads == 4 && kCells == 1) {
    float sums[4];
    V::ReduceAdd4(acc[0][0], acc[1][0], acc[2][0], acc[3][0], sums);
    for (int h = 0; h < 4; ++h) scores[h * stride] = sums[h];
    return;
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

// Calls fn(Heads<n>{}, h) for tiles of n heads from head h on, that cover `heads`.
template <int kCount>
struct Heads {
  static constexpr int value = kCount;
};
template <class Fn>
VT_VEC_INLINE void ForHeadTiles(int heads, Fn fn) {
  int h = 0;
  for (; h + kMaxHeads <= heads; h += kMaxHeads) fn(Heads<kMaxHeads>{}, h);
  switch (heads - h) {
    case 1:
      return fn(Heads<1>{}, h);
    case 2:
      return fn(Heads<2>{}, h);
    case 3:
      return fn(Heads<3>{}, h);
  }
}

// scores[h * stride + c] for all heads and the cells of a block. Where several tiles of heads use a
// cell it is decoded once, with as many others as stay in the nearest cache beside a tile's
// queries: to decode it in every tile takes half as long as the products themselves.
template <class V, class Cells>
void ScoreBlock(const float* q, int heads, const CellBlock& block, std::int64_t dim, float* scores,
                std::int64_t stride) {
  constexpr int kRoom = 8 * 576;
  const std::int64_t row = (dim + kLanes - 1) / kLanes * kLanes;
  const int fit = static_cast<int>(kRoom / row) / 4 * 4;
  if (Cells::kIsF32 || heads < kManyHeads || fit == 0) {
    ForHeadTiles(heads, [&](auto tile, int h) {
      ScoreHeads<V, Cells, decltype(tile)::value>(q + h * dim, block, dim, scores + h * stride,
                                                  stride, h == 0);
    });
    return;
  }
  alignas(64) float decoded[kRoom];
  CellBlock some;
  for (int c = 0; c < fit && c < kBlock; ++c) {
    some.head[c] = reinterpret_cast<const char*>(decoded + c * row);
  }
  for (int begin = 0; begin < block.count; begin += fit) {
    some.count = block.count - begin < fit ? block.count - begin : fit;
    for (int c = 0; c < some.count; ++c) {
      block.Fetch(begin + c);
      DecodeCell<V, Cells>(block.head[begin + c], 0, dim, decoded + c * row);
    }
    ForHeadTiles(heads, [&](auto tile, int h) {
      ScoreHeads<V, F32Cells<V>, decltype(tile)::value>(q + h * dim, some, dim,
                                                        scores + h * stride + begin, stride, false);
    });
  }
}

}  // namespace
}  // namespace vt
