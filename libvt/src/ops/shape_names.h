// How types and forms are called in an OpShape, and the shape of a product.
#pragma once

#include <string>
#include <string_view>

#include "ops/op_facts.h"

namespace vt {

inline std::string TypeName(DType type) { return std::string(NameOf(type)); }
inline std::string_view FormOf(ActType act) { return act == ActType::kQ15 ? "q15" : "f32"; }
inline std::string_view FormOf(Activation act) {
  switch (act) {
    case Activation::kSilu:
      return "silu";
    case Activation::kGelu:
      return "gelu";
    case Activation::kRelu:
      return "relu";
    case Activation::kReluSquared:
      break;
  }
  return "relu_squared";
}
inline std::string_view FormOf(RopeLayout layout) {
  return layout == RopeLayout::kHalf ? "half" : "interleaved";
}

// `rows` rows of activations in a form times a weight [n, k].
inline OpShape ProductShape(const Weight& w, std::string_view form, std::int64_t rows) {
  return {.type = TypeName(w.type),
          .form = form,
          .sizes = {{"rows", rows}, {"n", w.rows}, {"k", w.cols}}};
}
// The same where each row has one of `experts` weights, which lie in turn.
inline OpShape ExpertShape(const Weight& w, std::string_view form, std::int64_t rows,
                           std::int64_t experts) {
  OpShape shape = ProductShape(w, form, rows);
  shape.sizes[1].value = experts > 0 ? w.rows / experts : w.rows;
  shape.sizes.push_back({"experts", experts});
  return shape;
}

}  // namespace vt
