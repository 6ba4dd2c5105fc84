// Words of the labels that tell an op's cases apart.
#pragma once

#include <cstdint>
#include <string>

#include "ops/args.h"

namespace vt {

inline std::string Text(std::int64_t value) { return std::to_string(value); }
inline std::string Cross(std::int64_t rows, std::int64_t cols) {
  return Text(rows) + "x" + Text(cols);
}
inline std::string Strided(std::int64_t stride) {
  return stride == 0 ? "" : ", stride " + Text(stride);
}
inline std::string Named(const Weight& w) {
  std::string name = Cross(w.rows, w.cols);
  if (w.scales.block_cols == 0 && w.scales.block_rows == 1) return name;
  name += ", a scale for " + Cross(w.scales.block_rows, w.scales.block_cols);
  if (w.scales.matrix_rows > 0) name += ", anew every " + Text(w.scales.matrix_rows) + " rows";
  if (w.scales.first_row > 0) name += ", from row " + Text(w.scales.first_row);
  return name;
}
inline std::string Acts(ActType act) { return act == ActType::kQ15 ? " by q15" : ""; }

inline std::string Layout(RopeLayout layout) { return layout == RopeLayout::kHalf ? ", half" : ""; }

}  // namespace vt
