// A grammar and a vocabulary together: which tokens each configuration allows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/grammar/configurations.h"
#include "formats/grammar/runs.h"
#include "formats/grammar/trie.h"
#include "vt/grammar.h"

namespace vt::grammar {

class Matcher {
 public:
  Matcher(Grammar grammar, GrammarVocabulary vocabulary, std::vector<TokenId> end_tokens);
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;
  // The same with nothing kept.
  std::shared_ptr<Matcher> Fresh() const {
    return std::make_shared<Matcher>(grammar_, vocabulary_, end_tokens_);
  }

  Configurations& configurations() { return configurations_; }
  const Trie& trie() const { return vocabulary_.trie(); }
  bool IsEnd(TokenId token) const;

  // `drop_space`: a space that starts a token is not part of the text.
  const GrammarState::Mask& Allowed(std::int32_t config, bool drop_space);
  std::int32_t Next(std::int32_t config, std::string_view text, bool drop_space);

 private:
  struct Entry {
    std::vector<std::uint64_t> words;
    GrammarState::Mask mask;
  };
  void Walk(std::int32_t config, bool drop_space, std::vector<std::uint64_t>* words);

  Grammar grammar_;
  GrammarVocabulary vocabulary_;
  std::vector<TokenId> end_tokens_;
  Configurations configurations_;
  Runs runs_;
  std::unordered_map<std::int64_t, Entry> masks_;  // configuration * 2 + drop_space
  std::vector<std::int32_t> path_;                 // configuration at each depth of a walk
};

}  // namespace vt::grammar
