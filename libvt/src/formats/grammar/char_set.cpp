#include "formats/grammar/char_set.h"

#include <algorithm>
#include <cstdio>

#include "base/utf8.h"

namespace vt::grammar {
namespace {

constexpr char32_t kLast = 0x10FFFF;
constexpr CharRange kSurrogates = {0xD800, 0xDFFF};

void AppendEscaped(std::string& out, char32_t c, std::string_view special) {
  char text[16];
  if (c == '\n') {
    out += "\\n";
  } else if (c == '\r') {
    out += "\\r";
  } else if (c == '\t') {
    out += "\\t";
  } else if (c < 0x80 && special.find(static_cast<char>(c)) != std::string_view::npos) {
    out += '\\';
    out += static_cast<char>(c);
  } else if (c < 0x20 || c == 0x7F) {
    std::snprintf(text, sizeof text, "\\x%02X", static_cast<unsigned>(c));
    out += text;
  } else {
    AppendUtf8(out, c);
  }
}

// In a class, characters beyond ASCII are written as numbers: ranges of them can be read that way.
void AppendClassChar(std::string& out, char32_t c) {
  char text[16];
  if (c == '^') {
    out += "\\x5E";
  } else if (c < 0x80) {
    AppendEscaped(out, c, "\\[]-");
  } else {
    std::snprintf(text, sizeof text, c > 0xFFFF ? "\\U%08X" : "\\u%04X", static_cast<unsigned>(c));
    out += text;
  }
}

void AppendRanges(std::string& out, const CharSet& set) {
  for (const CharRange& range : set.ranges()) {
    AppendClassChar(out, range.first);
    if (range.last == range.first) continue;
    if (range.last > range.first + 1) out += '-';
    AppendClassChar(out, range.last);
  }
}

}  // namespace

CharSet::CharSet(const std::vector<CharRange>& ranges) {
  std::vector<CharRange> parts;
  for (CharRange range : ranges) {
    range.last = std::min(range.last, kLast);
    if (range.first < kSurrogates.first) {
      const char32_t last = std::min<char32_t>(range.last, kSurrogates.first - 1);
      if (range.first <= last) parts.push_back({range.first, last});
    }
    if (range.last > kSurrogates.last) {
      const char32_t first = std::max<char32_t>(range.first, kSurrogates.last + 1);
      if (first <= range.last) parts.push_back({first, range.last});
    }
  }
  std::sort(parts.begin(), parts.end());
  for (const CharRange& range : parts) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    } else {
      ranges_.push_back(range);
    }
  }
}

CharSet CharSet::All() { return CharSet({{0, kLast}}); }

bool CharSet::Has(char32_t c) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [c](const CharRange& r) { return r.first <= c && c <= r.last; });
}

CharSet CharSet::Complement() const {
  std::vector<CharRange> rest;
  char32_t next = 0;
  for (const CharRange& range : ranges_) {
    if (range.first > next) rest.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLast) rest.push_back({next, kLast});
  return CharSet(rest);
}

CharSet CharSet::Union(const CharSet& other) const {
  std::vector<CharRange> all = ranges_;
  all.insert(all.end(), other.ranges_.begin(), other.ranges_.end());
  return CharSet(all);
}

CharSet CharSet::Intersection(const CharSet& other) const {
  return Complement().Union(other.Complement()).Complement();
}

std::u32string Characters(std::string_view text) {
  std::u32string characters;
  for (std::size_t pos = 0; pos < text.size();) {
    const Utf8Char c = ReadUtf8(text, pos);
    characters.push_back(c.status == Utf8Status::kValid ? c.code_point : U'\uFFFD');
    pos += c.length;
  }
  return characters;
}

std::string ClassText(const CharSet& set) {
  const std::vector<CharRange>& ranges = set.ranges();
  if (set == CharSet::All()) return ".";
  if (ranges.size() == 1 && ranges[0].first == ranges[0].last) {
    return LiteralText(std::u32string(1, ranges[0].first));
  }
  std::string text = "[";
  if (!ranges.empty() && ranges.back().last == kLast) {
    text += '^';
    AppendRanges(text, set.Complement());
  } else {
    AppendRanges(text, set);
  }
  return text + "]";
}

std::string LiteralText(std::u32string_view text) {
  std::string out = "\"";
  for (const char32_t c : text) AppendEscaped(out, c, "\"\\");
  return out + "\"";
}

std::string LiteralText(std::string_view utf8) { return LiteralText(Characters(utf8)); }

}  // namespace vt::grammar
