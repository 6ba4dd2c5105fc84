// String operations that methods and filters share, over UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/chat/value.h"

namespace vt::chat {

std::string EscapeHtml(std::string_view text);
// At most `count` replacements from the left; negative: all. An empty `from` lies between chars.
std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to,
                       Int count);
// Lines without their ends (or with, for `keep`).
std::vector<std::string_view> SplitLines(std::string_view text, bool keep);
// str.split and str.rsplit; `separator` null is white space. Negative `limit`: no limit.
std::vector<std::string_view> Split(std::string_view text, const std::string* separator, Int limit);
std::vector<std::string_view> SplitRight(std::string_view text, const std::string* separator,
                                         Int limit);
// Strips chars of the set `chars`; null is white space.
std::string_view Strip(std::string_view text, const std::string* chars, bool left, bool right);
// text[start:stop] in chars, negative from the end, and the byte where it begins.
struct CharRange {
  std::string_view text;
  std::size_t offset = 0;  // of text, in bytes
  bool past_end = false;   // start lies behind the end: not even "" is found there
};
CharRange SliceChars(std::string_view text, const Value& start, const Value& stop);
std::string Join(std::string_view separator, const Items& items, bool only_strings);
// Text of `width` chars with the fill left and right of it as str.center and friends do.
std::string Pad(std::string_view text, std::size_t left, std::size_t right, std::string_view fill);

// str.isupper and str.islower: some cased char, and none of the other case.
bool HasOnlyCase(std::string_view text, bool upper);

}  // namespace vt::chat
