// Damaged and hostile vocabularies: each is refused by the name of its key.

#include <gtest/gtest.h>

#include <limits>

#include "formats/tokenizer/vocab_bytes.h"

namespace vt {
namespace {

using test::BpeVocab;
using test::SpmVocab;
using test::VocabBytes;

void ExpectError(const VocabBytes& vocab, Code code, const std::vector<std::string>& parts) {
  const auto tokenizer = vocab.Load();
  ASSERT_FALSE(tokenizer.ok());
  EXPECT_EQ(tokenizer.status().code(), code) << tokenizer.status().message();
  for (const std::string& part : parts) {
    EXPECT_NE(tokenizer.status().message().find(part), std::string::npos)
        << "no \"" << part << "\" in: " << tokenizer.status().message();
  }
}

VocabBytes SmallBpe() { return BpeVocab("gpt-2", {"a", "b", "ab"}, {"<|end|>"}, {"a b"}); }

TEST(BrokenVocabTest, TheSoundOnesLoad) {
  EXPECT_TRUE(SmallBpe().Load().ok()) << SmallBpe().Load().status().message();
  EXPECT_TRUE(SpmVocab({"a"}).Load().ok()) << SpmVocab({"a"}).Load().status().message();
}

TEST(BrokenVocabTest, Model) {
  ExpectError(SmallBpe().Remove("model"), Code::kCorrupt, {"tokenizer.ggml.model", "missing"});
  for (const std::string model : {"t5", "rwkv", "plamo2", "test", "none"}) {
    ExpectError(SmallBpe().SetText("model", model), Code::kUnsupported,
                {"tokenizer.ggml.model", '"' + model + '"', "bert, gemma4, gpt2, llama"});
  }
  ExpectError(SmallBpe().SetId("model", 3), Code::kCorrupt, {"tokenizer.ggml.model", "u32"});
}

TEST(BrokenVocabTest, PreTokenizer) {
  ExpectError(SmallBpe().SetText("pre", "no-such"), Code::kUnsupported,
              {"tokenizer.ggml.pre", "\"no-such\"", "qwen2", "llama-bpe"});
  EXPECT_TRUE(SmallBpe().Remove("pre").Load().ok());
  // Only merging models have one.
  EXPECT_TRUE(SpmVocab({"a"}).SetText("pre", "no-such").Load().ok());
}

TEST(BrokenVocabTest, Tokens) {
  ExpectError(SmallBpe().Remove("tokens"), Code::kCorrupt, {"tokenizer.ggml.tokens", "missing"});
  ExpectError(SmallBpe().SetStrings("tokens", {}), Code::kCorrupt,
              {"tokenizer.ggml.tokens", "0 elements"});
  ExpectError(SmallBpe().SetArray("tokens", GgufType::kI32, 1, test::Packed(std::int32_t{1})),
              Code::kCorrupt, {"tokenizer.ggml.tokens", "i32"});
  ExpectError(SmallBpe().SetText("tokens", "abc"), Code::kCorrupt, {"tokenizer.ggml.tokens"});
}

TEST(BrokenVocabTest, TokenType) {
  ExpectError(SmallBpe().SetArray("token_type", GgufType::kU8, 4, std::string(4, '\1')),
              Code::kCorrupt, {"tokenizer.ggml.token_type", "u8"});
  ExpectError(SmallBpe().SetKinds({1, 1, 1}), Code::kCorrupt,
              {"tokenizer.ggml.token_type", "3 elements", "want 4"});
  ExpectError(SmallBpe().SetKinds({1, 1, 1, 3, 1}), Code::kCorrupt,
              {"tokenizer.ggml.token_type", "5 elements", "want 4"});
  ExpectError(SmallBpe().SetKinds({1, 1, 7, 3}), Code::kCorrupt,
              {"tokenizer.ggml.token_type", "element 2 is 7", "want 0 to 6"});
  ExpectError(SmallBpe().SetKinds({1, -1, 1, 3}), Code::kCorrupt,
              {"tokenizer.ggml.token_type", "element 1 is -1"});
  ExpectError(SmallBpe().SetText("token_type", "1113"), Code::kCorrupt,
              {"tokenizer.ggml.token_type"});
}

TEST(BrokenVocabTest, ByteTokens) {
  for (const std::string text : {"<0x-1>", "<0x100>", "<0xG0>", "<0x", "", "0xFF"}) {
    VocabBytes vocab;
    vocab.SetText("model", "llama").SetStrings("tokens", {"a", text});
    ExpectError(vocab.SetKinds({1, test::kByte}), Code::kCorrupt,
                {"tokenizer.ggml.tokens", "element 1", '"' + text + '"'});
  }
}

TEST(BrokenVocabTest, Scores) {
  const std::vector<float> short_by_one(259, 0.0f);
  ExpectError(SpmVocab({"a"}).SetScores(short_by_one), Code::kCorrupt,
              {"tokenizer.ggml.scores", "259 elements", "want 260"});
  std::vector<float> bad(260, 0.0f);
  bad[7] = std::numeric_limits<float>::quiet_NaN();
  ExpectError(SpmVocab({"a"}).SetScores(bad), Code::kCorrupt,
              {"tokenizer.ggml.scores", "element 7"});
  ExpectError(SpmVocab({"a"}).SetStrings("scores", {"1"}), Code::kCorrupt,
              {"tokenizer.ggml.scores"});
  EXPECT_TRUE(SpmVocab({"a"}).Remove("scores").Load().ok());
}

TEST(BrokenVocabTest, Merges) {
  ExpectError(SmallBpe().Remove("merges"), Code::kCorrupt, {"tokenizer.ggml.merges", "missing"});
  for (const std::string merge : {"ab", "a ", "", " ", "a"}) {
    ExpectError(SmallBpe().SetStrings("merges", {"a b", merge}), Code::kCorrupt,
                {"tokenizer.ggml.merges", "element 1", '"' + merge + '"'});
  }
  ExpectError(SmallBpe().SetArray("merges", GgufType::kU8, 2, "ab"), Code::kCorrupt,
              {"tokenizer.ggml.merges"});
  EXPECT_TRUE(SmallBpe().SetStrings("merges", {}).Load().ok());
}

TEST(BrokenVocabTest, IdsOutsideTheVocabulary) {
  for (const std::string name :
       {"bos_token_id", "eos_token_id", "eot_token_id", "eom_token_id", "unknown_token_id",
        "seperator_token_id", "padding_token_id", "cls_token_id", "mask_token_id",
        "fim_pre_token_id", "fim_suf_token_id", "fim_mid_token_id", "fim_pad_token_id",
        "fim_rep_token_id", "fim_sep_token_id"}) {
    ExpectError(SmallBpe().SetId(name, 4), Code::kCorrupt,
                {"tokenizer.ggml." + name, "id 4", "want 0 to 3"});
    ExpectError(SmallBpe().SetId(name, 0xFFFFFFFFu), Code::kCorrupt,
                {"tokenizer.ggml." + name, "4294967295"});
    ExpectError(SmallBpe().SetText(name, "4"), Code::kCorrupt, {"tokenizer.ggml." + name});
    EXPECT_TRUE(SmallBpe().SetId(name, 3).Load().ok());
  }
}

TEST(BrokenVocabTest, FlagsOfAnotherType) {
  for (const std::string name : {"add_bos_token", "add_eos_token", "add_space_prefix"}) {
    ExpectError(SmallBpe().SetId(name, 1), Code::kCorrupt, {"tokenizer.ggml." + name, "u32"});
  }
}

// Odd, but a reader can live with them.
TEST(BrokenVocabTest, EqualAndEmptyTokens) {
  auto vocab = BpeVocab("gpt-2", {"a", "a", "", "b"}, {""}, {"a b", "a b"});
  auto tokenizer = vocab.Load();
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(tokenizer->Encode("a", {.parse_special = true, .add_special = false}),
            std::vector<TokenId>{0});
  EXPECT_EQ(tokenizer->Find(""), kNoToken);
  EXPECT_EQ(tokenizer->Piece(-1), "");
  EXPECT_EQ(tokenizer->Piece(5), "");
  EXPECT_EQ(tokenizer->raw_text(1000), "");
  EXPECT_EQ(tokenizer->kind(-7), TokenKind::kUnknown);
  EXPECT_FALSE(tokenizer->IsEnd(-1));
  const std::vector<TokenId> wild = {-1, 0, 99};
  EXPECT_EQ(tokenizer->Decode(wild, true), "a");
}

TEST(BrokenVocabTest, TinyModelsSayThatTheyHaveNoTokenizer) {
  const auto tokenizer = test::LoadTokenizer(test::TinyPath("llama-dense.gguf"));
  ASSERT_FALSE(tokenizer.ok());
  EXPECT_EQ(tokenizer.status().code(), Code::kUnsupported) << tokenizer.status().message();
  EXPECT_NE(tokenizer.status().message().find("\"test\""), std::string::npos);
}

}  // namespace
}  // namespace vt
