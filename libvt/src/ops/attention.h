#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// Where one query row finds its keys: positions first..last (inclusive) of one sequence. Position p
// lives in cell pages[p / page_cells] * page_cells + p % page_cells.
struct AttentionRow {
  const std::int32_t* pages = nullptr;
  std::int32_t first = 0;
  std::int32_t last = 0;
};

// out[r, h] = sum_p softmax_p(softcap(scale * q[r, h] . k[p, h'])) v[p, h'], h' = h / (heads /
// kv_heads). softcap 0 is none; sinks add exp(sinks[h]) to the softmax's sum and nothing to its
// values; an infinite or NaN score makes the row's result NaN. scratch holds scratch_floats per
// part: at least the most positions of a row rounded up to a multiple of 16; AttentionScratchFloats
// lets the heads that share a key head be done in one pass over the cells.
struct AttentionArgs {
  static constexpr const char* kOp = "attention";
  const float* q = nullptr;  // [rows, heads, key_dim]
  KvCells k;
  KvCells v;
  const AttentionRow* row = nullptr;  // [rows]
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t page_cells = 0;
  float scale = 1.0f;
  float softcap = 0.0f;
  const float* sinks = nullptr;  // [heads] or null
  float* scratch = nullptr;
  std::int64_t scratch_floats = 0;
  float* out = nullptr;  // [rows, heads, value_dim]
};

// The scratch of one part that serves rows of up to `positions` positions best.
constexpr std::int64_t AttentionScratchFloats(std::int64_t heads, std::int64_t kv_heads,
                                              std::int64_t positions) {
  constexpr std::int64_t kMostHeads = 32;
  const std::int64_t group = heads / kv_heads;
  return (group < kMostHeads ? group : kMostHeads) * ((positions + 15) / 16 * 16);
}

}  // namespace vt
