#include "base/utf8.h"

#include <cstring>

namespace vt {
namespace {

struct LeadByte {
  unsigned length = 0;  // 0: no character starts with this byte
  unsigned char second_min = 0x80, second_max = 0xBF;
};

LeadByte Classify(unsigned char lead) {
  if (lead < 0x80) return {.length = 1};
  if (lead < 0xC2) return {};
  if (lead < 0xE0) return {.length = 2};
  if (lead == 0xE0) return {.length = 3, .second_min = 0xA0};
  if (lead == 0xED) return {.length = 3, .second_max = 0x9F};
  if (lead < 0xF0) return {.length = 3};
  if (lead == 0xF0) return {.length = 4, .second_min = 0x90};
  if (lead < 0xF4) return {.length = 4};
  if (lead == 0xF4) return {.length = 4, .second_max = 0x8F};
  return {};
}

}  // namespace

Utf8Char ReadUtf8(std::string_view text, std::size_t pos) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[pos + i]); };
  const LeadByte lead = Classify(byte(0));
  if (lead.length == 1) return {Utf8Status::kValid, byte(0), 1};
  if (lead.length == 0) return {Utf8Status::kInvalid, 0, 1};
  constexpr unsigned kLeadBits[5] = {0, 0, 0x1F, 0x0F, 0x07};
  char32_t code_point = byte(0) & kLeadBits[lead.length];
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (pos + i >= text.size()) return {Utf8Status::kTruncated, 0, i};
    const unsigned char low = i == 1 ? lead.second_min : 0x80;
    const unsigned char high = i == 1 ? lead.second_max : 0xBF;
    if (byte(i) < low || byte(i) > high) return {Utf8Status::kInvalid, 0, i};
    code_point = (code_point << 6) | (byte(i) & 0x3F);
  }
  return {Utf8Status::kValid, code_point, lead.length};
}

std::size_t ValidUtf8Prefix(std::string_view text) {
  std::size_t pos = 0;
  while (pos < text.size()) {
    // Eight ASCII bytes at once: most text is.
    std::uint64_t word = 0;
    while (pos + 8 <= text.size()) {
      std::memcpy(&word, text.data() + pos, 8);
      if ((word & 0x8080808080808080u) != 0) break;
      pos += 8;
    }
    if (pos == text.size()) break;
    const Utf8Char c = ReadUtf8(text, pos);
    if (c.status != Utf8Status::kValid) break;
    pos += c.length;
  }
  return pos;
}

void AppendUtf8(std::string& out, char32_t c) {
  const auto push = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    push(c);
  } else if (c < 0x800) {
    push(0xC0 | (c >> 6));
    push(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    push(0xE0 | (c >> 12));
    push(0x80 | ((c >> 6) & 0x3F));
    push(0x80 | (c & 0x3F));
  } else {
    push(0xF0 | (c >> 18));
    push(0x80 | ((c >> 12) & 0x3F));
    push(0x80 | ((c >> 6) & 0x3F));
    push(0x80 | (c & 0x3F));
  }
}

}  // namespace vt
