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
inline std::string Named(const Weight& w) { return Cross(w.rows, w.cols); }
inline std::string Acts(ActType act) { return act == ActType::kQ15 ? " by q15" : ""; }

inline std::string Layout(RopeLayout layout) { return layout == RopeLayout::kHalf ? ", half" : ""; }

}  // namespace vt
