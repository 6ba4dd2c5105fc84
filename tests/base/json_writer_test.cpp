#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace vt {
namespace {

TEST(JsonWriter, KeepsOrderNestingAndCommas) {
  JsonWriter json;
  json.BeginObject().Field("b", 1).Key("a").BeginArray().Value(true).Null().Value("x");
  json.BeginObject().EndObject().EndArray().Field("c", std::optional<int>()).EndObject();
  EXPECT_EQ(json.Take(), R"({"b":1,"a":[true,null,"x",{}],"c":null})");
}

TEST(JsonWriter, NumbersReadBackAsTheyWere) {
  const double doubles[] = {0.1, 1e300, -2.5e-10, 12345678901234567.0, 3};
  for (const double value : doubles) {
    EXPECT_EQ(nlohmann::json::parse(JsonWriter().Value(value).Take()).get<double>(), value);
  }
  EXPECT_EQ(JsonWriter().Value(0.8f).Take(), "0.8");
  EXPECT_EQ(JsonWriter().Value(std::numeric_limits<std::uint64_t>::max()).Take(),
            "18446744073709551615");
  EXPECT_EQ(JsonWriter().Value(std::numeric_limits<std::int64_t>::min()).Take(),
            "-9223372036854775808");
  EXPECT_EQ(JsonWriter().Value(std::nan("")).Take(), "null");
  EXPECT_EQ(JsonWriter().Value(-INFINITY).Take(), "null");
}

TEST(JsonWriter, EveryByteStringBecomesValidJson) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  const std::string cases[] = {
      all,
      "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80",
      "\xC0\x80",              // overlong
      "\xED\xA0\x80",          // surrogate
      "\xF4\x90\x80\x80",      // above U+10FFFF
      "cut \xF0\x9F\x98",      // ends in a character
      std::string("a\0b", 3),  // NUL
  };
  for (const std::string& text : cases) {
    const std::string json = JsonWriter().Value(text).Take();
    const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
    ASSERT_TRUE(parsed.is_string()) << json;
    EXPECT_EQ(parsed.get<std::string>(), ValidUtf8(text));
  }
  EXPECT_EQ(ValidUtf8(cases[1]), cases[1]);
  EXPECT_EQ(ValidUtf8("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(JsonWriter().Value(std::string("\x01\n\"\\")).Take(), R"("\u0001\n\"\\")");
}

TEST(JsonWriter, TakesLongDocumentsInParts) {
  JsonWriter json;
  json.BeginArray().Value(1);
  std::string text = json.Take();
  json.Value(2).EndArray();
  text += json.Take();
  EXPECT_EQ(text, "[1,2]");
}

}  // namespace
}  // namespace vt
