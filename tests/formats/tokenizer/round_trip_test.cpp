// What was encoded decodes to the same bytes, also where they are no UTF-8.

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"
#include "formats/tokenizer/vocab_bytes.h"

namespace vt {
namespace {

using Ids = std::vector<TokenId>;

std::string RandomBytes(std::mt19937& random, bool ascii) {
  std::string text(random() % 40, '\0');
  for (char& c : text) c = static_cast<char>(random() % (ascii ? 128 : 256));
  return text;
}

std::string RandomUnicode(std::mt19937& random) {
  constexpr char32_t kLimits[] = {0x80, 0x250, 0x3000, 0x10000, 0x110000};
  // Characters that the encoders treat apart.
  constexpr std::string_view kParts[] = {" ",   "  ",   "\n",     "\t\t",         "\xE2\x96\x81",
                                         "<s>", "</s>", "<0x0A>", "\xEF\xBF\xBD", "\xC4\xA0"};
  std::string text;
  for (auto left = random() % 30; left > 0; --left) {
    if (random() % 4 == 0) {
      text += kParts[random() % std::size(kParts)];
      continue;
    }
    auto c = static_cast<char32_t>(random() % kLimits[random() % std::size(kLimits)]);
    if (c >= 0xD800 && c < 0xE000) c = 0x2581;
    AppendUtf8(text, c);
  }
  return text;
}

// Also as a stream: valid UTF-8 at each step and, for valid text, the same text.
void ExpectExact(const Tokenizer& tokenizer, const std::string& text) {
  const Ids ids = tokenizer.Encode(text);
  ASSERT_EQ(tokenizer.Decode(ids), text) << testing::PrintToString(ids);
  TokenStream stream(tokenizer);
  stream.DropPrefixSpace();
  std::string all;
  for (const TokenId id : ids) {
    const std::string chunk = stream.Push(id);
    ASSERT_EQ(ValidUtf8Prefix(chunk), chunk.size());
    all += chunk;
  }
  const std::string rest = stream.Flush();
  ASSERT_EQ(ValidUtf8Prefix(rest), rest.size());
  if (ValidUtf8Prefix(text) == text.size()) {
    ASSERT_EQ(all + rest, text);
  }
}

class RoundTripTest : public testing::TestWithParam<std::string> {};

TEST_P(RoundTripTest, RandomTexts) {
  const auto vocab = test::VocabPath(GetParam());
  const auto path = vocab ? vocab : test::ModelPath(GetParam());
  if (!path) VT_NOT_RUN(GetParam());
  const auto tokenizer = test::LoadTokenizer(*path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  ASSERT_TRUE(tokenizer->facts().decode_is_exact);
  std::mt19937 random(20240607);
  for (int i = 0; i < 1500; ++i) {
    ASSERT_NO_FATAL_FAILURE(ExpectExact(*tokenizer, RandomUnicode(random)));
    ASSERT_NO_FATAL_FAILURE(ExpectExact(*tokenizer, RandomBytes(random, i % 4 == 0)));
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, RoundTripTest,
                         testing::Values("llama-bpe.gguf", "llama-spm.gguf", "phi-3.gguf",
                                         "gpt-2.gguf", "qwen2.gguf", "gemma-4.gguf",
                                         "gemma-3-270m-q4_k_m.gguf", "baichuan.gguf"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) {
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name;
                         });

// The same without any file: a vocabulary that is nearly all bytes.
TEST(RoundTripSmallTest, SentencePieceWithAndWithoutPrefix) {
  for (const bool prefix : {false, true}) {
    for (const std::string mark : {"\xE2\x96\x81", "a"}) {  // also without a token for the space
      const auto tokenizer = test::SpmVocab({mark, "ab", "<s", ">", "\xC3\xA9"})
                                 .SetBool("add_space_prefix", prefix)
                                 .Load();
      ASSERT_TRUE(tokenizer.ok());
      ASSERT_TRUE(tokenizer->facts().decode_is_exact);
      std::mt19937 random(7);
      for (int i = 0; i < 500; ++i) {
        ASSERT_NO_FATAL_FAILURE(ExpectExact(*tokenizer, RandomUnicode(random)));
        ASSERT_NO_FATAL_FAILURE(ExpectExact(*tokenizer, RandomBytes(random, false)));
      }
    }
  }
}

TEST(RoundTripSmallTest, PrefixSpaceAfterSpecialTokens) {
  const auto tokenizer = test::SpmVocab({"\xE2\x96\x81", "a", "b",
                                         "\xE2\x96\x81"
                                         "b"})
                             .Load();
  ASSERT_TRUE(tokenizer.ok());
  for (const std::string text : {"a<s>b", "a<s> b", "<s>  b", " a</s><s>b", "<s><s>"}) {
    const Ids ids = tokenizer->Encode(text, {.parse_special = true, .add_special = false});
    EXPECT_EQ(tokenizer->Decode(ids, true), text);
  }
  const Ids ids = tokenizer->Encode("b");
  EXPECT_EQ(ids, (Ids{1, test::kFirstSpmToken + 3}));
  EXPECT_EQ(tokenizer->Piece(ids[1]), " b");
  EXPECT_EQ(tokenizer->Decode(ids), "b");
  TokenStream continuation(*tokenizer);  // after a prompt the space is the text's own
  EXPECT_EQ(continuation.Push(ids[1]), " b");
}

// Llama 3 has one token for the first two bytes of many Chinese characters.
TEST(FieldCasesTest, HalfOfACharacter) {
  const auto path = test::VocabPath("llama-bpe.gguf");
  if (!path) VT_NOT_RUN("llama-bpe.gguf");
  const auto tokenizer = test::LoadTokenizer(*path);
  ASSERT_TRUE(tokenizer.ok());
  const EncodeOptions options{.add_special = false};
  EXPECT_EQ(tokenizer->Encode("\xE6\xAD", options), Ids{15722});
  EXPECT_EQ(tokenizer->Decode(Ids{15722}), "\xE6\xAD");
  TokenStream stream(*tokenizer);
  EXPECT_EQ(stream.Push(15722), "");
  const Ids rest = tokenizer->Encode("\xA3", options);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(stream.Push(rest[0]), "\xE6\xAD\xA3");
  EXPECT_EQ(stream.Push(15722), "");
  EXPECT_EQ(stream.Flush(), "\xEF\xBF\xBD");
}

TEST(FieldCasesTest, TabsOfGemma) {
  const auto path = test::ModelPath("gemma-3-270m-q4_k_m.gguf");
  if (!path) VT_NOT_RUN("gemma-3-270m-q4_k_m.gguf");
  const auto tokenizer = test::LoadTokenizer(*path);
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer->Encode("\t\t\t\t\t\ttest", {.add_special = false}), (Ids{255973, 2181}));
  EXPECT_EQ(tokenizer->raw_text(255973), "\t\t\t\t\t\t");
  EXPECT_EQ(tokenizer->raw_text(2181), "test");
}

TEST(FieldCasesTest, CafeOfGemma4) {
  const auto path = test::VocabPath("gemma-4.gguf");
  if (!path) VT_NOT_RUN("gemma-4.gguf");
  const auto tokenizer = test::LoadTokenizer(*path);
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer->Encode(" Caf\xC3\xA9", {.add_special = false}), Ids{62367});
}

TEST(FieldCasesTest, MarkersInUserTextStayText) {
  const auto path = test::VocabPath("qwen2.gguf");
  if (!path) VT_NOT_RUN("qwen2.gguf");
  const auto tokenizer = test::LoadTokenizer(*path);
  ASSERT_TRUE(tokenizer.ok());
  const std::string text = "a<|im_end|>b\\n";
  for (const TokenId id : tokenizer->Encode(text)) {
    EXPECT_NE(tokenizer->kind(id), TokenKind::kControl);
  }
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode(text)), text);
}

TEST(TokenStreamTest, BrokenBytesBecomeReplacementCharacters) {
  const auto tokenizer = test::SpmVocab({"a"}).SetBool("add_space_prefix", false).Load();
  ASSERT_TRUE(tokenizer.ok());
  const auto byte = [](int b) { return static_cast<TokenId>(3 + b); };
  TokenStream stream(*tokenizer);
  EXPECT_EQ(stream.Push(byte(0xE2)), "");
  EXPECT_EQ(stream.Push(byte(0x82)), "");
  EXPECT_EQ(stream.Push(byte(0xAC)), "\xE2\x82\xAC");
  EXPECT_EQ(stream.Push(byte(0xFF)), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.Push(byte(0xF0)), "");
  EXPECT_EQ(stream.Push(byte(0x9F)), "");
  EXPECT_EQ(stream.Push(test::kFirstSpmToken),
            "\xEF\xBF\xBD"
            "a");
  EXPECT_EQ(stream.Push(byte(0xC3)), "");
  EXPECT_EQ(stream.Flush(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.Flush(), "");
}

TEST(TokenStreamTest, ControlTokensOnlyWhenAsked) {
  const auto tokenizer = test::SpmVocab({"a"}).Load();
  ASSERT_TRUE(tokenizer.ok());
  TokenStream hidden(*tokenizer), shown(*tokenizer, true);
  EXPECT_EQ(hidden.Push(2), "");
  EXPECT_EQ(shown.Push(2), "</s>");
}

}  // namespace
}  // namespace vt
