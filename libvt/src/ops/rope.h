#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// Rotates the first 2 * pairs values of each head in place: (a, b) -> (a cos - b sin, a sin + b
// cos). half: a = x[i], b = x[i + pairs]; interleaved: a = x[2i], b = x[2i + 1].
struct RopeArgs {
  static constexpr const char* kOp = "rope";
  float* x = nullptr;            // [rows, heads, head_dim]
  const float* table = nullptr;  // [rows, 2, pairs]
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t pairs = 0;
  RopeLayout layout = RopeLayout::kHalf;
  std::int64_t stride = 0;  // floats from a row of heads to the next; 0: heads * head_dim
};

}  // namespace vt
