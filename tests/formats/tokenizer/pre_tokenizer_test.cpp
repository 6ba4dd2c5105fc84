// How each named pre-tokenizer cuts text. The expected words are the patterns' own, worked by hand.

#include "formats/tokenizer/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <ctime>
#include <sstream>

namespace vt::tok {
namespace {

std::string Words(std::string_view rule_name, std::string_view text) {
  const PreRule* rule = FindPreRule(rule_name);
  if (rule == nullptr) return "no such rule";
  const auto tokenizer = PreTokenizer::Make(*rule);
  if (!tokenizer.ok()) return tokenizer.status().message();
  std::vector<std::string_view> words;
  tokenizer->Split(text, words);
  std::string out;
  for (const std::string_view word : words) {
    if (!out.empty()) out += '|';
    out += word;
  }
  return out;
}

std::vector<std::string> Names() {
  std::vector<std::string> names = {""};
  std::stringstream list(KnownPreRules());
  for (std::string name; std::getline(list, name, ',');) {
    names.push_back(name.substr(name.find_first_not_of(' ')));
  }
  return names;
}

TEST(PreTokenizerTest, EveryRuleCutsTextWithoutLoss) {
  const std::string text =
      "I've 12345 caf\xC3\xA9s, don't WE'LL\n\n  \t x_1 \xE4\xB8\xAD\xE6\x96\x87\xED\x95\x9C"
      "\xEF\xBC\x9F! \xD8\xB9\xD8\xB1\xD8\xA8 \xE0\xA4\xB9\xE0\xA4\xBF \xF0\x9F\x9A\x80   ";
  EXPECT_GT(Names().size(), 90u);
  for (const std::string& name : Names()) {
    const PreRule* rule = FindPreRule(name);
    ASSERT_NE(rule, nullptr) << name;
    const auto tokenizer = PreTokenizer::Make(*rule);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    std::vector<std::string_view> words;
    tokenizer->Split(text, words);
    std::string all;
    for (const std::string_view word : words) {
      EXPECT_FALSE(word.empty()) << name;
      all += word;
    }
    EXPECT_EQ(all, text) << name;
    tokenizer->Split("", words);
    EXPECT_TRUE(words.empty()) << name;
  }
}

TEST(PreTokenizerTest, Patterns) {
  EXPECT_EQ(Words("gpt-2", "I've  12 x\n\n y"), "I|'ve| | 12| x|\n\n| y");
  EXPECT_EQ(Words("llama-bpe", "I'VE 12345 x!\n\n y  "), "I|'VE| |123|45| x|!\n\n| y|  ");
  EXPECT_EQ(Words("qwen2", "a 123"), "a| |1|2|3");
  EXPECT_EQ(Words("starcoder", "ab12 c"), "ab|1|2| c");
  EXPECT_EQ(Words("falcon", "a1234..!b"), "a|123|4|..!|b");
  EXPECT_EQ(Words("tekken", "HelloWorld ABCdef's 123"), "Hello|World| ABCdef|'s| |1|2|3");
  EXPECT_EQ(Words("gpt-4o", "HelloWorld's 1234 /a//\n"), "Hello|World's| |123|4| /|a|//\n");
  EXPECT_EQ(Words("qwen35", "\xE0\xA4\xB9\xE0\xA4\xBF x"), "\xE0\xA4\xB9\xE0\xA4\xBF| x");
  EXPECT_EQ(Words("deepseek-v3",
                  "a12345\xE4\xB8\xAD\xE6\x96\x87"
                  "b"),
            "a|123|45|\xE4\xB8\xAD\xE6\x96\x87|b");
  EXPECT_EQ(Words("kimi-k2",
                  "abc\xE4\xB8\xAD\xE6\x96\x87"
                  "Def's 1234"),
            "abc|\xE4\xB8\xAD\xE6\x96\x87|Def's| |123|4");
  EXPECT_EQ(Words("gemma4", "a b\n\n\nc d"), "a b|\n\n\n|c d");
  EXPECT_EQ(Words("bloom", "a b,c d."), "a| b|,|c| d|.");
  EXPECT_EQ(Words("", "a12345"), "a|123|45");
}

TEST(PreTokenizerTest, DigitsInThreesFromTheRight) {
  EXPECT_EQ(Words("afmoe", "a1234567b"), "a|1|234|567|b");
  EXPECT_EQ(Words("afmoe", "123456"), "123|456");
  EXPECT_EQ(Words("superbpe", "x12345 y"), "x|12|345| y");
  EXPECT_EQ(Words("tiny_aya", "1234567"), "1|234|567");
  // No word boundary after the digits: the next step takes them.
  EXPECT_EQ(Words("tiny_aya", "1234a"), "123|4|a");
}

TEST(PreTokenizerTest, LongRunsTakeLinearTime) {
  std::string kinds[] = {"a",        "A",  "1", " ", "\n", "'", "!", "\xE4\xB8\xAD",
                         "\xC3\xA9", "a ", "1a"};
  for (const std::string& name : Names()) {
    const auto tokenizer = PreTokenizer::Make(*FindPreRule(name));
    ASSERT_TRUE(tokenizer.ok());
    for (const std::string& kind : kinds) {
      std::string text;
      while (text.size() < 100000) text += kind;
      const std::clock_t start = std::clock();  // of the processor: others may use the machine
      std::vector<std::string_view> words;
      tokenizer->Split(text, words);
      std::size_t bytes = 0;
      for (const std::string_view word : words) bytes += word.size();
      EXPECT_EQ(bytes, text.size());
      EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC / 2) << name << ' ' << kind;
    }
  }
}

}  // namespace
}  // namespace vt::tok
