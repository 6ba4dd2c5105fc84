// Character classes and case maps as Python's str methods have them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vt::chat {

// first, first + stride, ... last; ascending and disjoint.
struct CharRun {
  char32_t first = 0;
  char32_t last = 0;
  char32_t stride = 1;
  std::int32_t distance = 0;  // of case maps: what is added to a member
};

struct CharSet {
  std::vector<CharRun> runs;
  bool Has(char32_t c) const;
};

struct Special {
  char32_t from;
  const char* to;  // UTF-8
};

struct CaseMap {
  std::unordered_map<char32_t, std::int32_t> distance;
  std::unordered_map<char32_t, std::string_view> special;
};

// Runs as (gap since the last run's last, last - first), or with a stride as third.
CharSet DecodePairs(std::span<const std::uint32_t> numbers);
CharSet DecodeTriples(std::span<const std::uint32_t> numbers);
// Runs as (gap since the last run's first, last - first, stride, distance).
CaseMap DecodeMap(std::span<const std::int32_t> numbers, std::span<const Special> special);

const CharSet& AlphaSet();
const CharSet& DecimalSet();
const CharSet& DigitSet();
const CharSet& NumericSet();
const CharSet& PrintableSet();
const CharSet& LowerSet();
const CharSet& UpperSet();
const CaseMap& UpperMap();
const CaseMap& LowerMap();
const CaseMap& TitleMap();  // only where title case is not upper case

}  // namespace vt::chat
