#include "formats/json_cursor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace vt {
namespace {

bool Accepts(std::string_view text) {
  TextArena texts;
  JsonCursor json(text, texts);
  return json.Skip() && json.Finish();
}

TEST(JsonCursor, ReadsInTheOrderOfTheText) {
  TextArena texts;
  JsonCursor json(R"( {"a" : [1, 2.5e1, true], "b":{}, "c":"x\u0041\ud83d\ude00\\"} )", texts);
  std::string_view key;
  std::uint64_t whole = 0;
  double number = 0;
  bool flag = false;
  ASSERT_TRUE(json.EnterObject());
  ASSERT_TRUE(json.NextKey(key));
  EXPECT_EQ(key, "a");
  ASSERT_TRUE(json.EnterArray());
  ASSERT_TRUE(json.NextElement() && json.ReadU64(whole));
  ASSERT_TRUE(json.NextElement() && json.ReadNumber(number));
  ASSERT_TRUE(json.NextElement() && json.ReadBool(flag));
  EXPECT_FALSE(json.NextElement());
  EXPECT_EQ(whole, 1u);
  EXPECT_EQ(number, 25.0);
  EXPECT_TRUE(flag);
  ASSERT_TRUE(json.NextKey(key) && json.Skip());
  EXPECT_EQ(key, "b");
  std::string_view text;
  ASSERT_TRUE(json.NextKey(key) && json.ReadString(text));
  EXPECT_EQ(text, "xA\xf0\x9f\x98\x80\\");
  EXPECT_FALSE(json.NextKey(key));
  EXPECT_TRUE(json.Finish()) << json.error();
}

// Accepted exactly where another parser accepts; that one alone takes no limit on nesting.
TEST(JsonCursor, AcceptsWhatJsonIs) {
  std::vector<std::string> texts = {"",
                                    "{}",
                                    "[]",
                                    "[1,]",
                                    "[,1]",
                                    "{\"a\":1,}",
                                    "{\"a\"}",
                                    "01",
                                    "-",
                                    "-0",
                                    "1.",
                                    ".5",
                                    "1e5",
                                    "1e+",
                                    "1E-2",
                                    "+1",
                                    "tru",
                                    "true",
                                    "falsey",
                                    "null",
                                    "nul",
                                    "\"\\x\"",
                                    "\"\\u12\"",
                                    "\"\\u12g4\"",
                                    "\"\\ud800\"",
                                    "\"\\udc00\"",
                                    "\"\\ud800\\udc00\"",
                                    "\"\t\"",
                                    "\"a",
                                    "\"\\\"",
                                    "[1 2]",
                                    "{1:2}",
                                    "{\"a\" 1}",
                                    "[[[]]]",
                                    "[}",
                                    "{]",
                                    "1 1",
                                    " 1 ",
                                    "\"\xc3\xa9\"",
                                    "\"\xc3\"",
                                    "\"\xed\xa0\x80\"",
                                    "{\"a\":{\"b\":[null,false,{}]}}"};
  // And every text with one byte of a good one replaced.
  const std::string good = R"({"k":[1.5,-2e3,"a\n\u0041"],"t":true,"n":null})";
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char c : std::string("\"\\{}[],:0e.- nt\x01\xff")) {
      texts.push_back(good);
      texts.back()[at] = c;
    }
    texts.push_back(good.substr(0, at));
  }
  for (const std::string& text : texts) {
    EXPECT_EQ(Accepts(text), nlohmann::json::accept(text)) << text;
  }
  EXPECT_TRUE(Accepts(std::string(64, '[') + std::string(64, ']')));
  EXPECT_FALSE(Accepts(std::string(65, '[') + std::string(65, ']')));
}

TEST(JsonCursor, KeepsTheFirstError) {
  TextArena texts;
  JsonCursor json("[1, x]", texts);
  std::uint64_t value = 0;
  EXPECT_TRUE(json.EnterArray() && json.NextElement() && json.ReadU64(value));
  EXPECT_TRUE(json.NextElement());
  EXPECT_FALSE(json.ReadU64(value));
  EXPECT_FALSE(json.NextElement());
  EXPECT_FALSE(json.Finish());
  EXPECT_EQ(json.error(), "no number where one is wanted (byte 4)");
}

}  // namespace
}  // namespace vt
