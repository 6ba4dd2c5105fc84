#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// Of each row [latent | key] in place: rms_norm of the latent values, RoPE of the key that all
// heads share (multi-head latent attention).
struct FusedNormRopeArgs {
  static constexpr const char* kOp = "fused_norm_rope";
  float* x = nullptr;             // [rows, latent + 2 * pairs]
  const float* weight = nullptr;  // [latent] or null
  const float* table = nullptr;   // [rows, 2, pairs]
  std::int64_t rows = 0;
  std::int64_t latent = 0;
  std::int64_t pairs = 0;
  RopeLayout layout = RopeLayout::kInterleaved;
  float eps = 1e-6f;
};

}  // namespace vt
