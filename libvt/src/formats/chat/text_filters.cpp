// Filters over text and single values.
#include <algorithm>
#include <cmath>

#include "formats/chat/arith.h"
#include "formats/chat/budget.h"
#include "formats/chat/builtins.h"
#include "formats/chat/format.h"
#include "formats/chat/print.h"
#include "formats/chat/strings.h"
#include "formats/chat/unicode.h"

namespace vt::chat {
namespace {

// Text of the value; markup stays markup.
Value Soft(const Value& v) { return v.is_string() ? v : Value::String(ToStr(v)); }

Value Like(const Value& model, std::string text) {
  return IsMarkup(model) ? Value::Markup(std::move(text)) : Value::String(std::move(text));
}

using CaseFn = std::string (*)(std::string_view);

template <CaseFn kFn>
Value ChangeCase(Interp&, Call& call) {
  const Value text = Soft(Bind("filter", call, {"s"}, 1)[0]);
  ChargeBytes(text.str().size() * 4);
  return Like(text, kFn(text.str()));
}

// Words begin behind white space, hyphens and opening brackets only.
std::string FilterTitle(std::string_view text) {
  std::string out;
  std::string word;
  const auto flush = [&] {
    if (word.empty()) return;
    const std::size_t first = DecodeAt(word, 0).bytes;
    out += ToUpper(word.substr(0, first));
    out += ToLower(word.substr(first));
    word.clear();
  };
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = DecodeAt(text, i);
    if (IsSpace(d.c) || d.c == '-' || d.c == '(' || d.c == '{' || d.c == '[' || d.c == '<') {
      flush();
      out += text.substr(i, d.bytes);
    } else {
      word += text.substr(i, d.bytes);
    }
    i += d.bytes;
  }
  flush();
  return out;
}

Value Trim(Interp&, Call& call) {
  const Bound args = Bind("trim", call, {"value", "chars"}, 1);
  const Value text = Soft(args[0]);
  const bool given = !args[1].missing() && !args[1].none();
  const std::string* chars = given ? &StringArg("trim", args[1]) : nullptr;
  return Like(text, std::string(Strip(text.str(), chars, true, true)));
}

Value Replace(Interp&, Call& call) {
  const Bound args = Bind("replace", call, {"s", "old", "new", "count"}, 3);
  const Int count = args[3].none() ? -1 : IntArgOr("replace", args[3], -1);
  return Value::String(ReplaceAll(ToStr(args[0]), ToStr(args[1]), ToStr(args[2]), count));
}

Value Indent(Interp&, Call& call) {
  const Bound args = Bind("indent", call, {"s", "width", "first", "blank"}, 1);
  if (!args[0].is_string()) {
    if (args[0].undefined()) FailUndefined(args[0]);
    Fail(std::string("indent: expected a string, not ") + TypeName(args[0]));
  }
  std::string indention(4, ' ');
  if (args[1].is_string()) {
    indention = args[1].str();
  } else if (!args[1].missing()) {
    const Int width = std::max<Int>(IntArg("indent", args[1]), 0);
    constexpr Int kMost = 1 << 20;
    if (width > kMost) Fail("indent: the width is too large");
    indention.assign(static_cast<std::size_t>(width), ' ');
  }
  const bool blank = BoolArgOr(args[3], false);
  const std::string text = args[0].str() + "\n";
  std::string out = BoolArgOr(args[2], false) ? indention : "";
  bool first = true;
  for (const std::string_view line : SplitLines(text, false)) {
    if (!first) {
      out += "\n";
      if (blank || !line.empty()) out += indention;
    }
    first = false;
    out += line;
    CheckBytes(out.size());
  }
  ChargeBytes(out.size());
  return Like(args[0], std::move(out));
}

Value Truncate(Interp&, Call& call) {
  const Bound args = Bind("truncate", call, {"s", "length", "killwords", "end", "leeway"}, 1);
  const Int length = IntArgOr("truncate", args[1], 255);
  const std::string end = args[3].missing() ? "..." : StringArg("truncate", args[3]);
  const Int leeway = args[4].none() ? 5 : IntArgOr("truncate", args[4], 5);
  const Int end_length = static_cast<Int>(CountChars(end));
  if (length < end_length) {
    Fail("expected length >= " + FormatInt(end_length) + ", got " + FormatInt(length));
  }
  if (leeway < 0) Fail("expected leeway >= 0, got " + FormatInt(leeway));
  const std::int64_t size = Length(args[0]);
  if (size < 0) Fail(std::string("object of type '") + TypeName(args[0]) + "' has no len()");
  if (size <= length + leeway) return args[0];
  const std::string& text = StringArg("truncate", args[0]);
  std::string kept =
      text.substr(0, ByteOffset(text, static_cast<std::size_t>(length - end_length)));
  if (!BoolArgOr(args[2], false)) kept = kept.substr(0, std::min(kept.rfind(' '), kept.size()));
  return Like(args[0], kept + end);
}

Value WordCount(Interp&, Call& call) {
  const std::string text = ToStr(Bind("wordcount", call, {"s"}, 1)[0]);
  Int count = 0;
  bool in_word = false;
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = DecodeAt(text, i);
    const bool word = IsAlnum(d.c) || d.c == '_';
    if (word && !in_word) ++count;
    in_word = word;
    i += d.bytes;
  }
  return Value::Integer(count);
}

Value Center(Interp&, Call& call) {
  const Bound args = Bind("center", call, {"value", "width"}, 1);
  const Value text = Soft(args[0]);
  const Int length = static_cast<Int>(CountChars(text.str()));
  const Int room = std::max<Int>(IntArgOr("center", args[1], 80) - length, 0);
  constexpr Int kMost = 1 << 24;
  if (room > kMost) Fail("center: the width is too large");
  const Int left = room / 2 + (room & (room + length) & 1);
  return Like(text, Pad(text.str(), static_cast<std::size_t>(left),
                        static_cast<std::size_t>(room - left), " "));
}

Value ToString(Interp&, Call& call) { return Soft(Bind("string", call, {"object"}, 1)[0]); }

Value Safe(Interp&, Call& call) {
  return Value::Markup(ToStr(Bind("safe", call, {"value"}, 1)[0]));
}

Value Escape(Interp&, Call& call) {
  const Value text = Bind("escape", call, {"s"}, 1)[0];
  return IsMarkup(text) ? text : Value::Markup(EscapeHtml(ToStr(text)));
}

Value ForceEscape(Interp&, Call& call) {
  return Value::Markup(EscapeHtml(ToStr(Bind("forceescape", call, {"value"}, 1)[0])));
}

Value Format(Interp&, Call& call) {
  if (!call.kwargs.empty() && call.args.size() > 1) {
    Fail("can't handle positional and keyword arguments at the same time");
  }
  const Value text = Soft(call.args[0]);
  if (call.kwargs.empty()) {
    return PercentFormat(text, Value::Tuple({call.args.begin() + 1, call.args.end()}));
  }
  Dict named;
  for (const auto& [key, value] : call.kwargs) named.Set(Value::String(key), value);
  return PercentFormat(text, Value::Of(std::move(named)));
}

std::string Quote(std::string_view text, bool in_query) {
  constexpr std::string_view kPlain = "_.-~";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && (DigitValue(c) < 36 || kPlain.find(c) != kPlain.npos);
    if (plain || (c == '/' && !in_query)) {
      out.push_back(c);
    } else if (c == ' ' && in_query) {
      out.push_back('+');
    } else {
      constexpr char kHex[] = "0123456789ABCDEF";
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  ChargeBytes(out.size());
  return out;
}

Value UrlEncode(Interp&, Call& call) {
  const Value v = Bind("urlencode", call, {"value"}, 1)[0];
  if (v.is_string() || !IsIterable(v)) return Value::String(Quote(ToStr(v), false));
  std::string out;
  const auto add = [&](const Value& key, const Value& value) {
    if (!out.empty()) out += "&";
    out += Quote(ToStr(key), true) + "=" + Quote(ToStr(value), true);
    CheckBytes(out.size());
  };
  if (v.is(Type::kDict)) {
    for (const auto& [key, value] : v.dict().items()) add(key, value);
    return Value::String(std::move(out));
  }
  for (const Value& pair : Items(v)) {
    const Items two(pair);
    if (two.size() != 2) Fail("urlencode: expected pairs of key and value");
    add(two[0], two[1]);
  }
  return Value::String(std::move(out));
}

Value ToJson(Interp&, Call& call) {
  const Bound args =
      Bind("tojson", call, {"x", "ensure_ascii", "indent", "separators", "sort_keys"}, 1);
  JsonOptions options;
  options.ensure_ascii = BoolArgOr(args[1], false);
  options.sort_keys = BoolArgOr(args[4], false);
  if (args[2].is_string()) {
    options.multi_line = true;
    options.indent = args[2].str();
  } else if (!args[2].missing() && !args[2].none()) {
    options.multi_line = true;
    const Int width = std::clamp<Int>(IntArg("tojson", args[2]), 0, 1000);
    options.indent.assign(static_cast<std::size_t>(width), ' ');
  }
  if (options.multi_line) options.item_separator = ",";
  if (!args[3].missing() && !args[3].none()) {
    const Items pair(args[3]);
    if (pair.size() != 2) Fail("tojson: separators must be a pair of strings");
    options.item_separator = StringArg("tojson", pair[0]);
    options.key_separator = StringArg("tojson", pair[1]);
  }
  return Value::String(DumpJson(args[0], options));
}

Value Pretty(Interp&, Call& call) {
  return Value::String(PrettyRepr(Bind("pprint", call, {"value"}, 1)[0]));
}

Value ToInt(Interp&, Call& call) {
  const Bound args = Bind("int", call, {"value", "default", "base"}, 1);
  const Value& v = args[0];
  const Value fallback = args[1].missing() ? Value::Integer(0) : args[1];
  if (v.undefined()) FailUndefined(v);
  if (v.is_integral()) return Value::Integer(v.integer());
  std::optional<double> number;
  if (v.is_string()) {
    const Int base = std::clamp<Int>(IntArgOr("int", args[2], 10), -1, 99);
    if (const auto whole = ParseInt(v.str(), static_cast<int>(base))) {
      return Value::Integer(*whole);
    }
    number = ParseFloat(v.str());
  } else if (v.is(Type::kFloat)) {
    number = v.number();
    if (std::isinf(*number)) Fail("cannot convert float infinity to integer");
  }
  const std::optional<Int> whole = number ? vt::chat::Truncate(*number) : std::nullopt;
  return whole ? Value::Integer(*whole) : fallback;
}

Value ToFloat(Interp&, Call& call) {
  const Bound args = Bind("float", call, {"value", "default"}, 1);
  if (args[0].undefined()) FailUndefined(args[0]);
  if (args[0].is_number()) return Value::Float(args[0].number());
  if (args[0].is_string()) {
    if (const auto number = ParseFloat(args[0].str())) return Value::Float(*number);
  }
  return args[1].missing() ? Value::Float(0) : args[1];
}

Value Abs(Interp&, Call& call) {
  const Value v = Bind("abs", call, {"x"}, 1)[0];
  if (!v.is_number()) Fail(std::string("bad operand type for abs(): '") + TypeName(v) + "'");
  if (v.is(Type::kFloat)) return Value::Float(std::fabs(v.number()));
  return v.integer() < 0 ? Negate(v) : Plus(v);
}

Value Round(Interp&, Call& call) {
  const Bound args = Bind("round", call, {"value", "precision", "method"}, 1);
  const Value& v = args[0];
  const std::string method = args[2].missing() ? "common" : ToStr(args[2]);
  if (method != "common" && method != "ceil" && method != "floor") {
    Fail("method must be common, ceil or floor");
  }
  if (!v.is_number()) Fail(std::string("type ") + TypeName(v) + " doesn't define __round__ method");
  const int digits = static_cast<int>(std::clamp<Int>(IntArgOr("round", args[1], 0), -1000, 1000));
  if (method == "common") {
    if (v.is(Type::kFloat)) return Value::Float(RoundHalfEven(v.number(), digits));
    if (digits >= 0) return Value::Integer(v.integer());
    constexpr int kIntDigits = 38;
    if (digits < -kIntDigits) return Value::Integer(0);
    Int scale = 1;
    for (int i = 0; i < -digits; ++i) scale *= 10;
    Int rest = v.integer() % scale;
    Int floor = v.integer() - rest;
    if (rest < 0) {
      rest += scale;
      floor -= scale;
    }
    const bool up = rest > scale - rest || (rest == scale - rest && (floor / scale) % 2 != 0);
    return Value::Integer(up ? floor + scale : floor);
  }
  const double scale = std::pow(10.0, digits);
  const double scaled = v.number() * scale;
  if (!std::isfinite(scaled)) Fail("cannot convert float infinity to integer");
  return Value::Float((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Value Default(Interp&, Call& call) {
  const Bound args = Bind("default", call, {"value", "default_value", "boolean"}, 1);
  if (args[0].undefined() || (BoolArgOr(args[2], false) && !Truthy(args[0]))) {
    return args[1].missing() ? Value::String("") : args[1];
  }
  return args[0];
}

constexpr NamedFilter kFilters[] = {
    {"abs", Abs},
    {"capitalize", ChangeCase<Capitalize>},
    {"center", Center},
    {"d", Default},
    {"default", Default},
    {"e", Escape},
    {"escape", Escape},
    {"float", ToFloat},
    {"forceescape", ForceEscape},
    {"format", Format},
    {"indent", Indent},
    {"int", ToInt},
    {"lower", ChangeCase<ToLower>},
    {"pprint", Pretty},
    {"replace", Replace},
    {"round", Round},
    {"safe", Safe},
    {"string", ToString},
    {"title", ChangeCase<FilterTitle>},
    {"tojson", ToJson},
    {"trim", Trim},
    {"truncate", Truncate},
    {"upper", ChangeCase<ToUpper>},
    {"urlencode", UrlEncode},
    {"wordcount", WordCount},
};

}  // namespace

const NamedFilter* FindTextFilter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                   [&](const NamedFilter& f) { return f.name == name; });
  return found == std::end(kFilters) ? nullptr : found;
}

}  // namespace vt::chat
