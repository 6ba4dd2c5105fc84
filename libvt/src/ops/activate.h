#pragma once

#include <cstdint>

#include "ops/types.h"

namespace vt {

// out = act(x)
struct ActivateArgs {
  static constexpr const char* kOp = "activate";
  const float* x = nullptr;  // [count]
  float* out = nullptr;      // [count], may be x
  std::int64_t count = 0;
  Activation act = Activation::kSilu;
};

}  // namespace vt
