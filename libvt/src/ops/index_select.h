#pragma once

#include <cstdint>

#include "ops/attention.h"
#include "ops/types.h"

namespace vt {

// The sparse attention's choice of positions (DeepSeek-V3.2's indexer):
//   I[p] = sum over g of weights[r, g] * max(0, q[r, g] . k[p])
// for the positions of row[r]; the `top` largest are kept; of more equals than there is room for,
// those that std::partial_sort over the scores keeps. selected[r] then lists their cells in order
// of position, and sparse[r] = {selected + r * top, 0, kept - 1}: an attention over it with
// page_cells 1 sees exactly them. scratch holds scratch_floats per part, at least the most
// positions of a row rounded up to a multiple of 16.
struct IndexSelectArgs {
  static constexpr const char* kOp = "index_select";
  const float* q = nullptr;           // [rows, heads, dim]
  const float* weights = nullptr;     // [rows, heads]
  KvCells k;                          // cells of dim values
  const AttentionRow* row = nullptr;  // [rows]
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t dim = 0;
  std::int64_t page_cells = 0;
  std::int64_t top = 0;
  float* scratch = nullptr;
  std::int64_t scratch_floats = 0;
  std::int32_t* selected = nullptr;  // [rows, top]
  AttentionRow* sparse = nullptr;    // [rows]
};

}  // namespace vt
