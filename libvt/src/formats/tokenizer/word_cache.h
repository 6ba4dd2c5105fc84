// Remembers where in the output the tokens of a word are, so that a word that comes again is
// copied.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "vt/tokenizer.h"

namespace vt::tok {

// For one call of Encode. Each word has one place; a newer one takes it.
class WordCache {
 public:
  explicit WordCache(std::size_t text_bytes)
      : entries_(std::bit_ceil(std::clamp<std::size_t>(text_bytes / 4, 16, 8192))) {}

  static bool Fits(std::string_view word) { return word.size() <= kMaxBytes; }

  // Appends the tokens of `word` to `out` if it is known.
  bool Copy(std::string_view word, std::vector<TokenId>& out) {
    const Entry& entry = At(word);
    if (entry.word != word) return false;
    const std::size_t size = out.size();
    out.resize(size + entry.count);
    std::copy_n(out.begin() + static_cast<std::ptrdiff_t>(entry.begin), entry.count,
                out.begin() + static_cast<std::ptrdiff_t>(size));
    return true;
  }

  // The tokens of `word` are the `count` of the output from `begin`. Its bytes must stay.
  void Remember(std::string_view word, std::size_t begin, std::size_t count) {
    At(word) = {word, begin, count};
  }

 private:
  static constexpr std::size_t kMaxBytes = 32;
  struct Entry {
    std::string_view word;
    std::size_t begin = 0, count = 0;
  };

  Entry& At(std::string_view word) {
    std::uint64_t hash = word.size();
    for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    return entries_[(hash ^ (hash >> 29)) & (entries_.size() - 1)];
  }

  std::vector<Entry> entries_;
};

}  // namespace vt::tok
