// Hugging Face folders for tests whose numbers are made up: the same weights once as F8_E4M3 with
// scales, once as the F32 that they decode to.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/safetensors_bytes.h"

namespace vt::test {

// A code of OCP E4M3: sign, 4 exponent bits with bias 7, 3 mantissa bits; all ones is NaN.
inline float E4M3Value(std::uint8_t code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                   : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return (code & 0x80) != 0 ? -size : size;
}

enum class ScaleForm { kRow, kBlock };  // [rows, 1]; [ceil(rows / 128), ceil(cols / 128)]

class Fp8Folders {
 public:
  explicit Fp8Folders(ScaleForm form) : form_(form) {}

  // F8_E4M3 codes of both signs under scales that differ by a factor of four, near `size`.
  void Matrix(const std::string& name, std::uint64_t rows, std::uint64_t cols, float size = 0.2f) {
    const std::uint64_t block = form_ == ScaleForm::kBlock ? 128 : cols;
    const std::uint64_t block_rows = form_ == ScaleForm::kBlock ? 128 : 1;
    const std::uint64_t wide = (cols + block - 1) / block;
    const std::uint64_t high = (rows + block_rows - 1) / block_rows;
    std::vector<float> scales(wide * high), values(rows * cols);
    for (float& scale : scales) scale = size / 16 * static_cast<float>(1 + Next() % 1000) / 250;
    std::string codes(rows * cols, '\0');
    for (std::uint64_t i = 0; i < codes.size(); ++i) {
      const auto code = static_cast<std::uint8_t>(Next() % 0x58 | (Next() % 2) << 7);
      codes[i] = static_cast<char>(code);
      values[i] = E4M3Value(code) * scales[i / cols / block_rows * wide + i % cols / block];
    }
    const std::string scale_name = name + (form_ == ScaleForm::kBlock ? "_scale_inv" : "_scale");
    fp8_.Tensor(name, "F8_E4M3", {rows, cols}, codes);
    fp8_.Tensor(scale_name, "F32", {high, wide}, F32Bytes(scales));
    f32_.Tensor(name, "F32", {rows, cols}, F32Bytes(values));
  }
  // F32 in both, around `middle`.
  void Floats(const std::string& name, const std::vector<std::uint64_t>& shape, float middle = 0) {
    std::uint64_t count = 1;
    for (const std::uint64_t dim : shape) count *= dim;
    std::vector<float> values(count);
    for (float& value : values) value = middle + static_cast<float>(Next() % 1000) / 1000 - 0.5f;
    for (SafetensorsBytes* bytes : {&fp8_, &f32_}) {
      bytes->Tensor(name, "F32", shape, F32Bytes(values));
    }
  }

  // `folder`/fp8 and `folder`/f32.
  void Write(const std::string& folder, std::string_view config) const {
    WriteBytes(folder + "/fp8/config.json", config);
    WriteBytes(folder + "/fp8/model.safetensors", fp8_.Bytes());
    WriteBytes(folder + "/f32/config.json", config);
    WriteBytes(folder + "/f32/model.safetensors", f32_.Bytes());
  }

 private:
  std::uint32_t Next() {  // a linear congruential generator (Numerical Recipes)
    state_ = state_ * 1664525u + 1013904223u;
    return state_ >> 8;
  }

  ScaleForm form_;
  std::uint32_t state_ = 1;
  SafetensorsBytes fp8_, f32_;
};

}  // namespace vt::test
