#include "formats/gguf_cut.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace vt {
namespace {

// OCP E4M3: sign, 4 exponent bits with bias 7, 3 mantissa bits; all ones is NaN.
float E4M3Value(unsigned code) {
  const int exponent = static_cast<int>(code >> 3 & 15), mantissa = static_cast<int>(code & 7);
  float value = std::numeric_limits<float>::quiet_NaN();
  if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), -9);
  } else if (exponent != 15 || mantissa != 7) {
    value = std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  }
  return (code & 0x80) != 0 ? -value : value;
}

const std::array<float, 256>& E4M3Values() {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> all{};
    for (unsigned code = 0; code < all.size(); ++code) all[code] = E4M3Value(code);
    return all;
  }();
  return values;
}

// IEEE 754 binary16.
float F16Value(std::uint16_t half) {
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  float value = 0;
  if (exponent == 31) {
    value = mantissa == 0 ? std::numeric_limits<float>::infinity()
                          : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    value = std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  }
  return (half & 0x8000) != 0 ? -value : value;
}

float ScaleAt(DType type, const std::byte* scales, std::uint64_t index) {
  if (type == DType::kF32) {
    float value = 0;
    std::memcpy(&value, scales + index * sizeof(value), sizeof(value));
    return value;
  }
  std::uint16_t half = 0;
  std::memcpy(&half, scales + index * sizeof(half), sizeof(half));
  return type == DType::kBF16 ? std::bit_cast<float>(std::uint32_t{half} << 16) : F16Value(half);
}

// Calls value(row, col, out) for each value of the cut, `row` of the stored matrix, and `out` where
// it goes, `size` bytes each.
template <class Value>
void ForEachValue(const GgufCut& cut, std::uint64_t size, std::byte* out, Value value) {
  const std::uint64_t rows = cut.taken_rows, cols = cut.stored_cols;
  for (std::uint64_t m = 0; m < cut.matrices; ++m) {
    const std::uint64_t first = m * cut.stride_rows + cut.first_row;
    std::byte* const matrix = out + m * rows * cols * size;
    for (std::uint64_t r = 0; r < rows; ++r) {
      for (std::uint64_t c = 0; c < cols; ++c) {
        value(first + r, c, matrix + (cut.transposed ? c * rows + r : r * cols + c) * size);
      }
    }
  }
}

void CopyPlain(const GgufCut& cut, const std::byte* matrix, std::byte* out) {
  const std::uint64_t size = InfoOf(cut.stored).block_bytes, row_bytes = cut.stored_cols * size;
  if (!cut.transposed) {
    for (std::uint64_t m = 0; m < cut.matrices; ++m) {
      const std::uint64_t bytes = cut.taken_rows * row_bytes;
      std::memcpy(out + m * bytes, matrix + (m * cut.stride_rows + cut.first_row) * row_bytes,
                  static_cast<std::size_t>(bytes));
    }
    return;
  }
  ForEachValue(cut, size, out, [&](std::uint64_t row, std::uint64_t col, std::byte* to) {
    std::memcpy(to, matrix + row * row_bytes + col * size, static_cast<std::size_t>(size));
  });
}

}  // namespace

DType TypeOf(const GgufCut& cut) {
  return cut.stored == DType::kF8_E4M3 ? DType::kF32 : cut.stored;
}

void CopyCut(const GgufCut& cut, const std::byte* matrix, const std::byte* scales, std::byte* out) {
  if (cut.stored != DType::kF8_E4M3) return CopyPlain(cut, matrix, out);
  const std::array<float, 256>& values = E4M3Values();
  const std::uint64_t blocks = (cut.stored_cols + cut.scale_cols - 1) / cut.scale_cols;
  ForEachValue(cut, sizeof(float), out, [&](std::uint64_t row, std::uint64_t col, std::byte* to) {
    const auto code = std::to_integer<unsigned>(matrix[row * cut.stored_cols + col]);
    const float scale =
        ScaleAt(cut.scale_type, scales, row / cut.scale_rows * blocks + col / cut.scale_cols);
    const float value = values[code] * scale;
    std::memcpy(to, &value, sizeof(value));
  });
}

}  // namespace vt
