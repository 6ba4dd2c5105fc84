// Which tokens a state allows, against trying every token.
#include <gtest/gtest.h>

#include <random>

#include "formats/grammar/grammar_text.h"

namespace vt::test {
namespace {

constexpr const char* kJson = R"(
root ::= object
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (string ":" ws value ws ("," ws string ":" ws value ws)*)? "}"
array ::= "[" ws (value ws ("," ws value ws)*)? "]"
string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws ::= (" " | "\n" [ \t]{0,20})?
)";

// Pieces of JSON and of UTF-8 characters, cut anywhere: what real vocabularies hold.
std::vector<GrammarVocabulary::Token> RandomVocabulary(std::mt19937& random, TokenId* end) {
  const std::string source =
      "{\"name\": \"Zo\u00eb \u4e2d\u6587 \\u00e9 😀\", \"a\":[1, -2.5e+3, true,\n  false, null], "
      "\"\": {}}, {\"x\": \"\"}] ][}{ \"abc\\n\\\"\", tru";
  std::vector<GrammarVocabulary::Token> tokens(256);
  for (std::size_t byte = 0; byte < 256; ++byte) {
    tokens[byte].text = std::string(1, static_cast<char>(byte));
  }
  for (int i = 0; i < 600; ++i) {
    const std::size_t from = random() % source.size();
    tokens.push_back({source.substr(from, 1 + random() % 9), false});
  }
  tokens.push_back({"", false});   // no text: never allowed
  tokens.push_back({"}", false});  // an end token that has a text
  *end = static_cast<TokenId>(tokens.size() - 1);
  return tokens;
}

TEST(GrammarMask, IsWhatTryingEveryTokenGives) {
  std::mt19937 random(7);
  TokenId end = 0;
  const auto tokens = RandomVocabulary(random, &end);
  const GrammarVocabulary vocabulary(tokens);
  const Grammar grammar = MustParse(kJson);
  std::size_t steps = 0;
  for (int text = 0; text < 40; ++text) {
    GrammarState state(grammar, vocabulary, {end, -1, 1 << 20});
    for (int length = 0; length < 25; ++length) {
      const Result<GrammarState::Mask> mask = state.AllowedTokens();
      ASSERT_TRUE(mask.ok());
      std::vector<TokenId> allowed;
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        const auto id = static_cast<TokenId>(i);
        GrammarState copy = state;
        const bool fits = id == end ? state.may_end()
                                    : !tokens[i].text.empty() && copy.AcceptText(tokens[i].text);
        ASSERT_EQ(mask->Has(id), fits) << "token " << i << " \"" << tokens[i].text << "\"";
        GrammarState by_id = state;
        ASSERT_EQ(by_id.Accept(id), fits) << "token " << i;
        if (fits) allowed.push_back(id);
      }
      ASSERT_EQ(mask->count, allowed.size());
      if (state.must_end()) break;
      std::erase(allowed, end);
      ASSERT_FALSE(allowed.empty());
      ASSERT_TRUE(state.Accept(allowed[random() % allowed.size()]));
      ++steps;
    }
  }
  EXPECT_GT(steps, 300u);
}

TEST(GrammarMask, DropsTheSpaceThatIsNoText) {
  const std::vector<GrammarVocabulary::Token> tokens = {
      {" a", false}, {"a", false},  {" ", false}, {"  a", false},
      {"<u>", true}, {" b", false}, {"b", false}};
  GrammarState state(MustParse("root ::= \"a\" \"<u>\" \"b\""), GrammarVocabulary(tokens), {});
  const auto allowed = [&state] {
    std::string bits;
    const GrammarState::Mask mask = *state.AllowedTokens();
    for (TokenId id = 0; id < 7; ++id) bits += mask.Has(id) ? '1' : '0';
    return bits;
  };
  EXPECT_EQ(allowed(), "0100000");
  state.DropPrefixSpace();
  EXPECT_EQ(allowed(), "1110000");
  ASSERT_TRUE(state.Accept(0));
  EXPECT_EQ(allowed(), "0000100");
  ASSERT_TRUE(state.Accept(4));
  EXPECT_EQ(allowed(), "0010011");
  ASSERT_TRUE(state.Accept(5));
  EXPECT_TRUE(state.must_end());
}

TEST(GrammarMask, NothingFitsAfterAWrongToken) {
  GrammarState state = StateOf(MustParse("root ::= \"a\"*"));
  EXPECT_TRUE(state.Accept('a'));
  GrammarState ended = state;
  EXPECT_TRUE(ended.Accept(256));
  EXPECT_EQ(ended.AllowedTokens()->count, 0u);
  for (const TokenId wrong : {TokenId{'b'}, TokenId{-1}, TokenId{257}}) {
    GrammarState copy = state;
    EXPECT_FALSE(copy.Accept(wrong));
    EXPECT_FALSE(copy.Accept('a'));
    EXPECT_EQ(copy.AllowedTokens()->count, 0u);
  }
}

// What is kept of earlier texts is thrown away when it has grown large; the answers stay.
TEST(GrammarMask, StaysRightWhenWhatIsKeptIsThrownAway) {
  GrammarState state = StateOf(MustParse("root ::= \"<\" [ab]{0,150000} \">\""));
  ASSERT_TRUE(state.Accept('<'));
  for (int i = 0; i < 150000; ++i) {
    ASSERT_TRUE(state.Accept(i % 3 == 0 ? 'a' : 'b'));
    if (i % 1000 != 0) continue;
    ASSERT_EQ(state.AllowedTokens()->count, 3u) << i;
  }
  EXPECT_EQ(state.AllowedTokens()->count, 1u);
  EXPECT_FALSE(GrammarState(state).Accept('a'));
  ASSERT_TRUE(state.Accept('>'));
  EXPECT_TRUE(state.must_end());
}

TEST(GrammarMask, RefusesToFollowTooManyWays) {
  GrammarState state = StateOf(MustParse("root ::= ((([^x]*){0,60} \"y\"?){0,60} [^z]*){0,60}"));
  state.AcceptText("abcy");
  const Result<GrammarState::Mask> mask = state.AllowedTokens();
  ASSERT_FALSE(mask.ok());
  EXPECT_NE(mask.status().message().find("more ways at once"), std::string::npos);
}

}  // namespace
}  // namespace vt::test
