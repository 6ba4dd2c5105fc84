// Reading and writing UTF-8 one character at a time, with no assumption that the bytes are valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vt {

enum class Utf8Status {
  kValid,
  kInvalid,    // no well-formed character starts here
  kTruncated,  // the text ends inside a character that is well-formed so far
};

struct Utf8Char {
  Utf8Status status = Utf8Status::kInvalid;
  char32_t code_point = 0;  // when valid
  // Bytes of the character; of the longest well-formed beginning (at least 1) when it is not valid.
  std::size_t length = 0;
};

// The character at text[pos]; pos < text.size(). Well-formed as in table 3-7 of the Unicode
// standard: no surrogates, no overlong forms, nothing above U+10FFFF.
Utf8Char ReadUtf8(std::string_view text, std::size_t pos);

// Bytes of the longest valid beginning of `text`.
std::size_t ValidUtf8Prefix(std::string_view text);

void AppendUtf8(std::string& out, char32_t code_point);

inline constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace vt
