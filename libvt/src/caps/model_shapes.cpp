#include "caps/model_shapes.h"

#include <type_traits>

namespace vt {

OpShape ShapeOf(const AnyArgs& call) {
  return std::visit(
      [](const auto& args) { return FactsOf<std::decay_t<decltype(args)>>().shape(args); }, call);
}

std::string SignatureOf(const AnyArgs& call) {
  const OpShape shape = ShapeOf(call);
  std::string text(OpOf(call));
  text.append(" ").append(shape.type).append(" ").append(shape.form);
  for (const NamedSize& size : shape.sizes) {
    text.append(" ").append(size.name).append("=").append(std::to_string(size.value));
  }
  return text;
}

}  // namespace vt
