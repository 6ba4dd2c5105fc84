// The merging algorithms on vocabularies small enough to work by hand, and on hostile texts.

#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "formats/tokenizer/segmenter.h"
#include "formats/tokenizer/unicode.h"
#include "formats/tokenizer/vocab_bytes.h"

namespace vt {
namespace {

using Ids = std::vector<TokenId>;
constexpr TokenId kA = test::kFirstSpmToken;

TEST(BpeTest, LowestRankFirstThenLeftmost) {
  const auto tokenizer =
      test::BpeVocab("gpt-2", {"a", "b", "c", "ab", "bc", "abc"}, {}, {"b c", "a b", "a bc"})
          .Load();
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer->Encode("abc"), Ids{5});
  EXPECT_EQ(tokenizer->Encode("ab"), Ids{3});
  EXPECT_EQ(tokenizer->Encode("abab"), (Ids{3, 3}));
  const auto other =
      test::BpeVocab("gpt-2", {"a", "b", "c", "ab", "bc", "abc"}, {}, {"a b", "b c", "a bc"})
          .Load();
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->Encode("abc"), (Ids{3, 2}));
}

TEST(BpeTest, OfEqualMergesTheFirstCounts) {
  const auto tokenizer =
      test::BpeVocab("gpt-2", {"a", "b", "c", "ab", "bc"}, {}, {"a b", "b c", "a b"}).Load();
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer->Encode("abc"), (Ids{3, 2}));
}

// The whole word is a token that merges cannot make.
TEST(BpeTest, IgnoreMerges) {
  const std::vector<std::string> tokens = {"a", "b", "ab"};
  EXPECT_EQ(test::BpeVocab("llama-bpe", tokens, {}, {}).Load()->Encode("ab"), Ids{2});
  EXPECT_EQ(test::BpeVocab("gpt-2", tokens, {}, {}).Load()->Encode("ab"), (Ids{0, 1}));
}

TEST(BpeTest, WordsThatComeAgainAreTheSame) {
  const auto tokenizer = test::BpeVocab("gpt-2",
                                        {"a", "b", "\xC4\xA0", "ab",
                                         "\xC4\xA0"
                                         "ab"},
                                        {}, {"a b", "\xC4\xA0 ab"})
                             .Load();
  ASSERT_TRUE(tokenizer.ok());
  std::string text;
  Ids want;
  for (int i = 0; i < 1000; ++i) {
    text += i % 3 == 0 ? " ab" : " ba";
    if (i % 3 == 0) {
      want.push_back(4);
    } else {
      want.insert(want.end(), {2, 1, 0});
    }
  }
  EXPECT_EQ(tokenizer->Encode(text), want);
}

TEST(BpeTest, BytesWithoutTokens) {
  // No byte tokens at all: U+FFFD cannot be written, so the unknown token stands for the byte.
  auto vocab = test::BpeVocab("gpt-2", {"a", "?"}, {}, {});
  EXPECT_EQ(vocab.Load()->Encode("a\x01"
                                 "a"),
            (Ids{0, 0}));
  EXPECT_EQ(vocab.SetId("unknown_token_id", 1)
                .Load()
                ->Encode("a\xFF"
                         "a"),
            (Ids{0, 1, 0}));
  EXPECT_FALSE(vocab.Load()->facts().decode_is_exact);
}

TEST(SpmTest, HighestScoreFirstThenLeftmost) {
  const auto vocab =
      test::SpmVocab({"a", "b", "aa", "ab", "aab"}).SetBool("add_space_prefix", false);
  const auto tokenizer = vocab.Load();
  ASSERT_TRUE(tokenizer.ok());
  const EncodeOptions options{.add_special = false};
  EXPECT_EQ(tokenizer->Encode("aaa", options), (Ids{kA + 2, kA}));
  EXPECT_EQ(tokenizer->Encode("aab", options), Ids{kA + 4});
  EXPECT_EQ(tokenizer->Encode("aaab", options), (Ids{kA + 2, kA + 3}));
  EXPECT_EQ(tokenizer->Encode("\xC3\xA9", options), (Ids{3 + 0xC3, 3 + 0xA9}));
}

TEST(SpmTest, SpaceMarksOfTheTextAreBytes) {
  const auto tokenizer = test::SpmVocab({"\xE2\x96\x81", "a"}).Load();
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer->Encode("\xE2\x96\x81"
                              "a",
                              {.add_special = false}),
            (Ids{kA, 3 + 0xE2, 3 + 0x96, 3 + 0x81, kA + 1}));
}

TEST(SegmenterTest, CutsOnlyWhereNothingIsJoined) {
  tok::Segmenter segmenter;
  for (const std::string text : {"ab", "bc",
                                 "\xE2\x96\x81"
                                 "a",
                                 "\xE2\x96\x81\xE2\x96\x81"}) {
    segmenter.Keep(text);
  }
  EXPECT_EQ(segmenter.FirstPiece("abc"), 3u);
  EXPECT_EQ(segmenter.FirstPiece("aca"), 1u);
  EXPECT_EQ(segmenter.FirstPiece("c\xE2\x96\x81"
                                 "a"),
            1u);
  EXPECT_EQ(segmenter.FirstPiece("\xE2\x96\x81\xE2\x96\x81"
                                 "ab\xE2\x96\x81"),
            8u);
}

std::string Repeated(std::string_view part, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += part;
  return text;
}

class HostileTextTest : public testing::TestWithParam<std::string> {};

TEST_P(HostileTextTest, TakesUnderASecond) {
  const auto vocab = test::VocabPath(GetParam());
  const auto path = vocab ? vocab : test::ModelPath(GetParam());
  if (!path) VT_NOT_RUN(GetParam());
  const auto tokenizer = test::LoadTokenizer(*path);
  ASSERT_TRUE(tokenizer.ok());
  for (const std::string_view part :
       {"a", " ", "\n", "\t", "<", "<s>", "\xE6", "\xC3\xA9", "ab ", "<|im_end|>"}) {
    const std::string text = Repeated(part, 100000);
    const std::clock_t start = std::clock();  // of the processor: others may use the machine
    const Ids ids = tokenizer->Encode(text, {.parse_special = true, .add_special = false});
    EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC) << part;
    if (tokenizer->facts().decode_is_exact) {
      EXPECT_EQ(tokenizer->Decode(ids, true), text) << part;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, HostileTextTest,
                         testing::Values("llama-bpe.gguf", "llama-spm.gguf", "gemma-4.gguf",
                                         "gemma-3-270m-q4_k_m.gguf", "bert-bge.gguf",
                                         "deepseek-llm.gguf"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) {
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name;
                         });

TEST(UnicodeTest, Properties) {
  EXPECT_TRUE(tok::IsWhiteSpace(0x3000));
  EXPECT_FALSE(tok::IsWhiteSpace(0x200B));
  EXPECT_TRUE(tok::IsControl(0x200B));
  EXPECT_TRUE(tok::IsPunctuation('$'));
  EXPECT_TRUE(tok::IsPunctuation(0x3002));
  EXPECT_FALSE(tok::IsPunctuation(0xA3));
  EXPECT_TRUE(tok::IsMark(0x301));
  EXPECT_TRUE(tok::IsIdeograph(0x4E2D));
  EXPECT_FALSE(tok::IsIdeograph(0x3042));
}

TEST(UnicodeTest, Mappings) {
  EXPECT_EQ(tok::ToLower('Z'), U'z');
  EXPECT_EQ(tok::ToLower(0xC9), 0xE9u);
  EXPECT_EQ(tok::ToLower(0x178), 0xFFu);
  EXPECT_EQ(tok::ToLower(0x130), U'i');
  EXPECT_EQ(tok::ToLower(0x10400), 0x10428u);
  EXPECT_EQ(tok::ToLower(0xDF), 0xDFu);
  EXPECT_EQ(tok::BaseCharacter(0xE9), U'e');
  EXPECT_EQ(tok::BaseCharacter(0x1EA4), U'A');
  EXPECT_EQ(tok::BaseCharacter(0xD55C), 0x1112u);
  EXPECT_EQ(tok::BaseCharacter(0xD7A3), 0x1112u);
  EXPECT_EQ(tok::BaseCharacter(0x212B), U'A');
  EXPECT_EQ(tok::BaseCharacter(0x2FA1D), 0x2A600u);
  EXPECT_EQ(tok::BaseCharacter('x'), U'x');
}

test::VocabBytes BertVocab() {
  test::VocabBytes vocab;
  vocab.SetText("model", "bert")
      .SetStrings("tokens", {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                             "\xE2\x96\x81"
                             "caf",
                             "e",
                             "\xE2\x96\x81"
                             "cafe",
                             "s", "\xE2\x96\x81.", "\xE2\x96\x81\xE4\xB8\xAD"})
      .SetKinds({3, 3, 3, 3, 1, 1, 1, 1, 1, 1})
      .SetId("cls_token_id", 2)
      .SetId("seperator_token_id", 3)
      .SetId("unknown_token_id", 1);
  return vocab;
}

TEST(WordPieceTest, NormalisesAndTakesTheLongest) {
  const auto tokenizer = BertVocab().Load();
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(tokenizer->Encode("Caf\xC3\x89s.\xE4\xB8\xAD xyz"), (Ids{2, 6, 7, 8, 9, 1, 3}));
  EXPECT_EQ(tokenizer->Encode(" \xFF\x01 "), (Ids{2, 3}));
  EXPECT_EQ(tokenizer->Encode("cafes", {.add_special = false}), (Ids{6, 7}));
  EXPECT_EQ(tokenizer->Decode(Ids{2, 6, 7, 8, 9, 3}), "cafes. \xE4\xB8\xAD");
  EXPECT_FALSE(tokenizer->facts().decode_is_exact);
  EXPECT_EQ(tokenizer->facts().bos, 2);
}

TEST(WordPieceTest, CasedVocabularyKeepsCaseAndAccents) {
  const auto tokenizer = BertVocab().SetBool("normalizer.lowercase", false).Load();
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer->Encode("Cafe cafe", {.add_special = false}), (Ids{1, 6}));
  EXPECT_EQ(tokenizer->Encode("caf\xC3\xA9", {.add_special = false}), Ids{1});
}

}  // namespace
}  // namespace vt
