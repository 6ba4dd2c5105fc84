// One number or text laid out as a Python format specification says.
#pragma once

#include <string>
#include <string_view>

#include "formats/chat/value.h"

namespace vt::chat {

struct FormatSpec {
  std::string fill;  // one char; empty: a space, or 0 for `zero`
  char align = 0;    // < > ^ = or 0
  char sign = '-';   // + - or space
  bool alternate = false;
  bool zero = false;
  std::size_t width = 0;
  char grouping = 0;  // , or _
  int precision = -1;
  char type = 0;
};

FormatSpec ParseFormatSpec(std::string_view text);
// format(v, spec).
std::string FormatValue(const Value& v, std::string_view spec);
// Number parts; `type` is one of e E f F g G, or one of d b o x X.
std::string FormatFloat(double d, const FormatSpec& spec);
std::string FormatInteger(Int i, const FormatSpec& spec);
std::string FormatText(std::string_view text, const FormatSpec& spec);

}  // namespace vt::chat
