#include "formats/chat/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "formats/chat/budget.h"
#include "formats/chat/compare.h"
#include "formats/chat/objects.h"
#include "formats/chat/unicode.h"

namespace vt::chat {
namespace {

void AppendHex(std::string& out, const char* prefix, char32_t c, int digits) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "%s%0*x", prefix, digits, static_cast<unsigned>(c));
  out += buffer;
}

// Objects are not counted in a value's depth, so a chain of namespaces can be of any length.
class ReprDepth {
 public:
  ReprDepth() {
    constexpr int kMaxRepr = 500;
    if (depth_ >= kMaxRepr) Fail("maximum recursion depth exceeded in repr()");
    ++depth_;
  }
  ~ReprDepth() { --depth_; }

 private:
  static thread_local int depth_;
};
thread_local int ReprDepth::depth_ = 0;

void AppendItems(std::string& out, const std::vector<Value>& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    AppendRepr(out, items[i]);
  }
}

void AppendSeq(std::string& out, const Seq& seq) {
  const auto wrapped = [&](const char* open, const char* close) {
    out += open;
    AppendItems(out, seq.items);
    out += close;
  };
  switch (seq.kind) {
    case SeqKind::kList:
      return wrapped("[", "]");
    case SeqKind::kTuple:
    case SeqKind::kGroup:
      return wrapped("(", seq.items.size() == 1 ? ",)" : ")");
    case SeqKind::kKeys:
      return wrapped("dict_keys([", "])");
    case SeqKind::kValues:
      return wrapped("dict_values([", "])");
    case SeqKind::kItems:
      return wrapped("dict_items([", "])");
    case SeqKind::kIterator:
      out += "<generator object>";
      return;
    case SeqKind::kRange:
      break;
  }
  out += "range(" + std::to_string(seq.range[0]) + ", " + std::to_string(seq.range[1]);
  if (seq.range[2] != 1) out += ", " + std::to_string(seq.range[2]);
  out += ")";
}

constexpr std::size_t kPrettyWidth = 80;

Dict SortedDict(const Dict& dict) {
  std::vector<Value> keys;
  for (const Dict::Item& item : dict.items()) keys.push_back(item.first);
  Dict sorted;
  for (const std::size_t i : SortedOrder(keys, false)) {
    sorted.Set(dict.items()[i].first, dict.items()[i].second);
  }
  return sorted;
}

// A copy with every dict in key order, where keys can be ordered.
Value SortedDeep(const Value& v) {
  ChargeSteps(1);
  if (v.is(Type::kDict)) {
    const Dict sorted = SortedDict(v.dict());
    Dict deep;
    for (const Dict::Item& item : sorted.items()) deep.Set(item.first, SortedDeep(item.second));
    return Value::Of(std::move(deep));
  }
  if (v.is(Type::kSeq) && v.seq().kind <= SeqKind::kTuple) {
    Seq seq;
    seq.kind = v.seq().kind;
    for (const Value& item : v.seq().items) seq.items.push_back(SortedDeep(item));
    return Value::Of(std::move(seq));
  }
  return v;
}

// A long string is broken between words, each part quoted.
void AppendPrettyString(std::string& out, const std::string& text, std::size_t indent,
                        std::size_t allowance, bool top) {
  if (top) {
    ++indent;
    ++allowance;
  }
  std::vector<std::string> parts;
  std::string part;
  const auto fits = [&](const std::string& candidate, bool last) {
    const std::size_t room = kPrettyWidth - indent - (last ? allowance : 0);
    return indent + (last ? allowance : 0) < kPrettyWidth &&
           CountChars(ReprString(candidate)) <= room;
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;  // a word and the white space behind it; a line break ends a part
    while (end < text.size() && !IsSpace(DecodeAt(text, end).c)) end += DecodeAt(text, end).bytes;
    bool line_break = false;
    while (end < text.size() && IsSpace(DecodeAt(text, end).c) && !line_break) {
      line_break = IsLineBreak(DecodeAt(text, end).c);
      end += DecodeAt(text, end).bytes;
    }
    const std::string word = text.substr(at, end - at);
    if (!part.empty() && !fits(part + word, end == text.size())) {
      parts.push_back(part);
      part.clear();
    }
    part += word;
    if (line_break) {
      parts.push_back(part);
      part.clear();
    }
    ChargeBytes(part.size());
    at = end;
  }
  if (!part.empty()) parts.push_back(part);
  const bool wrap = top && parts.size() > 1;
  if (wrap) out += "(";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) {
      out += '\n';
      out.append(indent, ' ');
    }
    out += ReprString(parts[i]);
  }
  if (wrap) out += ")";
}

void AppendPretty(std::string& out, const Value& v, std::size_t indent, std::size_t allowance,
                  bool top) {
  CheckBytes(out.size() + indent);
  const std::string flat = Repr(v);
  if (CountChars(flat) + indent + allowance <= kPrettyWidth) {
    out += flat;
    return;
  }
  const bool is_dict = v.is(Type::kDict) && v.dict().size() > 0;
  const bool is_seq = v.is(Type::kSeq) && v.seq().kind <= SeqKind::kTuple;
  if (v.is_string() && !v.str().empty()) {
    return AppendPrettyString(out, v.str(), indent, allowance, top);
  }
  if (!is_dict && !is_seq) {
    out += flat;
    return;
  }
  const bool tuple = is_seq && v.seq().kind == SeqKind::kTuple;
  out += is_dict ? "{" : tuple ? "(" : "[";
  const std::size_t count = is_dict ? v.dict().size() : v.seq().items.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += ",\n" + std::string(indent + 1, ' ');
    const std::size_t after = i + 1 == count ? allowance + (tuple && count == 1 ? 2 : 1) : 1;
    if (is_dict) {
      const auto& [key, value] = v.dict().items()[i];
      const std::string name = Repr(key);
      out += name + ": ";
      AppendPretty(out, value, indent + 1 + CountChars(name) + 2, after, false);
    } else {
      AppendPretty(out, v.seq().items[i], indent + 1, after, false);
    }
  }
  out += is_dict ? "}" : !tuple ? "]" : count == 1 ? ",)" : ")";
}

}  // namespace

void AppendStr(std::string& out, const Value& v) {
  if (v.undefined() || v.missing()) return;
  if (v.is_string()) {
    ChargeBytes(v.str().size());
    out += v.str();
  } else {
    AppendRepr(out, v);
  }
}

std::string ToStr(const Value& v) {
  std::string out;
  AppendStr(out, v);
  return out;
}

std::string Repr(const Value& v) {
  std::string out;
  AppendRepr(out, v);
  return out;
}

void AppendRepr(std::string& out, const Value& v) {
  const ReprDepth guard;
  ChargeSteps(1);
  CheckBytes(out.size());
  switch (v.type()) {
    case Type::kMissing:
    case Type::kUndefined:
      out += "Undefined";
      return;
    case Type::kNone:
      out += "None";
      return;
    case Type::kBool:
      out += v.boolean() ? "True" : "False";
      return;
    case Type::kInt:
      out += FormatInt(v.integer());
      return;
    case Type::kFloat:
      out += ReprFloat(v.number());
      return;
    case Type::kString:
      ChargeBytes(v.str().size());
      out += IsMarkup(v) ? "Markup(" + ReprString(v.str()) + ")" : ReprString(v.str());
      return;
    case Type::kSeq:
      return AppendSeq(out, v.seq());
    case Type::kObject:
      out += v.object().Repr();
      return;
    case Type::kDict:
      break;
  }
  out += "{";
  bool first = true;
  for (const auto& [key, value] : v.dict().items()) {
    if (!first) out += ", ";
    first = false;
    AppendRepr(out, key);
    out += ": ";
    AppendRepr(out, value);
  }
  out += "}";
}

std::string ReprString(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t i = 0; i < text.size();) {
    const auto [c, bytes] = DecodeAt(text, i);
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out.push_back('\\');
      out.push_back(static_cast<char>(c));
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (IsPrintable(c)) {
      out += text.substr(i, bytes);
    } else if (c < 0x100) {
      AppendHex(out, "\\x", c, 2);
    } else if (c < 0x10000) {
      AppendHex(out, "\\u", c, 4);
    } else {
      AppendHex(out, "\\U", c, 8);
    }
    i += bytes;
  }
  out.push_back(quote);
  return out;
}

std::string ReprFloat(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  // Python writes the shortest digits that read back, with an exponent from 1e16 and below 1e-4.
  constexpr double kFixedFrom = 1e-4;
  constexpr double kFixedTo = 1e16;
  const double size = std::fabs(d);
  const bool fixed = size == 0 || (size >= kFixedFrom && size < kFixedTo);
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, d,
                                 fixed ? std::chars_format::fixed : std::chars_format::scientific);
  std::string out(buffer, end.ptr);
  if (fixed && out.find('.') == std::string::npos) out += ".0";
  return out;
}

std::string FormatInt(Int i) {
  auto rest = static_cast<unsigned __int128>(i);
  if (i < 0) rest = -rest;
  std::string out;
  do {
    out.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest != 0);
  if (i < 0) out.push_back('-');
  std::reverse(out.begin(), out.end());
  return out;
}

std::string PrettyRepr(const Value& v) {
  std::string out;
  AppendPretty(out, SortedDeep(v), 0, 0, true);
  return out;
}

}  // namespace vt::chat
