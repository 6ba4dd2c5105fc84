#include "formats/chat/unicode.h"

#include <algorithm>

#include "base/utf8.h"
#include "formats/chat/unicode_tables.h"

namespace vt::chat {
namespace {

constexpr char32_t kRawByte = 0xDC00;
constexpr char32_t kFinalSigma = 0x3C2;
constexpr char32_t kCapitalSigma = 0x3A3;

CharSet DecodeRuns(std::span<const std::uint32_t> numbers, std::size_t width) {
  CharSet set;
  char32_t at = 0;
  for (std::size_t i = 0; i + width <= numbers.size(); i += width) {
    const char32_t first = at + numbers[i];
    at = first + numbers[i + 1];
    set.runs.push_back({first, at, width == 3 ? numbers[i + 2] : 1, 0});
  }
  return set;
}

enum class Case { kUpper, kLower, kTitle };

void AppendCase(std::string& out, char32_t c, Case to) {
  if (c < 0x80) {
    if (to == Case::kLower) {
      if (c >= 'A' && c <= 'Z') c += 32;
    } else if (c >= 'a' && c <= 'z') {
      c -= 32;
    }
    out.push_back(static_cast<char>(c));
    return;
  }
  if (to == Case::kTitle) {
    const auto& special = TitleMap().special;
    if (const auto found = special.find(c); found != special.end()) {
      out += found->second;
      return;
    }
  }
  const CaseMap& map = to == Case::kLower ? LowerMap() : UpperMap();
  if (const auto found = map.special.find(c); found != map.special.end()) {
    out += found->second;
    return;
  }
  const auto moved = map.distance.find(c);
  const std::int32_t distance = moved == map.distance.end() ? 0 : moved->second;
  AppendChar(out, static_cast<char32_t>(static_cast<std::int32_t>(c) + distance));
}

bool AlphaBefore(std::string_view text, std::size_t at) {
  return at > 0 && IsAlpha(DecodeAt(text, PreviousChar(text, at)).c);
}

// Lower case of the char at `at`; a capital sigma that ends a word has a form of its own.
void AppendLower(std::string& out, std::string_view text, std::size_t at, Decoded d) {
  if (d.c == kCapitalSigma && AlphaBefore(text, at)) {
    const std::size_t next = at + d.bytes;
    if (next >= text.size() || !IsAlpha(DecodeAt(text, next).c)) {
      AppendChar(out, kFinalSigma);
      return;
    }
  }
  AppendCase(out, d.c, Case::kLower);
}

bool IsCased(char32_t c) { return IsLower(c) || IsUpper(c) || IsTitle(c); }

}  // namespace

bool CharSet::Has(char32_t c) const {
  const auto after = std::upper_bound(runs.begin(), runs.end(), c,
                                      [](char32_t x, const CharRun& r) { return x < r.first; });
  if (after == runs.begin()) return false;
  const CharRun& run = *(after - 1);
  return c <= run.last && (c - run.first) % run.stride == 0;
}

CharSet DecodePairs(std::span<const std::uint32_t> numbers) { return DecodeRuns(numbers, 2); }
CharSet DecodeTriples(std::span<const std::uint32_t> numbers) { return DecodeRuns(numbers, 3); }

CaseMap DecodeMap(std::span<const std::int32_t> numbers, std::span<const Special> special) {
  CaseMap map;
  std::int32_t first = 0;
  for (std::size_t i = 0; i + 4 <= numbers.size(); i += 4) {
    first += numbers[i];
    for (std::int32_t c = first; c <= first + numbers[i + 1]; c += numbers[i + 2]) {
      map.distance[static_cast<char32_t>(c)] = numbers[i + 3];
    }
  }
  for (const Special& s : special) map.special[s.from] = s.to;
  return map;
}

Decoded DecodeAt(std::string_view text, std::size_t at) {
  const Utf8Char read = ReadUtf8(text, at);
  if (read.status == Utf8Status::kValid) return {read.code_point, read.length};
  return {kRawByte + static_cast<unsigned char>(text[at]), 1};
}

void AppendChar(std::string& out, char32_t c) {
  if (c >= kRawByte + 0x80 && c <= kRawByte + 0xFF) {
    out.push_back(static_cast<char>(c - kRawByte));
  } else {
    AppendUtf8(out, c);
  }
}

bool IsAscii(std::string_view text) {
  unsigned char any = 0;
  for (const char c : text) any = static_cast<unsigned char>(any | static_cast<unsigned char>(c));
  return any < 0x80;
}

std::size_t CountChars(std::string_view text) {
  if (IsAscii(text)) return text.size();
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); i += DecodeAt(text, i).bytes) ++count;
  return count;
}

std::size_t ByteOffset(std::string_view text, std::size_t chars) {
  std::size_t at = 0;
  for (; chars > 0 && at < text.size(); --chars) at += DecodeAt(text, at).bytes;
  return at;
}

std::size_t PreviousChar(std::string_view text, std::size_t end) {
  for (std::size_t back = std::min<std::size_t>(4, end); back > 1; --back) {
    if (DecodeAt(text.substr(0, end), end - back).bytes == back) return end - back;
  }
  return end - 1;
}

bool IsSpace(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}
bool IsLineBreak(char32_t c) {
  return (c >= 10 && c <= 13) || (c >= 28 && c <= 30) || c == 0x85 || c == 0x2028 || c == 0x2029;
}
bool IsAlpha(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return AlphaSet().Has(c);
}
bool IsDecimal(char32_t c) { return c < 0x80 ? c >= '0' && c <= '9' : DecimalSet().Has(c); }
bool IsDigit(char32_t c) { return c < 0x80 ? c >= '0' && c <= '9' : DigitSet().Has(c); }
bool IsNumeric(char32_t c) { return c < 0x80 ? c >= '0' && c <= '9' : NumericSet().Has(c); }
bool IsAlnum(char32_t c) { return IsAlpha(c) || IsDecimal(c) || IsDigit(c) || IsNumeric(c); }
bool IsPrintable(char32_t c) { return c < 0x80 ? c >= 32 && c < 127 : PrintableSet().Has(c); }
bool IsLower(char32_t c) { return c < 0x80 ? c >= 'a' && c <= 'z' : LowerSet().Has(c); }
bool IsUpper(char32_t c) { return c < 0x80 ? c >= 'A' && c <= 'Z' : UpperSet().Has(c); }
bool IsTitle(char32_t c) {
  return c == 0x1C5 || c == 0x1C8 || c == 0x1CB || c == 0x1F2 || (c >= 0x1F88 && c <= 0x1F8F) ||
         (c >= 0x1F98 && c <= 0x1F9F) || (c >= 0x1FA8 && c <= 0x1FAF) || c == 0x1FBC ||
         c == 0x1FCC || c == 0x1FFC;
}

std::string ToUpper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = DecodeAt(text, i);
    AppendCase(out, d.c, Case::kUpper);
    i += d.bytes;
  }
  return out;
}

std::string ToLower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = DecodeAt(text, i);
    AppendLower(out, text, i, d);
    i += d.bytes;
  }
  return out;
}

std::string CaseFold(std::string_view text) {
  // Folding is lower case of upper case, char by char: a sharp s becomes ss, and sigmas are equal.
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = DecodeAt(text, i);
    std::string upper;
    AppendCase(upper, d.c, Case::kUpper);
    for (std::size_t j = 0; j < upper.size();) {
      const Decoded u = DecodeAt(upper, j);
      AppendCase(out, u.c, Case::kLower);
      j += u.bytes;
    }
    i += d.bytes;
  }
  return out;
}

std::string Capitalize(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = DecodeAt(text, i);
    if (i == 0) {
      AppendCase(out, d.c, Case::kTitle);
    } else {
      AppendLower(out, text, i, d);
    }
    i += d.bytes;
  }
  return out;
}

std::string ToTitle(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_word = false;
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = DecodeAt(text, i);
    if (in_word) {
      AppendLower(out, text, i, d);
    } else {
      AppendCase(out, d.c, Case::kTitle);
    }
    in_word = IsCased(d.c);
    i += d.bytes;
  }
  return out;
}

std::string SwapCase(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = DecodeAt(text, i);
    if (IsUpper(d.c)) {
      AppendLower(out, text, i, d);
    } else if (IsLower(d.c)) {
      AppendCase(out, d.c, Case::kUpper);
    } else {
      AppendChar(out, d.c);
    }
    i += d.bytes;
  }
  return out;
}

std::string_view StripLeft(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Decoded d = DecodeAt(text, at);
    if (!IsSpace(d.c)) break;
    at += d.bytes;
  }
  return text.substr(at);
}

std::string_view StripRight(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    const std::size_t at = PreviousChar(text, end);
    if (!IsSpace(DecodeAt(text, at).c)) break;
    end = at;
  }
  return text.substr(0, end);
}

}  // namespace vt::chat
