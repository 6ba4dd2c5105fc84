// The values of a tensor as f32, decoded here from the definitions of the types.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "vt/gguf.h"

namespace vt::test {

// OCP 8-bit floating point E4M3: bias 7, no infinity, 0x7f and 0xff are NaN.
inline float DecodeE4M3(std::uint8_t code) {
  const int exponent = (code >> 3) & 15, mantissa = code & 7;
  float value = exponent == 0
                    ? std::ldexp(static_cast<float>(mantissa), -9)
                    : std::ldexp(1.0f + static_cast<float>(mantissa) / 8.0f, exponent - 7);
  if (exponent == 15 && mantissa == 7) value = std::numeric_limits<float>::quiet_NaN();
  return (code & 0x80) != 0 ? -value : value;
}

// As stored, scales apart.
inline std::vector<float> StoredValues(const GgufFile& file, const GgufTensor& tensor) {
  std::vector<std::byte> bytes(tensor.bytes);
  file.CopyTo(tensor, bytes.data());
  std::vector<float> values(tensor.cols() * tensor.rows());
  if (values.size() * InfoOf(tensor.type).block_bytes != bytes.size()) {
    throw std::runtime_error(std::string(tensor.name) + ": bytes do not match the shape");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (tensor.type == DType::kF32) {
      std::memcpy(&values[i], bytes.data() + i * 4, 4);
    } else if (tensor.type == DType::kBF16) {
      std::uint16_t half = 0;
      std::memcpy(&half, bytes.data() + i * 2, 2);
      values[i] = std::bit_cast<float>(std::uint32_t{half} << 16);
    } else if (tensor.type == DType::kF8_E4M3) {
      values[i] = DecodeE4M3(std::to_integer<std::uint8_t>(bytes[i]));
    } else {
      throw std::runtime_error(std::string(tensor.name) + ": type not decoded here");
    }
  }
  return values;
}

// Scales applied as vt/gguf.h says.
inline std::vector<float> Values(const GgufFile& file, const GgufTensor& tensor) {
  std::vector<float> values = StoredValues(file, tensor);
  if (tensor.type != DType::kF8_E4M3) return values;
  const std::string name(tensor.name);
  const GgufTensor* const by_row = file.FindTensor(name + "_scale");
  const GgufTensor* const by_block = file.FindTensor(name + "_scale_inv");
  if ((by_row == nullptr) == (by_block == nullptr)) {
    throw std::runtime_error(name + ": not one kind of scale");
  }
  const std::vector<float> scales = StoredValues(file, by_row ? *by_row : *by_block);
  const std::uint64_t cols = tensor.cols(), rows = tensor.dims[1];
  const std::uint64_t wide = (cols + 127) / 128, high = (rows + 127) / 128;
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    const std::uint64_t col = i % cols, row = i / cols % rows, matrix = i / cols / rows;
    values[i] *= by_row ? scales[matrix * rows + row]
                        : scales[(matrix * high + row / 128) * wide + col / 128];
  }
  return values;
}

}  // namespace vt::test
