#include "formats/tokenizer/segmenter.h"

#include <cstdint>

#include "base/utf8.h"
#include "formats/tokenizer/vocabulary.h"

namespace vt::tok {
namespace {

struct Character {
  std::size_t length;
  unsigned char first, last;
};

Character Next(std::string_view text, std::size_t pos) {
  const auto byte = static_cast<unsigned char>(text[pos]);
  if (byte < 0x80) return {1, byte, byte};
  const Utf8Char c = ReadUtf8(text, pos);
  if (c.status != Utf8Status::kValid) return {1, 0xFF, 0xFF};
  if (text.substr(pos, c.length) == kSpaceMark) return {c.length, 0xFF, 0xFF};
  return {c.length, byte, static_cast<unsigned char>(text[pos + c.length - 1])};
}

std::size_t Pair(unsigned char before, unsigned char after) {
  return static_cast<std::size_t>(before) << 8 | after;
}

}  // namespace

void Segmenter::Keep(std::string_view text) {
  if (text.empty()) return;
  Character before = Next(text, 0);
  for (std::size_t pos = before.length; pos < text.size();) {
    const Character after = Next(text, pos);
    joined_.set(Pair(before.last, after.first));
    before = after;
    pos += after.length;
  }
}

std::size_t Segmenter::FirstPiece(std::string_view text) const {
  Character before = Next(text, 0);
  std::size_t pos = before.length;
  while (pos < text.size()) {
    const Character after = Next(text, pos);
    if (!joined_.test(Pair(before.last, after.first))) break;
    before = after;
    pos += after.length;
  }
  return pos;
}

}  // namespace vt::tok
