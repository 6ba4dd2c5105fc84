#pragma once

#include <cstdint>

#include "ops/expert_limits.h"
#include "ops/types.h"

namespace vt {

inline constexpr std::int64_t kMostIndexedRows = kFewestGroupedRows - 1;

// out[r, :] = gelu(gate[ids[r]] x[r]) * (up[ids[r]] x[r]), for few rows, each with its own expert.
// More than kMostIndexedRows are better sorted by expert and given to expert_matmul.
struct ExpertGegluArgs {
  static constexpr const char* kOp = "expert_geglu";
  Weight gate;  // [experts * n, k], bf16, or f8_e4m3 with scales
  Weight up;    // the same type and shape
  std::int64_t experts = 0;
  const float* x = nullptr;           // [rows, k]
  const std::int32_t* ids = nullptr;  // [rows]
  std::int64_t rows = 0;
  float* out = nullptr;  // [rows, n]
  float* scratch = nullptr;
};
constexpr std::int64_t ScratchFloats(const ExpertGegluArgs& a) {
  return a.experts > 0 ? a.rows * (a.gate.rows / a.experts) : 0;
}

}  // namespace vt
