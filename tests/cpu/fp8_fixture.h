// f8_e4m3 weights with scales, and what their bytes mean.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "cpu/matmul_fixture.h"

namespace vt::test {

// A code of OCP E4M3: sign, 4 exponent bits with bias 7, 3 mantissa bits; all ones is NaN.
inline double F8Value(std::uint8_t code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  if (exponent == 15 && mantissa == 7) return NAN;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return code & 0x80 ? -magnitude : magnitude;
}

// A scale for each block of 128 x 128, of matrices of so many rows each.
inline WeightScales Blocks128(std::int64_t matrix_rows) {
  return {.block_rows = 128, .block_cols = 128, .matrix_rows = matrix_rows};
}

// The block of each row (or column) from `first` on, counted one by one: blocks of `size`, which
// begin anew every `matrix` of them.
inline std::vector<std::int64_t> BlockOfEach(std::int64_t first, std::int64_t count,
                                             std::int64_t size, std::int64_t matrix) {
  std::vector<std::int64_t> blocks;
  std::int64_t block = -1, in_matrix = 0;
  for (std::int64_t r = 0; r < first + count; ++r) {
    if (matrix > 0 && r % matrix == 0) in_matrix = 0;
    if (in_matrix++ % size == 0) ++block;
    if (r >= first) blocks.push_back(block);
  }
  return blocks;
}

// A matrix in memory that faults when overrun; no NaN among its bytes. With scales by row, or for
// blocks as `blocks` says.
struct F8Matrix {
  F8Matrix(std::int64_t row_count, std::int64_t col_count, unsigned seed, WeightScales blocks = {})
      : shape(blocks),
        row_blocks(BlockOfEach(shape.first_row, row_count, shape.block_rows, shape.matrix_rows)),
        col_blocks(
            BlockOfEach(0, col_count, shape.block_cols > 0 ? shape.block_cols : col_count, 0)),
        codes(row_count * col_count),
        scales(row_count * col_count == 0 ? 0 : (row_blocks.back() + 1) * (col_blocks.back() + 1)),
        rows(row_count),
        cols(col_count) {
    Random random(seed);
    for (std::int64_t i = 0; i < codes.size(); ++i) {
      const auto code = static_cast<std::uint8_t>(random.Bits() >> 8);
      codes[i] = (code & 0x7f) == 0x7f ? 0x38 : code;
    }
    for (std::int64_t i = 0; i < scales.size(); ++i) scales[i] = random.Uniform(-0.01f, 0.02f);
  }
  Weight weight() const {
    Weight w{.type = DType::kF8_E4M3, .rows = rows, .cols = cols, .data = codes.data()};
    w.scales = shape;
    w.scales.values = scales.data();
    return w;
  }
  // w[n, k], rounded once, after its scale is multiplied in.
  float Value(std::int64_t n, std::int64_t k) const {
    const std::int64_t block = row_blocks[Size(n)] * (col_blocks.back() + 1) + col_blocks[Size(k)];
    return static_cast<float>(F8Value(codes[n * cols + k]) * double{scales[block]});
  }

  WeightScales shape;
  std::vector<std::int64_t> row_blocks, col_blocks;
  Paged<std::uint8_t> codes;
  Paged<float> scales;
  std::int64_t rows;
  std::int64_t cols;
};

}  // namespace vt::test
