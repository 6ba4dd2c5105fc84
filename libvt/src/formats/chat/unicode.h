// UTF-8 text as Python sees it: a row of code points with classes and cases.
//
// Bytes that are not UTF-8 are kept: each is one char, U+DC00 + byte, and is written back as
// itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vt::chat {

struct Decoded {
  char32_t c;
  std::size_t bytes;
};

Decoded DecodeAt(std::string_view text, std::size_t at);  // at < text.size()
void AppendChar(std::string& out, char32_t c);
bool IsAscii(std::string_view text);
std::size_t CountChars(std::string_view text);
// The byte where char number `chars` starts; text.size() when there are no more than that.
std::size_t ByteOffset(std::string_view text, std::size_t chars);
// The byte where the last char of text[0, end) starts; end > 0.
std::size_t PreviousChar(std::string_view text, std::size_t end);

bool IsSpace(char32_t c);      // what split() and strip() take as white space
bool IsLineBreak(char32_t c);  // what splitlines() breaks at
bool IsAlpha(char32_t c);
bool IsDecimal(char32_t c);
bool IsDigit(char32_t c);
bool IsNumeric(char32_t c);
bool IsAlnum(char32_t c);
bool IsPrintable(char32_t c);
bool IsLower(char32_t c);
bool IsUpper(char32_t c);
bool IsTitle(char32_t c);

std::string ToUpper(std::string_view text);
std::string ToLower(std::string_view text);
std::string CaseFold(std::string_view text);
std::string Capitalize(std::string_view text);
std::string ToTitle(std::string_view text);
std::string SwapCase(std::string_view text);

std::string_view StripLeft(std::string_view text);
std::string_view StripRight(std::string_view text);

}  // namespace vt::chat
