// A vocabulary's texts as a tree of bytes, laid out so that a walk goes straight through memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vt/grammar.h"

namespace vt::grammar {

class Trie {
 public:
  // In preorder: the nodes under node i are i + 1 .. end - 1. Node 0 is the root.
  struct Node {
    std::uint64_t below = 0;         // byte_buckets.h: the bytes of the nodes under this one
    std::uint32_t end = 0;           // one past the last node under this one
    std::uint32_t tokens_begin = 0;  // into tokens(); those of this node end where the next's begin
    std::uint16_t depth = 0;         // bytes from the root
    std::uint16_t height = 0;        // bytes of the longest text under this node
    std::uint8_t byte = 0;           // the last of the node's own bytes
  };

  explicit Trie(std::span<const GrammarVocabulary::Token> tokens);

  std::span<const Node> nodes() const { return {nodes_.data(), nodes_.size() - 1}; }
  // Tokens of node i: tokens()[nodes()[i].tokens_begin .. tokens_end(i)).
  std::uint32_t tokens_end(std::size_t node) const { return nodes_[node + 1].tokens_begin; }
  std::span<const TokenId> tokens() const { return tokens_; }
  std::size_t depth() const { return depth_; }
  // Tokens of node i and all under it.
  std::span<const TokenId> tokens_under(std::size_t node) const {
    const std::uint32_t begin = nodes_[node].tokens_begin;
    return tokens().subspan(begin, nodes_[nodes_[node].end].tokens_begin - begin);
  }

  std::size_t vocabulary_size() const { return drops_.size(); }
  std::string_view text(TokenId token) const;
  bool drops_next_space(TokenId token) const { return drops_[static_cast<std::size_t>(token)]; }

 private:
  void SumUp();

  std::vector<Node> nodes_;  // and one more, where the last ends
  std::vector<TokenId> tokens_;
  std::size_t depth_ = 0;
  std::string texts_;
  std::vector<std::uint32_t> text_begin_;  // by token, and one more
  std::vector<bool> drops_;
};

}  // namespace vt::grammar
