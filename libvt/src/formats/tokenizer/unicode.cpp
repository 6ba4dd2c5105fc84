#include "formats/tokenizer/unicode.h"

#include <algorithm>
#include <span>

#include "formats/tokenizer/unicode_tables.h"

namespace vt::tok {
namespace {

// The row with first <= c <= last, or null.
template <class Row>
const Row* FindRow(std::span<const Row> rows, char32_t c) {
  auto row = std::upper_bound(rows.begin(), rows.end(), c,
                              [](char32_t value, const Row& r) { return value < r.first; });
  if (row == rows.begin()) return nullptr;
  --row;
  return c <= row->last ? &*row : nullptr;
}

}  // namespace

bool IsWhiteSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool IsControl(char32_t c) { return FindRow(kControl, c) != nullptr; }
bool IsPunctuation(char32_t c) { return FindRow(kPunctuation, c) != nullptr; }
bool IsMark(char32_t c) { return FindRow(kMark, c) != nullptr; }

bool IsIdeograph(char32_t c) {
  constexpr CodeRange kRanges[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F},
                                   {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  return FindRow(std::span<const CodeRange>(kRanges), c) != nullptr;
}

char32_t ToLower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 0x20 : c;
  const LowerRange* row = FindRow(kLower, c);
  if (row == nullptr || (c - row->first) % row->step != 0) return c;
  return static_cast<char32_t>(static_cast<std::int32_t>(c) + row->delta);
}

char32_t BaseCharacter(char32_t c) {
  if (c < 0x80) return c;
  // Section 3.12 of the Unicode standard: 588 syllables for each leading consonant.
  if (c >= 0xAC00 && c < 0xD7A4) return 0x1100 + (c - 0xAC00) / 588;
  if (const BaseRange* row = FindRow(kBase, c)) return row->to + (c - row->first) * row->step;
  const auto pair =
      std::lower_bound(kBasePair.begin(), kBasePair.end(), c,
                       [](const CodePair& p, char32_t value) { return p.from < value; });
  return pair != kBasePair.end() && pair->from == c ? pair->to : c;
}

}  // namespace vt::tok
