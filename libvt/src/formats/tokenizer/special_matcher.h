// Finds special tokens in text: where tokens overlap the longest wins, wherever it starts.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vt/tokenizer.h"

namespace vt::tok {

struct SpecialToken {
  TokenId id = kNoToken;
  std::string text;
  bool strip_left = false;   // eats the white space before it
  bool strip_right = false;  // and after it
};

// A stretch of the text: a special token, or (kNoToken) ordinary text.
struct Fragment {
  TokenId special = kNoToken;
  std::string_view text;
};

class SpecialMatcher {
 public:
  SpecialMatcher() = default;
  // Tokens with an empty text are left out; of equal texts the first stays.
  explicit SpecialMatcher(std::vector<SpecialToken> tokens);

  // Fragments in order, none empty; they view `text`. White space that a token eats is in none.
  // No token is found across one of `literal_offsets`, which ascend.
  std::vector<Fragment> Split(std::string_view text,
                              std::span<const std::size_t> literal_offsets = {}) const;

 private:
  // A prefix tree over the texts. A node that stands for one token only has no children: the rest
  // of that token's text is compared directly.
  struct Node {
    std::uint32_t token = kNone;  // ends here, or is the only one below
    std::uint32_t first_child = 0;
    std::uint16_t children = 0;  // contiguous, sorted by byte
    unsigned char byte = 0;
    bool single = false;
  };
  struct Match {
    std::size_t begin = 0;
    std::uint32_t token = 0;
  };
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  template <class Visit>
  void ForEachMatch(std::string_view text, std::size_t pos, Visit&& visit) const;
  std::vector<Match> FindMatches(std::string_view text,
                                 std::span<const std::size_t> literal_offsets) const;

  std::vector<SpecialToken> tokens_;  // sorted by text
  std::vector<Node> nodes_;
  std::array<std::uint32_t, 256> roots_{};  // the node of a first byte, kNone for none
};

}  // namespace vt::tok
