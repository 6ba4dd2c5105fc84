#pragma once

#include <cstdint>

namespace vt {

// out[r, :] = x[r, :] * scales[ids[r]]. Never in place: what x holds is still wanted.
struct ApplyExpertScaleArgs {
  static constexpr const char* kOp = "apply_expert_scale";
  const float* x = nullptr;           // [rows, cols]
  const float* scales = nullptr;      // [experts]
  const std::int32_t* ids = nullptr;  // [rows]
  std::int64_t experts = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  float* out = nullptr;  // [rows, cols], does not overlap x
  float* scratch = nullptr;
};
constexpr std::int64_t ScratchFloats(const ApplyExpertScaleArgs& a) { return a.rows; }

}  // namespace vt
