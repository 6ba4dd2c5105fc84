// Regular expressions of JSON Schema as GBNF.
#pragma once

#include <string>
#include <string_view>

#include "vt/status.h"

namespace vt::grammar {

// The rules of a character of a JSON string; `char` is any.
inline constexpr std::string_view kCharRule = "char";

// GBNF for one character of a set inside a JSON string, escaped where JSON asks for it.
class CharSet;
std::string JsonCharacter(const CharSet& set);

// An expression in parentheses for the contents of JSON strings (without the quotes) that an
// ECMAScript regular expression finds a match in. kInvalid names what is not supported, with its
// place in the pattern: look-around, back-references, word boundaries, \p{..}, anchors other than
// around a whole alternative.
Result<std::string> PatternToGbnf(std::string_view pattern);

}  // namespace vt::grammar
