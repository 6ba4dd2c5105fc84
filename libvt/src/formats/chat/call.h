// How native functions, methods and filters take their arguments.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/chat/value.h"

namespace vt::chat {

class Interp;

struct Call {
  std::vector<Value> args;
  std::vector<std::pair<std::string, Value>> kwargs;
};

// `self` is the object of a bound method, and missing for plain functions.
using NativeFn = Value (*)(Interp& in, const Value& self, Call& call);

constexpr std::size_t kMaxParams = 6;
using Bound = std::array<Value, kMaxParams>;

// Puts the arguments at the places of `params`; those not given stay missing. Fails when one of
// the first `required` is missing, and for surplus, unknown or doubled arguments.
Bound Bind(std::string_view function, const Call& call,
           std::initializer_list<std::string_view> params, std::size_t required);

// Arguments with defaults; fail with the name of the function where the type is wrong.
Int IntArg(std::string_view function, const Value& v);  // int or bool
Int IntArgOr(std::string_view function, const Value& v, Int fallback);
bool BoolArgOr(const Value& v, bool fallback);  // by truth
const std::string& StringArg(std::string_view function, const Value& v);

}  // namespace vt::chat
