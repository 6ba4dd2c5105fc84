#pragma once

#include <cstdint>

namespace vt {

// cos and sin of every rotary pair: table[r, 0, i] = cos(positions[r] * inv_freq[i]) * magnitude,
// table[r, 1, i] the sine. Computed in double, stored in f32.
struct RopeTableArgs {
  static constexpr const char* kOp = "rope_table";
  const std::int32_t* positions = nullptr;  // [rows]
  const double* inv_freq = nullptr;         // [pairs]
  std::int64_t rows = 0;
  std::int64_t pairs = 0;
  double magnitude = 1.0;
  float* table = nullptr;  // [rows, 2, pairs]
};

}  // namespace vt
