// Snippets over all of Jinja's features against what Jinja2 makes of them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "support/test_files.h"
#include "vt/chat_template.h"

namespace vt {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kOracleNow = 1767323045;  // 2026-01-02T03:04:05

Result<std::string> ParseAndRender(const std::string& source, const ordered_json& context) {
  VT_ASSIGN_OR_RETURN(const ChatTemplate parsed, ChatTemplate::Parse(source));
  RenderOptions options;
  options.now = kOracleNow;
  return parsed.Render(context, options);
}

// Kinds of errors whose words are a template author's or Jinja's own, not Python's.
bool SameWords(const std::string& kind) {
  static const std::set<std::string> kinds = {"TemplateError", "UndefinedError", "SecurityError",
                                              "TemplateRuntimeError", "TemplateAssertionError"};
  return kinds.count(kind) > 0;
}

TEST(JinjaCases, SameTextOrError) {
  const ordered_json document =
      ordered_json::parse(test::ReadFile(test::DataPath("jinja_cases.json")));
  const ordered_json& context = document.at("context");
  int cases = 0;
  for (const ordered_json& test_case : document.at("cases")) {
    const std::string source = test_case.at("source");
    SCOPED_TRACE(source);
    ++cases;
    const auto text = ParseAndRender(source, context);
    if (!test_case.contains("error")) {
      if (!text.ok()) {
        ADD_FAILURE() << text.status().message() << "\nwanted: " << test_case.at("text");
      } else {
        EXPECT_EQ(*text, test_case.at("text").get<std::string>());
      }
      continue;
    }
    const std::string kind = test_case.at("error");
    if (text.ok()) {
      ADD_FAILURE() << "rendered: " << *text << "\nwanted: " << kind << ": "
                    << test_case.at("message");
      continue;
    }
    EXPECT_EQ(text.status().code(), Code::kInvalid);
    if (!SameWords(kind)) continue;
    const std::string message = text.status().message();
    const std::string words = test_case.at("message");
    const bool ends = message.size() >= words.size() &&
                      message.compare(message.size() - words.size(), words.size(), words) == 0;
    EXPECT_TRUE(ends) << message << "\nwanted: " << words;
  }
  EXPECT_GE(cases, 600);
}

}  // namespace
}  // namespace vt
