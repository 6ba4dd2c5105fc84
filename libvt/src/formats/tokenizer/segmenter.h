// Cuts text where no token can lie across the cut, so that its pieces may be merged one by one.
//
// Vocabularies with U+2581 have no pre-tokenizer: merging sees a whole text. But what merges is a
// token, so between two characters that no token has side by side nothing ever merges. Nearly every
// space is such a place.
#pragma once

#include <bitset>
#include <string_view>

namespace vt::tok {

class Segmenter {
 public:
  // Nothing is cut inside `text`, wherever it is met. May be called any number of times.
  void Keep(std::string_view text);

  // Bytes of the first piece of `text`, which is not empty.
  std::size_t FirstPiece(std::string_view text) const;

 private:
  // By the last byte of the character before and the first of the one after; 0xFF, which UTF-8
  // never has, stands for U+2581 and for bytes that are not UTF-8.
  std::bitset<65536> joined_;
};

}  // namespace vt::tok
