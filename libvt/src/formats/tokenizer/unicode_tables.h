// The tables behind unicode.h, sorted by first code point. Written by
// scripts/make_unicode_tables.py.
#pragma once

#include <cstdint>
#include <span>

namespace vt::tok {

struct CodeRange {
  char32_t first, last;
};
// Every step-th code point from first to last has its lower case `delta` further on.
struct LowerRange {
  char32_t first, last;
  std::uint32_t step;
  std::int32_t delta;
};
// Becomes `to`, which moves by `step` for each.
struct BaseRange {
  char32_t first, last, to;
  std::uint32_t step;
};
struct CodePair {
  char32_t from, to;
};

extern const std::span<const CodeRange> kControl;  // general categories Cc, Cf, Co, Cs
extern const std::span<const CodeRange> kPunctuation;
extern const std::span<const CodeRange> kMark;  // M*
extern const std::span<const LowerRange> kLower;
// First character of the canonical decomposition; a code point is in one of the two or in none.
extern const std::span<const BaseRange> kBase;
extern const std::span<const CodePair> kBasePair;

}  // namespace vt::tok
