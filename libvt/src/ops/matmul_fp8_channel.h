#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// matmul of f32 activations with an f8_e4m3 weight with row scales.
struct MatmulFp8ChannelArgs {
  static constexpr const char* kOp = "matmul_fp8_channel";
  Weight w;                  // [n, k], f8_e4m3
  const float* x = nullptr;  // [m, k]
  std::int64_t m = 0;
  float* out = nullptr;  // [m, n]
  float* scratch = nullptr;
};
constexpr std::int64_t ScratchFloats(const MatmulFp8ChannelArgs& a) { return a.w.rows * a.w.cols; }

}  // namespace vt
