// Rows of f8_e4m3 weights as f32 times the row's scale, a body over the 16-lane vector.
#pragma once

#include <cstdint>

#include "cpu/generic/vectors.h"
#include "cpu/matmul.h"

namespace vt {
namespace {

template <class V>
VT_VEC_INLINE void DecodeF8Row(const std::uint8_t* row, float scale, float* out,
                               std::int64_t count) {
  const typename V::F factor = V::Splat(scale);
  ForVectors(count, [&](std::int64_t i, int n) {
    const typename V::F w = n == kLanes ? V::LoadF8(row + i) : V::LoadF8Partial(row + i, n);
    StoreN<V>(out + i, V::Mul(w, factor), n);
  });
}

template <class V>
void DequantF8Rows(const DequantFp8ChannelArgs& args, Range rows) {
  const auto* data = static_cast<const std::uint8_t*>(args.w.data);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    DecodeF8Row<V>(data + r * args.w.cols, args.w.row_scales[r], args.out + r * args.w.cols,
                   args.w.cols);
  }
}

}  // namespace
}  // namespace vt
