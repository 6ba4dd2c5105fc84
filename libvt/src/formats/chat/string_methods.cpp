// The methods of str.
#include <algorithm>
#include <unordered_map>

#include "formats/chat/budget.h"
#include "formats/chat/format.h"
#include "formats/chat/objects.h"
#include "formats/chat/print.h"
#include "formats/chat/strings.h"
#include "formats/chat/unicode.h"

namespace vt::chat {
namespace {

// A result that is markup when `self` is.
Value Like(const Value& self, std::string text) {
  ChargeBytes(text.size());
  return IsMarkup(self) ? Value::Markup(std::move(text)) : Value::String(std::move(text));
}

Value Strings(const Value& self, const std::vector<std::string_view>& parts) {
  ChargeSteps(parts.size());
  std::vector<Value> items;
  items.reserve(parts.size());
  for (const std::string_view part : parts) items.push_back(Like(self, std::string(part)));
  return Value::List(std::move(items));
}

// Chars or a separator: null for a missing argument or none.
const std::string* OptionalText(std::string_view function, const Value& v) {
  return v.missing() || v.none() ? nullptr : &StringArg(function, v);
}

using CaseFn = std::string (*)(std::string_view);

template <CaseFn kFn>
Value ChangeCase(Interp&, const Value& self, Call& call) {
  Bind("str method", call, {}, 0);
  ChargeBytes(self.str().size() * 4);
  return Like(self, kFn(self.str()));
}

template <bool kLeft, bool kRight>
Value StripMethod(Interp&, const Value& self, Call& call) {
  const Bound args = Bind("strip", call, {"chars"}, 0);
  return Like(self, std::string(Strip(self.str(), OptionalText("strip", args[0]), kLeft, kRight)));
}

template <bool kFromRight>
Value SplitMethod(Interp&, const Value& self, Call& call) {
  const Bound args = Bind("split", call, {"sep", "maxsplit"}, 0);
  const std::string* separator = OptionalText("split", args[0]);
  const Int limit = IntArgOr("split", args[1], -1);
  return Strings(self, kFromRight ? SplitRight(self.str(), separator, limit)
                                  : Split(self.str(), separator, limit));
}

Value SplitLinesMethod(Interp&, const Value& self, Call& call) {
  const Bound args = Bind("splitlines", call, {"keepends"}, 0);
  return Strings(self, SplitLines(self.str(), BoolArgOr(args[0], false)));
}

template <bool kFromRight>
Value PartitionMethod(Interp&, const Value& self, Call& call) {
  const Bound args = Bind("partition", call, {"sep"}, 1);
  const std::string& separator = StringArg("partition", args[0]);
  if (separator.empty()) Fail("empty separator");
  const std::string& text = self.str();
  const std::size_t at = kFromRight ? text.rfind(separator) : text.find(separator);
  if (at == std::string::npos) {
    const Value none = Like(self, "");
    return kFromRight ? Value::Tuple({none, none, self}) : Value::Tuple({self, none, none});
  }
  return Value::Tuple({Like(self, text.substr(0, at)), Like(self, separator),
                       Like(self, text.substr(at + separator.size()))});
}

bool AffixMatches(std::string_view text, const Value& affix, bool at_start) {
  const std::string& s = StringArg(at_start ? "startswith" : "endswith", affix);
  if (s.size() > text.size()) return false;
  return (at_start ? text.substr(0, s.size()) : text.substr(text.size() - s.size())) == s;
}

template <bool kStart>
Value AffixMethod(Interp&, const Value& self, Call& call) {
  const Bound args = Bind(kStart ? "startswith" : "endswith", call, {"affix", "start", "end"}, 1);
  const CharRange range = SliceChars(self.str(), args[1], args[2]);
  if (range.past_end) return Value::Bool(false);
  if (args[0].is(Type::kSeq) && args[0].seq().kind == SeqKind::kTuple) {
    const std::vector<Value>& all = args[0].seq().items;
    return Value::Bool(std::any_of(all.begin(), all.end(), [&](const Value& affix) {
      return AffixMatches(range.text, affix, kStart);
    }));
  }
  return Value::Bool(AffixMatches(range.text, args[0], kStart));
}

enum class Find { kFind, kRightFind, kIndex, kRightIndex };

template <Find kHow>
Value FindMethod(Interp&, const Value& self, Call& call) {
  const Bound args = Bind("find", call, {"sub", "start", "end"}, 1);
  const std::string& wanted = StringArg("find", args[0]);
  const std::string& text = self.str();
  ChargeBytes(text.size());
  const CharRange range = SliceChars(text, args[1], args[2]);
  constexpr bool kRight = kHow == Find::kRightFind || kHow == Find::kRightIndex;
  const std::size_t at = range.past_end ? std::string::npos
                         : kRight       ? range.text.rfind(wanted)
                                        : range.text.find(wanted);
  if (at == std::string::npos) {
    if (kHow == Find::kIndex || kHow == Find::kRightIndex) Fail("substring not found");
    return Value::Integer(-1);
  }
  return Value::Size(CountChars(std::string_view(text).substr(0, range.offset + at)));
}

Value CountMethod(Interp&, const Value& self, Call& call) {
  const Bound args = Bind("count", call, {"sub", "start", "end"}, 1);
  const std::string& wanted = StringArg("count", args[0]);
  ChargeBytes(self.str().size());
  const CharRange range = SliceChars(self.str(), args[1], args[2]);
  if (range.past_end) return Value::Integer(0);
  if (wanted.empty()) return Value::Size(CountChars(range.text) + 1);
  Int count = 0;
  for (std::size_t at = range.text.find(wanted); at != std::string_view::npos;
       at = range.text.find(wanted, at + wanted.size())) {
    ++count;
  }
  return Value::Integer(count);
}

Value ReplaceMethod(Interp&, const Value& self, Call& call) {
  const Bound args = Bind("replace", call, {"old", "new", "count"}, 2);
  std::string with = StringArg("replace", args[1]);
  if (IsMarkup(self) && !IsMarkup(args[1])) with = EscapeHtml(with);
  return Like(self, ReplaceAll(self.str(), StringArg("replace", args[0]), with,
                               IntArgOr("replace", args[2], -1)));
}

template <bool kPrefix>
Value RemoveMethod(Interp&, const Value& self, Call& call) {
  const Bound args = Bind(kPrefix ? "removeprefix" : "removesuffix", call, {"affix"}, 1);
  const std::string& text = self.str();
  if (!AffixMatches(text, args[0], kPrefix)) return self;
  const std::size_t size = args[0].str().size();
  return Like(self, kPrefix ? text.substr(size) : text.substr(0, text.size() - size));
}

Value JoinMethod(Interp&, const Value& self, Call& call) {
  const Bound args = Bind("join", call, {"iterable"}, 1);
  if (args[0].is_number() || args[0].none()) Fail("can only join an iterable");
  return Like(self, Join(self.str(), Items(args[0]), true));
}

Value FormatMethod(Interp&, const Value& self, Call& call) {
  return Like(self, BraceFormat(self.str(), call));
}

Value FormatMapMethod(Interp&, const Value& self, Call& call) {
  const Bound args = Bind("format_map", call, {"mapping"}, 1);
  if (!args[0].is(Type::kDict)) Fail("format_map() argument must be a mapping");
  Call named;
  for (const auto& [key, value] : args[0].dict().items()) {
    if (key.is_string()) named.kwargs.emplace_back(key.str(), value);
  }
  return Like(self, BraceFormat(self.str(), named));
}

enum class Side { kLeft, kRight, kCenter };

template <Side kSide>
Value JustifyMethod(Interp&, const Value& self, Call& call) {
  const Bound args = Bind("justify", call, {"width", "fillchar"}, 1);
  const std::string fill = args[1].missing() ? " " : StringArg("justify", args[1]);
  if (CountChars(fill) != 1) Fail("The fill character must be exactly one character long");
  const Int length = static_cast<Int>(CountChars(self.str()));
  const Int room = std::max<Int>(IntArg("justify", args[0]) - length, 0);
  constexpr Int kMost = Int{1} << 40;
  if (room > kMost) Fail("the width is too large");
  // An odd rest goes left when the whole width is odd, as in CPython.
  const Int left = kSide == Side::kLeft    ? 0
                   : kSide == Side::kRight ? room
                                           : room / 2 + (room & (room + length) & 1);
  return Like(self, Pad(self.str(), static_cast<std::size_t>(left),
                        static_cast<std::size_t>(room - left), fill));
}

Value ZeroFillMethod(Interp&, const Value& self, Call& call) {
  const Bound args = Bind("zfill", call, {"width"}, 1);
  const std::string& text = self.str();
  const Int room = IntArg("zfill", args[0]) - static_cast<Int>(CountChars(text));
  if (room <= 0) return self;
  constexpr Int kMost = Int{1} << 40;
  if (room > kMost) Fail("the width is too large");
  const std::size_t sign = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  return Like(
      self, text.substr(0, sign) + Pad(text.substr(sign), static_cast<std::size_t>(room), 0, "0"));
}

Value ExpandTabsMethod(Interp&, const Value& self, Call& call) {
  const Bound args = Bind("expandtabs", call, {"tabsize"}, 0);
  const Int size = std::clamp<Int>(IntArgOr("expandtabs", args[0], 8), 0, 1000);
  const std::string& text = self.str();
  std::string out;
  Int column = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = DecodeAt(text, i);
    if (d.c == '\t') {
      const Int spaces = size == 0 ? 0 : size - column % size;
      out.append(static_cast<std::size_t>(spaces), ' ');
      column += spaces;
      CheckBytes(out.size());
    } else {
      out += text.substr(i, d.bytes);
      column = d.c == '\n' || d.c == '\r' ? 0 : column + 1;
    }
    i += d.bytes;
  }
  return Like(self, std::move(out));
}

using ClassFn = bool (*)(char32_t);

// Whether there are chars and all are of the class.
template <ClassFn kFn>
Value AllOf(Interp&, const Value& self, Call& call) {
  Bind("str method", call, {}, 0);
  const std::string& text = self.str();
  ChargeBytes(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = DecodeAt(text, i);
    if (!kFn(d.c)) return Value::Bool(false);
    i += d.bytes;
  }
  return Value::Bool(!text.empty());
}

Value IsAsciiMethod(Interp&, const Value& self, Call& call) {
  Bind("isascii", call, {}, 0);
  return Value::Bool(IsAscii(self.str()));
}

Value IsPrintableMethod(Interp& in, const Value& self, Call& call) {
  return self.str().empty() ? Value::Bool(true) : AllOf<IsPrintable>(in, self, call);
}

Value IsIdentifierMethod(Interp&, const Value& self, Call& call) {
  Bind("isidentifier", call, {}, 0);
  const std::string& text = self.str();
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = DecodeAt(text, i);
    const bool good = d.c == '_' || IsAlpha(d.c) || (i > 0 && IsDecimal(d.c));
    if (!good) return Value::Bool(false);
    i += d.bytes;
  }
  return Value::Bool(!text.empty());
}

template <bool kUpper>
Value IsCaseMethod(Interp&, const Value& self, Call& call) {
  Bind(kUpper ? "isupper" : "islower", call, {}, 0);
  return Value::Bool(HasOnlyCase(self.str(), kUpper));
}

Value IsTitleMethod(Interp&, const Value& self, Call& call) {
  Bind("istitle", call, {}, 0);
  const std::string& text = self.str();
  bool in_word = false;
  bool any = false;
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = DecodeAt(text, i);
    const bool starts = IsUpper(d.c) || IsTitle(d.c);
    if (starts ? in_word : IsLower(d.c) && !in_word) return Value::Bool(false);
    in_word = starts || IsLower(d.c);
    any = any || in_word;
    i += d.bytes;
  }
  return Value::Bool(any);
}

const std::unordered_map<std::string_view, NamedFn>& Methods() {
  static const auto* const methods = [] {
    constexpr NamedFn kAll[] = {
        {"capitalize", ChangeCase<Capitalize>},
        {"casefold", ChangeCase<CaseFold>},
        {"center", JustifyMethod<Side::kCenter>},
        {"count", CountMethod},
        {"endswith", AffixMethod<false>},
        {"expandtabs", ExpandTabsMethod},
        {"find", FindMethod<Find::kFind>},
        {"format", FormatMethod},
        {"format_map", FormatMapMethod},
        {"index", FindMethod<Find::kIndex>},
        {"isalnum", AllOf<IsAlnum>},
        {"isalpha", AllOf<IsAlpha>},
        {"isascii", IsAsciiMethod},
        {"isdecimal", AllOf<IsDecimal>},
        {"isdigit", AllOf<IsDigit>},
        {"isidentifier", IsIdentifierMethod},
        {"islower", IsCaseMethod<false>},
        {"isnumeric", AllOf<IsNumeric>},
        {"isprintable", IsPrintableMethod},
        {"isspace", AllOf<IsSpace>},
        {"istitle", IsTitleMethod},
        {"isupper", IsCaseMethod<true>},
        {"join", JoinMethod},
        {"ljust", JustifyMethod<Side::kLeft>},
        {"lower", ChangeCase<ToLower>},
        {"lstrip", StripMethod<true, false>},
        {"partition", PartitionMethod<false>},
        {"removeprefix", RemoveMethod<true>},
        {"removesuffix", RemoveMethod<false>},
        {"replace", ReplaceMethod},
        {"rfind", FindMethod<Find::kRightFind>},
        {"rindex", FindMethod<Find::kRightIndex>},
        {"rjust", JustifyMethod<Side::kRight>},
        {"rpartition", PartitionMethod<true>},
        {"rsplit", SplitMethod<true>},
        {"rstrip", StripMethod<false, true>},
        {"split", SplitMethod<false>},
        {"splitlines", SplitLinesMethod},
        {"startswith", AffixMethod<true>},
        {"strip", StripMethod<true, true>},
        {"swapcase", ChangeCase<SwapCase>},
        {"title", ChangeCase<ToTitle>},
        {"upper", ChangeCase<ToUpper>},
        {"zfill", ZeroFillMethod},
    };
    auto* map = new std::unordered_map<std::string_view, NamedFn>;
    for (const NamedFn& fn : kAll) map->emplace(fn.name, fn);
    return map;
  }();
  return *methods;
}

}  // namespace

const NamedFn* FindStringMethod(std::string_view name) {
  const auto found = Methods().find(name);
  return found == Methods().end() ? nullptr : &found->second;
}

}  // namespace vt::chat
