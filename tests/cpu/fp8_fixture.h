// f8_e4m3 weights with row scales, and what their bytes mean.
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

// A matrix in memory that faults when overrun; no NaN among its bytes.
struct F8Matrix {
  F8Matrix(std::int64_t row_count, std::int64_t col_count, unsigned seed)
      : codes(row_count * col_count), scales(row_count), rows(row_count), cols(col_count) {
    Random random(seed);
    for (std::int64_t i = 0; i < codes.size(); ++i) {
      const auto code = static_cast<std::uint8_t>(random.Bits() >> 8);
      codes[i] = (code & 0x7f) == 0x7f ? 0x38 : code;
    }
    for (std::int64_t r = 0; r < rows; ++r) scales[r] = random.Uniform(-0.01f, 0.02f);
  }
  Weight weight() const {
    return {.type = DType::kF8_E4M3,
            .rows = rows,
            .cols = cols,
            .data = codes.data(),
            .row_scales = scales.data()};
  }
  // w[n, k] in double, before the row's scale is multiplied in, which rounds once.
  float Value(std::int64_t n, std::int64_t k) const {
    return static_cast<float>(F8Value(codes[n * cols + k]) * double{scales[n]});
  }

  Paged<std::uint8_t> codes;
  Paged<float> scales;
  std::int64_t rows;
  std::int64_t cols;
};

}  // namespace vt::test
