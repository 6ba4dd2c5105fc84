// Sets of Unicode characters, and how GBNF writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vt::grammar {

struct CharRange {
  char32_t first = 0;
  char32_t last = 0;
  bool operator==(const CharRange&) const = default;
  bool operator<(const CharRange& other) const {
    return first != other.first ? first < other.first : last < other.last;
  }
};

// Ascending ranges with gaps between them and no surrogates: one form for one set.
class CharSet {
 public:
  CharSet() = default;
  explicit CharSet(const std::vector<CharRange>& ranges);
  static CharSet All();

  const std::vector<CharRange>& ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }
  bool Has(char32_t c) const;
  CharSet Complement() const;
  CharSet Intersection(const CharSet& other) const;
  CharSet Union(const CharSet& other) const;
  bool operator==(const CharSet&) const = default;
  bool operator<(const CharSet& other) const { return ranges_ < other.ranges_; }

 private:
  std::vector<CharRange> ranges_;
};

// The characters of UTF-8 text; what is no UTF-8 becomes U+FFFD.
std::u32string Characters(std::string_view text);

// As GBNF: "a", [a-z], [^\n] or a dot.
std::string ClassText(const CharSet& set);
// "text" in quotes, escaped.
std::string LiteralText(std::u32string_view text);
std::string LiteralText(std::string_view utf8);

}  // namespace vt::grammar
