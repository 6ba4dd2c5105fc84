// Whether whole texts fit a grammar, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "vt/grammar.h"

namespace vt::test {

// One token for each byte; token 256 ends a text.
inline GrammarVocabulary ByteVocabulary() {
  std::vector<GrammarVocabulary::Token> tokens(257);
  for (std::size_t byte = 0; byte < 256; ++byte) {
    tokens[byte].text = std::string(1, static_cast<char>(byte));
  }
  return GrammarVocabulary(tokens);
}

inline Grammar MustParse(const std::string& gbnf) {
  Result<Grammar> grammar = ParseGbnf(gbnf);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message() << "\n" << gbnf;
  if (!grammar.ok()) return *ParseGbnf("root ::= \"\"");
  return *grammar;
}

inline GrammarState StateOf(const Grammar& grammar) {
  static const GrammarVocabulary vocabulary = ByteVocabulary();
  return GrammarState(grammar, vocabulary, {256});
}

inline bool Fits(GrammarState state, std::string_view text) {
  return state.AcceptText(text) && state.may_end();
}

}  // namespace vt::test
