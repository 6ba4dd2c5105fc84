// Rows of f8_e4m3 weights as f32 times their scales, a body over the 16-lane vector.
#pragma once

#include <cstdint>

#include "cpu/generic/vectors.h"
#include "cpu/matmul.h"

namespace vt {
namespace {

VT_VEC_INLINE std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The scales of row n of w, one for each block of columns.
VT_VEC_INLINE const float* ScalesOfRow(const Weight& w, std::int64_t n) {
  const WeightScales& s = w.scales;
  std::int64_t row = s.first_row + n, blocks_before = 0;
  if (s.matrix_rows > 0) {
    blocks_before = row / s.matrix_rows * CeilDiv(s.matrix_rows, s.block_rows);
    row %= s.matrix_rows;
  }
  const std::int64_t of_row = s.block_cols > 0 ? CeilDiv(w.cols, s.block_cols) : 1;
  return s.values + (blocks_before + row / s.block_rows) * of_row;
}

template <class V>
VT_VEC_INLINE void ScaleF8(const std::uint8_t* codes, float scale, float* out, std::int64_t count) {
  const typename V::F factor = V::Splat(scale);
  ForVectors(count, [&](std::int64_t i, int n) {
    const typename V::F w = n == kLanes ? V::LoadF8(codes + i) : V::LoadF8Partial(codes + i, n);
    StoreN<V>(out + i, V::Mul(w, factor), n);
  });
}

// out[i] = w[n, first + i], i < count.
template <class V>
VT_VEC_INLINE void DecodeF8Row(const Weight& w, std::int64_t n, std::int64_t first,
                               std::int64_t count, float* out) {
  const auto* codes = static_cast<const std::uint8_t*>(w.data) + n * w.cols + first;
  const float* scales = ScalesOfRow(w, n);
  const std::int64_t block = w.scales.block_cols;
  if (block == 0) return ScaleF8<V>(codes, scales[0], out, count);
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t at = (first + i) / block;
    const std::int64_t left = (at + 1) * block - (first + i);
    const std::int64_t run = left < count - i ? left : count - i;
    ScaleF8<V>(codes + i, scales[at], out + i, run);
    i += run;
  }
}

template <class V>
void DequantF8Rows(const DequantFp8Args& args, Range rows) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    DecodeF8Row<V>(args.w, r, 0, args.w.cols, args.out + r * args.w.cols);
  }
}

}  // namespace
}  // namespace vt
