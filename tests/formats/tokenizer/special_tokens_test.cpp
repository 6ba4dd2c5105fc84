// Special tokens: finding them in text, BOS and EOS, and what ends a generation.

#include <gtest/gtest.h>

#include "formats/tokenizer/special_matcher.h"
#include "formats/tokenizer/vocab_bytes.h"

namespace vt {
namespace {

using test::BpeVocab;
using test::SpmVocab;
using Ids = std::vector<TokenId>;

// "[1]" for special token 1, other text as it is, fragments apart by "|".
std::string Shown(const tok::SpecialMatcher& matcher, std::string_view text) {
  std::string out;
  for (const tok::Fragment& f : matcher.Split(text)) {
    if (!out.empty()) out += '|';
    out += f.special == kNoToken ? std::string(f.text) : '[' + std::to_string(f.special) + ']';
  }
  return out;
}

TEST(SpecialMatcherTest, LongestWinsWhereverItStarts) {
  const tok::SpecialMatcher matcher({{1, "ab"}, {2, "bcd"}, {3, "a"}, {4, "abcdef"}});
  EXPECT_EQ(Shown(matcher, ""), "");
  EXPECT_EQ(Shown(matcher, "xyz"), "xyz");
  EXPECT_EQ(Shown(matcher, "xaby"), "x|[1]|y");
  EXPECT_EQ(Shown(matcher, "abcd"), "[3]|[2]");
  EXPECT_EQ(Shown(matcher, "abcde"), "[3]|[2]|e");
  EXPECT_EQ(Shown(matcher, "abcdef"), "[4]");
  EXPECT_EQ(Shown(matcher, "aabab"), "[3]|[1]|[1]");
}

TEST(SpecialMatcherTest, RunsAreCutFromTheLeft) {
  const tok::SpecialMatcher matcher({{1, "  "}, {2, "    "}, {3, "        "}});
  EXPECT_EQ(Shown(matcher, std::string(15, ' ')), "[3]|[2]|[1]| ");
  EXPECT_EQ(Shown(matcher, " x   y"), " x|[1]| y");
}

TEST(SpecialMatcherTest, EatsWhiteSpace) {
  const tok::SpecialMatcher matcher(
      {{1, "<r>", false, true}, {2, "<l>", true, false}, {3, "<n>"}, {4, "\n\n"}});
  EXPECT_EQ(Shown(matcher, "a <r> \t b"), "a |[1]|b");
  EXPECT_EQ(Shown(matcher, "a \v<l> b"), "a|[2]| b");
  EXPECT_EQ(Shown(matcher, "a <n> b"), "a |[3]| b");
  EXPECT_EQ(Shown(matcher, "<r>  <l>"), "[1]|[2]");
  EXPECT_EQ(Shown(matcher, "<r>\n\n\nx"), "[1]|x");  // eaten before the shorter token is tried
  EXPECT_EQ(Shown(matcher, "x\n\n<n>"), "x|[4]|[3]");
}

TEST(SpecialTokensTest, ControlTokensOnlyWithTheFlag) {
  auto vocab = BpeVocab("gpt-2", {"<", "x", ">", "s"}, {"<s>"}, {});
  const auto tokenizer = vocab.SetKinds({1, 1, 1, 1, test::kControl}).Load();
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(tokenizer->Encode("x<s>x", {.parse_special = true, .add_special = false}),
            (Ids{1, 4, 1}));
  EXPECT_EQ(tokenizer->Encode("x<s>x", {.add_special = false}), (Ids{1, 0, 3, 2, 1}));
}

TEST(SpecialTokensTest, UserDefinedTokensAlways) {
  auto vocab = BpeVocab("gpt-2", {"<", "x", ">", "s"}, {"<s>"}, {});
  const auto tokenizer = vocab.SetKinds({1, 1, 1, 1, test::kUserDefined}).Load();
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer->Encode("x<s>x", {.add_special = false}), (Ids{1, 4, 1}));
  EXPECT_EQ(tokenizer->Decode(Ids{1, 4, 1}), "x<s>x");
}

// A merge that spells a control token does not make one.
TEST(SpecialTokensTest, MergesDoNotForgeControlTokens) {
  auto vocab = BpeVocab("llama-bpe", {"<", "s", ">"}, {"<s>"}, {"< s", "<s >"});
  const auto tokenizer = vocab.Load();
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer->Encode("<s>", {.add_special = false}), (Ids{0, 1, 2}));
  const auto spm = SpmVocab({"<", "s", ">", "<s"}).SetBool("add_space_prefix", false).Load();
  ASSERT_TRUE(spm.ok());
  EXPECT_EQ(spm->Encode("<s>", {.add_special = false}),
            (Ids{test::kFirstSpmToken + 3, test::kFirstSpmToken + 2}));
}

TEST(SpecialTokensTest, ExactlyOneBos) {
  for (const bool add_bos : {false, true}) {
    for (const bool in_text : {false, true}) {
      const auto tokenizer =
          SpmVocab({"\xE2\x96\x81", "a"}).SetBool("add_bos_token", add_bos).Load();
      ASSERT_TRUE(tokenizer.ok());
      const std::string text = in_text ? "<s>a" : "a";
      const Ids ids = tokenizer->Encode(text, {.parse_special = true});
      EXPECT_EQ(std::count(ids.begin(), ids.end(), 1), add_bos || in_text ? 1 : 0);
      if (add_bos || in_text) {
        EXPECT_EQ(ids.front(), 1);
      }
      EXPECT_EQ(tokenizer->Decode(ids), "a");
    }
  }
  const auto tokenizer = SpmVocab({"a"}).Load();
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_TRUE(tokenizer->facts().add_bos);  // the default of the model
  EXPECT_EQ(tokenizer->Encode(""), Ids{1});
  EXPECT_EQ(tokenizer->Encode("<s><s>", {.parse_special = true}), Ids{1});
  // Further on it is the text's own.
  EXPECT_EQ(tokenizer->Encode("<s></s><s>", {.parse_special = true}), (Ids{1, 2, 1}));
  // Without the flag it is only text.
  const Ids text = tokenizer->Encode("<s>");
  EXPECT_EQ(std::count(text.begin(), text.end(), 1), 1);
}

TEST(SpecialTokensTest, Eos) {
  const auto tokenizer =
      SpmVocab({"a"}).SetBool("add_space_prefix", false).SetBool("add_eos_token", true).Load();
  ASSERT_TRUE(tokenizer.ok());
  const TokenId a = test::kFirstSpmToken;
  EXPECT_EQ(tokenizer->Encode("a"), (Ids{1, a, 2}));
  EXPECT_EQ(tokenizer->Encode(""), (Ids{1, 2}));
  EXPECT_EQ(tokenizer->Encode("a</s>", {.parse_special = true}), (Ids{1, a, 2}));
  EXPECT_EQ(tokenizer->Encode("a", {.add_special = false}), Ids{a});
}

TEST(SpecialTokensTest, StripOfPhi3) {
  const auto plain = SpmVocab({"\xE2\x96\x81", "a"}).SetBool("add_space_prefix", false);
  auto phi = plain;
  phi.SetName("Phi-3 mini");
  const TokenId a = test::kFirstSpmToken + 1;
  const auto tokenizer = phi.Load();
  ASSERT_TRUE(tokenizer.ok());
  const EncodeOptions options{.parse_special = true, .add_special = false};
  EXPECT_EQ(tokenizer->Encode("</s> \n a", options), (Ids{2, a}));
  EXPECT_EQ(tokenizer->Encode("<s> a", options), (Ids{1, a - 1, a}));
  const auto other = plain.Load();
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->Encode("</s> a", options), (Ids{2, a - 1, a}));
}

std::string Ends(const Tokenizer& tokenizer) {
  std::string out;
  for (const auto& end : tokenizer.facts().end_tokens) {
    EXPECT_TRUE(tokenizer.IsEnd(end.id));
    out += std::to_string(end.id) + '=' + end.source + '\n';
  }
  return out;
}

TEST(EndTokensTest, KeysAndWellKnownTexts) {
  const auto tokenizer = BpeVocab("gpt-2", {"a"}, {"<|im_end|>", "<|stop|>", "<|x|>"}, {})
                             .SetId("eos_token_id", 2)
                             .SetId("eot_token_id", 2)
                             .SetId("eom_token_id", 3)
                             .Load();
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(Ends(*tokenizer),
            "1=well-known text <|im_end|>\n2=tokenizer.ggml.eos_token_id\n"
            "3=tokenizer.ggml.eom_token_id\n");
  EXPECT_FALSE(tokenizer->IsEnd(0));
}

TEST(EndTokensTest, OrdinaryTokensDoNotEnd) {
  const auto tokenizer = BpeVocab("gpt-2", {"a", "</s>", "<|im_end|>"}, {}, {}).Load();
  ASSERT_TRUE(tokenizer.ok());
  // The second is too much of a marker to be text, whatever the file says.
  EXPECT_EQ(Ends(*tokenizer), "2=well-known text <|im_end|>\n");
  EXPECT_EQ(tokenizer->kind(1), TokenKind::kNormal);
  EXPECT_EQ(tokenizer->kind(2), TokenKind::kControl);
}

TEST(EndTokensTest, NextSpeakerOfGlm) {
  const auto glm =
      BpeVocab("glm4", {"a"}, {"<|endoftext|>", "<|user|>", "<|observation|>"}, {}).Load();
  ASSERT_TRUE(glm.ok());
  EXPECT_EQ(Ends(*glm),
            "1=well-known text <|endoftext|>\n2=well-known text <|user|>\n"
            "3=well-known text <|observation|>\n");
  const auto phi = BpeVocab("gpt-4o", {"a"}, {"<|endoftext|>", "<|user|>"}, {}).Load();
  ASSERT_TRUE(phi.ok());
  EXPECT_FALSE(phi->IsEnd(2));
}

TEST(EndTokensTest, HarmonyMessagesDoNotEndTheTurn) {
  const auto tokenizer =
      BpeVocab("gpt-4o", {"a"}, {"<|return|>", "<|call|>", "<|end|>"}, {}).Load();
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_TRUE(tokenizer->IsEnd(1));
  EXPECT_TRUE(tokenizer->IsEnd(2));
  EXPECT_FALSE(tokenizer->IsEnd(3));
}

struct ModelFacts {
  std::string file;
  bool add_bos;
  TokenId bos, eos;
  Ids ends;
};

class ModelFactsTest : public testing::TestWithParam<ModelFacts> {};

TEST_P(ModelFactsTest, AreThoseOfTheField) {
  const ModelFacts& want = GetParam();
  const auto vocab = test::VocabPath(want.file);
  const auto path = vocab ? vocab : test::ModelPath(want.file);
  if (!path) VT_NOT_RUN(want.file);
  const auto tokenizer = test::LoadTokenizer(*path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  const TokenizerFacts& facts = tokenizer->facts();
  EXPECT_EQ(facts.add_bos, want.add_bos);
  EXPECT_EQ(facts.bos, want.bos);
  EXPECT_EQ(facts.eos, want.eos);
  EXPECT_EQ(tokenizer->vocab_size(), facts.vocab_size);
  Ids ends;
  for (const auto& end : facts.end_tokens) ends.push_back(end.id);
  EXPECT_EQ(ends, want.ends) << Ends(*tokenizer);
  const Ids ids = tokenizer->Encode("hello", {.parse_special = true});
  EXPECT_EQ(ids.front() == facts.bos, want.add_bos);
}

INSTANTIATE_TEST_SUITE_P(
    Files, ModelFactsTest,
    testing::Values(ModelFacts{"llama-bpe.gguf", true, 128000, 128001, {128001, 128009}},
                    ModelFacts{"llama-spm.gguf", true, 1, 2, {2}},
                    ModelFacts{"phi-3.gguf", true, 1, 32000, {2, 32000, 32007}},
                    ModelFacts{"gemma-4.gguf", true, 2, 1, {1, 50, 106}},
                    ModelFacts{"gemma-3-270m-q4_k_m.gguf", true, 2, 1, {1, 106}},
                    ModelFacts{"qwen2.gguf", false, 151643, 151643, {151643, 151645}},
                    ModelFacts{"qwen2.5-coder-0.5b-q4_k_m.gguf",
                               false,
                               151643,
                               151645,
                               {151643, 151645, 151662, 151663, 151664}},
                    ModelFacts{"falcon.gguf", false, 11, 11, {11}},
                    ModelFacts{"gpt-2.gguf", false, 50256, 50256, {50256}},
                    ModelFacts{"deepseek-llm.gguf", true, 100000, 100001, {100001}}),
    [](const auto& param) {
      std::string name = param.param.file;
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
      return name;
    });

}  // namespace
}  // namespace vt
