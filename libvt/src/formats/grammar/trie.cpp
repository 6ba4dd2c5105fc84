#include "formats/grammar/trie.h"

#include <algorithm>
#include <limits>

#include "base/utf8.h"
#include "formats/grammar/byte_buckets.h"

namespace vt::grammar {

Trie::Trie(std::span<const GrammarVocabulary::Token> tokens) {
  text_begin_.push_back(0);
  for (const GrammarVocabulary::Token& token : tokens) {
    texts_ += token.text;
    text_begin_.push_back(static_cast<std::uint32_t>(texts_.size()));
    drops_.push_back(token.drops_next_space);
  }
  // A text longer than a depth can say is one that no grammar allows.
  constexpr std::size_t kLongest = std::numeric_limits<std::uint16_t>::max();
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const std::size_t size = tokens[id].text.size();
    if (size > 0 && size <= kLongest) tokens_.push_back(static_cast<TokenId>(id));
  }
  std::sort(tokens_.begin(), tokens_.end(), [this](TokenId a, TokenId b) {
    const int order = text(a).compare(text(b));
    return order != 0 ? order < 0 : a < b;
  });

  nodes_.push_back({});
  std::vector<std::size_t> path = {0};  // the node at each depth
  std::string_view before;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view now = text(tokens_[i]);
    const auto parting = std::mismatch(before.begin(), before.end(), now.begin(), now.end());
    const auto shared = static_cast<std::size_t>(parting.first - before.begin());
    for (; path.size() > shared + 1; path.pop_back()) {
      nodes_[path.back()].end = static_cast<std::uint32_t>(nodes_.size());
    }
    for (std::size_t depth = shared + 1; depth <= now.size(); ++depth) {
      path.push_back(nodes_.size());
      nodes_.push_back({.tokens_begin = static_cast<std::uint32_t>(i),
                        .depth = static_cast<std::uint16_t>(depth),
                        .byte = static_cast<std::uint8_t>(now[depth - 1])});
    }
    depth_ = std::max(depth_, now.size());
    before = now;
  }
  for (const std::size_t node : path) nodes_[node].end = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({.tokens_begin = static_cast<std::uint32_t>(tokens_.size())});
  SumUp();
}

// Sets `below` and `height`. A node inside a character, or behind bytes that are none, is opaque
// itself; what is under it counts for the nodes above as what it is there.
void Trie::SumUp() {
  enum class Inside : std::uint8_t { kNothing, kCharacter, kBroken };
  const std::size_t count = nodes_.size() - 1;
  std::vector<Inside> inside(count, Inside::kNothing);
  std::vector<std::size_t> parents(count, 0);
  std::string text;  // bytes from the root
  std::vector<std::size_t> path = {0};
  for (std::size_t i = 1; i < count; ++i) {
    path.resize(nodes_[i].depth);
    parents[i] = path.back();
    path.push_back(i);
    text.resize(nodes_[i].depth - 1u);
    text += static_cast<char>(nodes_[i].byte);
    if (inside[parents[i]] == Inside::kBroken) {
      inside[i] = Inside::kBroken;
    } else {
      // A character has at most four bytes, and valid ones lie before it.
      std::size_t start = text.size() - 1;
      while (start > 0 && inside[path[start]] == Inside::kCharacter) --start;
      const Utf8Char c = ReadUtf8(text, start);
      if (c.status == Utf8Status::kInvalid) inside[i] = Inside::kBroken;
      if (c.status == Utf8Status::kTruncated) inside[i] = Inside::kCharacter;
    }
  }
  for (std::size_t i = count - 1; i > 0; --i) {
    Node& parent = nodes_[parents[i]];
    std::uint64_t own = kMultibyte;
    if (inside[i] == Inside::kBroken) {
      own = kOpaque;
    } else if (nodes_[i].byte < 0x80) {
      own = std::uint64_t{1} << BucketOf(nodes_[i].byte);
    }
    parent.below |= own | nodes_[i].below;
    const int height = nodes_[i].height + 1;
    parent.height = static_cast<std::uint16_t>(std::max<int>(parent.height, height));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (inside[i] != Inside::kNothing) nodes_[i].below |= kOpaque;
  }
}

std::string_view Trie::text(TokenId token) const {
  const auto id = static_cast<std::size_t>(token);
  return std::string_view(texts_).substr(text_begin_[id], text_begin_[id + 1] - text_begin_[id]);
}

}  // namespace vt::grammar
