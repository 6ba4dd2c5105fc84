#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// out[n, k] = w[n, k] of an f8_e4m3 weight with its scales.
struct DequantFp8Args {
  static constexpr const char* kOp = "dequant_fp8";
  Weight w;              // [n, k], f8_e4m3
  float* out = nullptr;  // [n, k]
};

}  // namespace vt
