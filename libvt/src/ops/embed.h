#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// out[r, :] = table[ids[r], :] * scale
struct EmbedArgs {
  static constexpr const char* kOp = "embed";
  Weight table;                       // any type of matmul's, and f8_e4m3 with scales
  const std::int32_t* ids = nullptr;  // [rows], each in [0, table.rows)
  std::int64_t rows = 0;
  float scale = 1.0f;
  float* out = nullptr;  // [rows, table.cols]
};

}  // namespace vt
