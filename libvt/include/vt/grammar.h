// Output that follows a grammar: which tokens may come next, so that the text as a whole fits.
//
// Grammars are written in GBNF (docs/howto/grammar.md) or made from a JSON Schema. A Grammar works
// on bytes: characters may be spread over tokens, tokens may hold parts of characters.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vt/status.h"
#include "vt/tokenizer.h"

namespace vt {

namespace grammar {
struct Network;
class Trie;
class Matcher;
}  // namespace grammar

// A checked grammar. Immutable, cheap to copy, may be shared by threads.
class Grammar {
 public:
  explicit Grammar(std::shared_ptr<const grammar::Network> network)
      : network_(std::move(network)) {}
  const grammar::Network& network() const { return *network_; }
  bool operator==(const Grammar&) const = default;  // the same object, not the same language

 private:
  std::shared_ptr<const grammar::Network> network_;
};

// kInvalid, with "line:column: " in front: a syntax error, a rule that is not defined (with those
// of a similar name), a rule that begins with itself, a grammar that no finite text fits, one that
// is larger than 1048576 steps once its repetitions are written out.
Result<Grammar> ParseGbnf(std::string_view text);

// A grammar whose texts are JSON documents that fit the schema. It may allow fewer documents than
// the schema does (docs/howto/grammar.md lists where), never more. kInvalid at the JSON pointer of
// a keyword that is not supported, of a value that is not allowed, of a schema that nothing fits.
Result<std::string> JsonSchemaToGbnf(std::string_view schema);

// The texts of a vocabulary's tokens, arranged for a grammar to walk. Immutable, cheap to copy, may
// be shared by threads. Built once per tokenizer: about 0.1 s for 250 000 tokens.
class GrammarVocabulary {
 public:
  struct Token {
    std::string text;  // empty: no grammar allows it
    bool drops_next_space =
        false;  // see TokenStream: a space that starts the next token is not text
  };
  explicit GrammarVocabulary(std::span<const Token> tokens);
  // Control, unknown and unused tokens have no text here.
  explicit GrammarVocabulary(const Tokenizer& tokenizer);

  std::size_t size() const;
  const grammar::Trie& trie() const { return *trie_; }

 private:
  std::shared_ptr<const grammar::Trie> trie_;
};

// Where a text stands in a grammar. Copies are cheap and independent, so that a text can be tried
// and taken back, but they share caches: a state and its copies belong to one thread.
class GrammarState {
 public:
  // `end_tokens` are allowed where the text may end, and nowhere else.
  GrammarState(Grammar grammar, GrammarVocabulary vocabulary, std::vector<TokenId> end_tokens);

  // A space that starts the first token is not part of the text.
  void DropPrefixSpace() { drop_space_ = true; }

  struct Mask {
    std::span<const std::uint64_t> words;  // bit id % 64 of word id / 64; valid until the next call
    std::size_t count = 0;                 // bits that are set
    bool Has(TokenId id) const {
      return (words[static_cast<std::size_t>(id) / 64] >> (static_cast<std::size_t>(id) % 64) &
              1) != 0;
    }
  };
  // kInvalid: the grammar can read the text in more ways at once than are followed (20000).
  Result<Mask> AllowedTokens();

  // Moves on over a token or a text. false: it is not allowed here, and nothing fits from now on.
  bool Accept(TokenId token);
  bool AcceptText(std::string_view text);

  bool may_end() const;   // the text so far fits the grammar
  bool must_end() const;  // nothing may follow
  // What may come next, for people: `"," or "]" or [0-9]`.
  std::string Expected() const;

 private:
  std::shared_ptr<grammar::Matcher> matcher_;
  std::int32_t config_ = 0;
  bool drop_space_ = false;
};

}  // namespace vt
