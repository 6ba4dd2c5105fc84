#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// cells[slots[r]] = x[r, :], converted (round to nearest even; q8_0 as the file format).
struct KvStoreArgs {
  static constexpr const char* kOp = "kv_store";
  const float* x = nullptr;             // [rows, cols]
  const std::int32_t* slots = nullptr;  // [rows], cell index
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  KvCells cells;
};

}  // namespace vt
