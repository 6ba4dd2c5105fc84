#include "formats/chat/call.h"

#include <algorithm>

#include "formats/chat/budget.h"

namespace vt::chat {

Bound Bind(std::string_view function, const Call& call,
           std::initializer_list<std::string_view> params, std::size_t required) {
  const std::string name(function);
  if (call.args.size() > params.size()) {
    Fail(name + "() takes at most " + std::to_string(params.size()) + " arguments (" +
         std::to_string(call.args.size()) + " given)");
  }
  Bound bound;
  std::copy(call.args.begin(), call.args.end(), bound.begin());
  for (const auto& [key, value] : call.kwargs) {
    const auto* at = std::find(params.begin(), params.end(), key);
    if (at == params.end()) Fail(name + "() got an unexpected keyword argument '" + key + "'");
    Value& slot = bound[static_cast<std::size_t>(at - params.begin())];
    if (!slot.missing()) Fail(name + "() got multiple values for argument '" + key + "'");
    slot = value;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (bound[i].missing()) {
      Fail(name + "() missing required argument '" + std::string(params.begin()[i]) + "'");
    }
  }
  return bound;
}

Int IntArg(std::string_view function, const Value& v) {
  if (v.undefined()) FailUndefined(v);
  if (!v.is_integral()) {
    Fail(std::string(function) + ": '" + TypeName(v) +
         "' object cannot be interpreted as an integer");
  }
  return v.integer();
}

Int IntArgOr(std::string_view function, const Value& v, Int fallback) {
  return v.missing() ? fallback : IntArg(function, v);
}

bool BoolArgOr(const Value& v, bool fallback) { return v.missing() ? fallback : Truthy(v); }

const std::string& StringArg(std::string_view function, const Value& v) {
  if (!v.is_string()) {
    Fail(std::string(function) + "() argument must be str, not " + TypeName(v));
  }
  return v.str();
}

}  // namespace vt::chat
