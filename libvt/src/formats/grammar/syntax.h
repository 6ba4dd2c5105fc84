// A grammar as it was written: rules and the expressions they stand for.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "formats/grammar/char_set.h"
#include "vt/status.h"

namespace vt::grammar {

struct Place {
  std::size_t line = 1;
  std::size_t column = 1;  // in characters
};

inline constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

struct Expression {
  enum class Kind { kText, kClass, kRule, kSequence, kChoice, kRepeat };
  Kind kind = Kind::kSequence;
  Place place;
  std::u32string text;             // kText
  CharSet set;                     // kClass
  std::size_t rule = 0;            // kRule: index
  std::uint64_t min = 0, max = 0;  // kRepeat of the only part; max may be kUnbounded
  std::vector<Expression> parts;
};

struct Rule {
  std::string name;
  Place place;  // of the definition; of the first use, where there is none
  bool defined = false;
  Expression body;
};

struct Syntax {
  std::vector<Rule> rules;
  std::size_t root = 0;
};

// "line:column: message", kInvalid.
Status ErrorAt(const Place& place, const std::string& message);

// Reads GBNF. All rules that are used are defined, and one is called root.
Result<Syntax> ReadGbnf(std::string_view text);

}  // namespace vt::grammar
