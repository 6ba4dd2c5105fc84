#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// out[n, k] = w[n, k] of an f8_e4m3 weight with row scales.
struct DequantFp8ChannelArgs {
  static constexpr const char* kOp = "dequant_fp8_channel";
  Weight w;              // [n, k], f8_e4m3
  float* out = nullptr;  // [n, k]
};

}  // namespace vt
