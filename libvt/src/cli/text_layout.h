// Lines of text for people: columns and wrapping.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vt::cli {

inline constexpr std::size_t kTextColumns = 80;

// `text` without control characters, which a document could hold and a terminal would obey.
std::string Printable(std::string_view text);

// `head`, then `text` from `column` on, wrapped at words before kTextColumns; with a newline. A
// head that reaches `column` has its own line. A word that is too long is cut into pieces.
std::string Hanging(std::string_view head, std::size_t column, std::string_view text);

// `text` filled with blanks to `width`, cut ("~") where longer.
std::string Left(std::string_view text, std::size_t width);
std::string Right(std::string_view text, std::size_t width);

// "125.7 GiB", "512.0 MiB", "17 bytes".
std::string BytesText(std::uint64_t bytes);

// "1.2e-07", "0", "inf": at most 8 characters.
std::string ShortNumber(double value);

}  // namespace vt::cli
