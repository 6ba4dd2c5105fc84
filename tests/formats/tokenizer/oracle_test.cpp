// Every string of the oracle files, under every vocabulary: the ids, the way back, and streaming.

#include <gtest/gtest.h>

#include <set>

#include "base/utf8.h"
#include "formats/tokenizer/token_cases.h"

namespace vt {
namespace {

class OracleTest : public testing::TestWithParam<std::string> {};

TEST_P(OracleTest, IdsAreEqual) {
  const test::CaseFile file = test::ReadCases(GetParam());
  ASSERT_GE(file.cases.size(), 50u);
  const auto path = file.Path();
  if (!path) VT_NOT_RUN(file.model);
  const auto tokenizer = test::LoadTokenizer(*path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  for (const test::TokenCase& c : file.cases) {
    EXPECT_EQ(tokenizer->Encode(c.text, {.parse_special = true, .add_special = false}), c.ids)
        << '"' << c.text << '"';
  }
}

TEST_P(OracleTest, DecodesToTheText) {
  const test::CaseFile file = test::ReadCases(GetParam());
  const auto path = file.Path();
  if (!path) VT_NOT_RUN(file.model);
  const auto tokenizer = test::LoadTokenizer(*path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  // BERT's normaliser loses case and accents; the others lack bytes that UTF-8 never has.
  const std::set<std::string> lossy = {"bert-bge", "deepseek-llm", "falcon",
                                       "smollm2-135m-instruct-q4_1", "starcoder"};
  EXPECT_EQ(tokenizer->facts().decode_is_exact, !lossy.contains(file.name));
  if (file.name == "bert-bge") return;
  for (const test::TokenCase& c : file.cases) {
    EXPECT_EQ(tokenizer->Decode(c.ids, true), c.text);
    const auto ids = tokenizer->Encode(c.text);
    EXPECT_EQ(tokenizer->Decode(ids), c.text);
  }
}

TEST_P(OracleTest, StreamingGivesTheSameText) {
  const test::CaseFile file = test::ReadCases(GetParam());
  const auto path = file.Path();
  if (!path) VT_NOT_RUN(file.model);
  const auto tokenizer = test::LoadTokenizer(*path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  for (const test::TokenCase& c : file.cases) {
    for (const bool special : {false, true}) {
      TokenStream stream(*tokenizer, special);
      stream.DropPrefixSpace();
      std::string all;
      for (const TokenId id : c.ids) {
        const std::string chunk = stream.Push(id);
        EXPECT_EQ(ValidUtf8Prefix(chunk), chunk.size()) << c.text;
        all += chunk;
      }
      all += stream.Flush();
      EXPECT_EQ(all, tokenizer->Decode(c.ids, special)) << c.text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, OracleTest, testing::ValuesIn(test::CaseNames()),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace vt
