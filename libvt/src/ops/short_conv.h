#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

inline constexpr std::int64_t kMostConvTaps = 16;

// Causal convolution of each channel along its sequence, then silu where asked:
//   out[r, c] = bias[c] + sum over i < taps of w[c, i] * x[r - taps + 1 + i, c]
// Rows of one sequence follow each other; what came before a step's first row of a sequence is
// taken from its state, which afterwards holds the newest taps - 1 inputs, oldest first. A row
// whose StateRow is fresh begins its sequence: before it are zeros. States of slots that no row
// names stay as they are.
struct ShortConvArgs {
  static constexpr const char* kOp = "short_conv";
  const float* x = nullptr;       // [rows, channels]
  std::int64_t x_stride = 0;      // floats from a row to the next; 0: channels
  const float* w = nullptr;       // [channels, taps]
  const float* bias = nullptr;    // [channels] or null
  const StateRow* row = nullptr;  // [rows]
  std::int64_t rows = 0;
  std::int64_t channels = 0;
  std::int64_t taps = 0;  // 2 to kMostConvTaps
  bool silu = false;
  float* state = nullptr;  // [slots, taps - 1, channels]
  float* out = nullptr;    // [rows, channels], does not overlap x
};

}  // namespace vt
