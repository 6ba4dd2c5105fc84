// What ops on the KV cache ask of its cells.
#pragma once

#include <string>

#include "ops/shape_check.h"

namespace vt {

inline bool IsCellType(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16 || type == DType::kQ8_0;
}

// Cells of `type` that hold rows of `cols` values.
inline ShapeCheck CheckCells(const char* what, DType type, const char* cols_name,
                             std::int64_t cols) {
  ShapeCheck check;
  check.True(IsCellType(type), [&] {
    return std::string(what) + " type " + std::string(NameOf(type)) +
           " is not taken (f32, f16, bf16 or q8_0)";
  });
  check.AtLeast(cols_name, cols, 1);
  if (type == DType::kQ8_0) check.Multiple(cols_name, cols, 32, "the block of q8_0");
  return check;
}

}  // namespace vt
