// Lines of text for people: columns and wrapping.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vt {

inline constexpr std::size_t kTextColumns = 80;

// `text` without control characters, which a document could hold and a terminal would obey.
std::string Printable(std::string_view text);

// The words of `text` in lines of at most kTextColumns, each with its newline: the first goes on a
// line that has `first` columns already, the others begin with `indent` blanks. A word that is too
// long is cut into pieces.
std::string Wrapped(std::string_view text, std::size_t first = 0, std::size_t indent = 2);

// `head`, then `text` wrapped from `column` on. A head that reaches `column` has its own line.
std::string Hanging(std::string_view head, std::size_t column, std::string_view text);

// `text` filled with blanks to `width`, cut ("~") where longer.
std::string Left(std::string_view text, std::size_t width);
std::string Right(std::string_view text, std::size_t width);

// "1.2e-07", "0", "inf": at most 8 characters.
std::string ShortNumber(double value);

}  // namespace vt
