// Rows of a table as f32 times a scale, a body over the 16-lane vector.
#pragma once

#include <cstdint>

#include "cpu/generic/f8_rows.h"
#include "cpu/generic/vec16.h"
#include "cpu/matmul.h"

namespace vt {
namespace {

template <class V>
void EmbedRows(const EmbedArgs& args, const MatmulShare& share) {
  const std::int64_t cols = args.table.cols;
  const typename V::F scale = V::Splat(args.scale);
  for (std::int64_t r = share.rows.begin; r < share.rows.end; ++r) {
    float* out = args.out + r * cols;
    if (args.table.type == DType::kF8_E4M3) {
      DecodeF8Row<V>(args.table, args.ids[r], 0, cols, out);
    } else {
      const auto* data = static_cast<const std::uint8_t*>(args.table.data);
      share.decode(data + args.ids[r] * share.row_bytes, out, cols);
    }
    if (args.scale == 1.0f) continue;
    for (std::int64_t i = 0; i < cols; i += kLanes) {
      const int n = cols - i < kLanes ? static_cast<int>(cols - i) : kLanes;
      V::StorePartial(out + i, V::Mul(V::LoadPartial(out + i, n), scale), n);
    }
  }
}

}  // namespace
}  // namespace vt
