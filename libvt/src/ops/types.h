// What the arguments of several ops are made of.
//
// Kernels compiled for one instruction set include this header, so nothing here may drag in inline
// library code.
#pragma once

#include <cstdint>

#include "vt/dtype.h"

namespace vt {

// The scales of an f8_e4m3 weight: one for each block of block_rows x block_cols of its values, and
// for what is left at the end of a matrix's rows and columns.
struct WeightScales {
  // [matrices, ceil(matrix_rows / block_rows), ceil(cols / block_cols)]
  const float* values = nullptr;
  std::int64_t block_rows = 1;
  std::int64_t block_cols = 0;   // 0: whole rows
  std::int64_t matrix_rows = 0;  // blocks begin anew every so many rows; 0: the scales are of one
  std::int64_t first_row = 0;    // of the weight, among the rows that the scales are of
};

// A matrix of the model file as a device holds it.
enum class WeightLayout : std::uint8_t { kRowMajor };
struct Weight {
  DType type = DType::kF32;
  WeightLayout layout = WeightLayout::kRowMajor;
  std::int64_t rows = 0;
  std::int64_t cols = 0;  // of a row, a whole number of blocks
  const void* data = nullptr;
  // With f8_e4m3 and nothing else: w[n, k] = f32(f8 value) * the scale of its block, rounded to
  // f32.
  WeightScales scales = {};
};

// Activations quantised to 15 bits: symmetric, one scale per 32 values, x[i] ~ q[i] * scale with q
// in [-16256, 16256], held as two signed digits: q = 128 * high + low, low in [-64, 64]. Dot
// products of each digit with small whole weights are exact in 32 bits, and so is their sum. sums
// holds the sum of the 32 q of each group.
inline constexpr std::int64_t kQ15Group = 32;
struct Q15Rows {
  std::int8_t* high = nullptr;   // [rows, cols]
  std::int8_t* low = nullptr;    // [rows, cols]
  float* scales = nullptr;       // [rows, cols / 32]
  std::int32_t* sums = nullptr;  // [rows, cols / 32]
};

// How a matmul takes its activations.
enum class ActType : std::uint8_t { kF32, kQ15 };

// Which values of a head make a rotary pair. half: x[i] and x[i + pairs]; interleaved: x[2i] and
// x[2i + 1].
enum class RopeLayout : std::uint8_t { kInterleaved, kHalf };

// One layer's keys or values: cells of heads * head_dim values, in pages of page_cells cells.
// type is f32, f16, bf16 or q8_0 (then heads * head_dim is a multiple of 32, and so is head_dim).
struct KvCells {
  DType type = DType::kF16;
  void* data = nullptr;  // cell c starts at data + c * cell_bytes
  std::int64_t cell_bytes = 0;
};

// The recurrent state that a row of a step reads and advances. Rows of a sequence follow each
// other.
struct StateRow {
  std::int32_t slot = 0;
  std::int32_t fresh = 0;  // 1: the sequence begins here
};

// silu(x) = x / (1 + exp(-x)); gelu(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)));
// relu(x) = max(0, x); relu_squared(x) = max(0, x)^2.
enum class Activation : std::uint8_t { kSilu, kGelu, kRelu, kReluSquared };

}  // namespace vt
