// Body of copy_columns, over the 16-lane vector V.
#pragma once

#include <cstdint>

#include "cpu/generic/vectors.h"
#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

template <class V>
void CopyColumns(const CopyColumnsArgs& args, Part part) {
  const Range rows = Share(args.rows, part);
  const std::int64_t x_stride = args.x_stride == 0 ? args.cols : args.x_stride;
  const std::int64_t out_stride = args.out_stride == 0 ? args.cols : args.out_stride;
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const float* x = args.x + r * x_stride;
    float* out = args.out + r * out_stride;
    ForVectors(args.cols,
               [&](std::int64_t i, int n) { StoreN<V>(out + i, LoadN<V>(x + i, n), n); });
  }
}

}  // namespace
}  // namespace vt
