// Values as text: Python's str() and repr(), and JSON.
#pragma once

#include <string>
#include <string_view>

#include "formats/chat/value.h"

namespace vt::chat {

// str(): strings as they are, undefined as nothing, the rest as repr().
void AppendStr(std::string& out, const Value& v);
std::string ToStr(const Value& v);
void AppendRepr(std::string& out, const Value& v);
std::string Repr(const Value& v);
std::string ReprString(std::string_view text);
std::string ReprFloat(double d);
std::string FormatInt(Int i);
// pprint.pformat() with its defaults: dicts by key, lines of 80.
std::string PrettyRepr(const Value& v);

// json.dumps().
struct JsonOptions {
  bool ensure_ascii = false;
  bool multi_line = false;  // an indent was given, maybe of no width
  std::string indent;       // of one level
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};
std::string DumpJson(const Value& v, const JsonOptions& options);

}  // namespace vt::chat
