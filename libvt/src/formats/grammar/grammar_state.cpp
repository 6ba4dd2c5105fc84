#include <utility>

#include "formats/grammar/matcher.h"
#include "vt/grammar.h"

namespace vt {
namespace {

using grammar::Configurations;

std::vector<GrammarVocabulary::Token> TokensOf(const Tokenizer& tokenizer) {
  std::vector<GrammarVocabulary::Token> tokens(tokenizer.vocab_size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const TokenKind kind = tokenizer.kind(id);
    if (kind == TokenKind::kControl || kind == TokenKind::kUserDefined) {
      tokens[i].drops_next_space = tokenizer.facts().add_space_prefix;
    }
    if (kind == TokenKind::kNormal || kind == TokenKind::kUserDefined || kind == TokenKind::kByte) {
      tokens[i].text = tokenizer.Piece(id);
    }
  }
  return tokens;
}

}  // namespace

GrammarVocabulary::GrammarVocabulary(std::span<const Token> tokens)
    : trie_(std::make_shared<const grammar::Trie>(tokens)) {}
GrammarVocabulary::GrammarVocabulary(const Tokenizer& tokenizer)
    : GrammarVocabulary(TokensOf(tokenizer)) {}
std::size_t GrammarVocabulary::size() const { return trie_->vocabulary_size(); }

GrammarState::GrammarState(Grammar grammar, GrammarVocabulary vocabulary,
                           std::vector<TokenId> end_tokens)
    : matcher_(std::make_shared<grammar::Matcher>(std::move(grammar), std::move(vocabulary),
                                                  std::move(end_tokens))),
      config_(matcher_->configurations().start()) {}

Result<GrammarState::Mask> GrammarState::AllowedTokens() {
  if (matcher_->configurations().full()) {
    // Copies of this state may still use what is kept, so it is left to them.
    std::shared_ptr<grammar::Matcher> fresh = matcher_->Fresh();
    config_ = fresh->configurations().Import(matcher_->configurations(), config_);
    matcher_ = std::move(fresh);
  }
  const Mask& mask = matcher_->Allowed(config_, drop_space_);
  if (matcher_->configurations().overflowed()) {
    return InvalidError("grammar: it can read the text in more ways at once than are followed (" +
                        std::to_string(Configurations::kMostFrames) +
                        "); make its rules less ambiguous");
  }
  return mask;
}

bool GrammarState::Accept(TokenId token) {
  const grammar::Trie& trie = matcher_->trie();
  if (token < 0 || static_cast<std::size_t>(token) >= trie.vocabulary_size()) {
    config_ = Configurations::kDead;
  } else if (matcher_->IsEnd(token)) {
    const bool allowed = may_end();
    config_ = Configurations::kDead;
    return allowed;
  } else if (const std::string_view text = trie.text(token); text.empty()) {
    config_ = Configurations::kDead;
  } else {
    config_ = matcher_->Next(config_, text, drop_space_);
    drop_space_ = trie.drops_next_space(token);
  }
  return config_ != Configurations::kDead;
}

bool GrammarState::AcceptText(std::string_view text) {
  config_ = matcher_->Next(config_, text, false);
  return config_ != Configurations::kDead;
}

bool GrammarState::may_end() const { return matcher_->configurations().may_end(config_); }
bool GrammarState::must_end() const {
  return may_end() && !matcher_->configurations().can_go_on(config_);
}
std::string GrammarState::Expected() const { return matcher_->configurations().Expected(config_); }

}  // namespace vt
