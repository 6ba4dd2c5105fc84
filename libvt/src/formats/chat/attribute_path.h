// The `attribute` argument of filters: "a.b.0" leads to item.a.b[0].
#pragma once

#include <vector>

#include "formats/chat/objects.h"
#include "formats/chat/value.h"

namespace vt::chat {

class AttributePath {
 public:
  // A dotted string, an integer, or none or missing for the item itself. `fallback`, if given,
  // stands for each part that is undefined.
  explicit AttributePath(const Value& attribute, Value fallback = {});
  Value Of(Value item) const;

 private:
  std::vector<Value> parts_;
  Value fallback_;
};

// Strings in lower case; the rest as it is.
Value IgnoreCase(const Value& v);

}  // namespace vt::chat
