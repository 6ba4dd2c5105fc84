// Real templates against what Jinja2 makes of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/test_files.h"
#include "vt/chat_template.h"

namespace vt {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::int64_t kOracleNow = 1767323045;  // 2026-01-02T03:04:05

// A folder of NAME.jinja and NAME.json.
std::string TemplateFolder() {
  if (const char* set = std::getenv("VT_TEMPLATES"); set && *set) return set;
  return test::DataPath("../../../shared/oracle/templates");
}

std::vector<fs::path> Templates() {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(TemplateFolder(), ignored)) {
    if (entry.path().extension() == ".jinja") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

ordered_json Context(const ordered_json& test_case) {
  ordered_json context = test_case.at("args");
  context["messages"] = test_case.at("messages");
  return context;
}

TEST(ChatTemplates, RenderAsJinja) {
  const std::vector<fs::path> templates = Templates();
  if (templates.empty()) VT_NOT_RUN("chat templates (set VT_TEMPLATES)");
  int cases = 0;
  for (const fs::path& path : templates) {
    SCOPED_TRACE(path.filename());
    auto parsed = ChatTemplate::Parse(test::ReadFile(path));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    fs::path answers = path;
    answers.replace_extension(".json");
    const ordered_json expected = ordered_json::parse(test::ReadFile(answers));
    for (const ordered_json& test_case : expected.at("cases")) {
      SCOPED_TRACE(test_case.at("name").get<std::string>());
      ++cases;
      RenderOptions options;
      options.now = kOracleNow;
      const auto text = parsed->Render(Context(test_case), options);
      if (test_case.contains("error")) {
        ASSERT_FALSE(text.ok()) << *text;
        const std::string message = text.status().message();
        const std::string error = test_case.at("error");
        EXPECT_EQ(text.status().code(), Code::kInvalid);
        EXPECT_EQ(message.substr(message.size() - std::min(error.size(), message.size())), error);
      } else {
        ASSERT_TRUE(text.ok()) << text.status().message();
        EXPECT_EQ(*text, test_case.at("text").get<std::string>());
      }
    }
  }
  EXPECT_GE(cases, 200);
}

TEST(ChatTemplates, HundredMessagesTakeMilliseconds) {
  const std::vector<fs::path> templates = Templates();
  if (templates.empty()) VT_NOT_RUN("chat templates (set VT_TEMPLATES)");
  ordered_json context = {
      {"add_generation_prompt", true}, {"bos_token", "<BOS>"}, {"eos_token", "<EOS>"}};
  for (int i = 0; i < 100; ++i) {
    const std::string words = "Some words of message " + std::to_string(i) + ". ";
    std::string content;
    for (int n = 0; n < 20; ++n) content += words;
    context["messages"].push_back({{"role", i % 2 ? "assistant" : "user"}, {"content", content}});
  }
  for (const fs::path& path : templates) {
    const auto parsed = ChatTemplate::Parse(test::ReadFile(path));
    ASSERT_TRUE(parsed.ok());
    double best_ms = 1e9;
    for (int run = 0; run < 3; ++run) {
      const auto start = std::chrono::steady_clock::now();
      const auto text = parsed->Render(context);
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start;
      best_ms = std::min(best_ms, took.count());
    }
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(best_ms, 20.0) << path.filename();
#endif
    RecordProperty(path.stem().string(), std::to_string(best_ms) + " ms");
  }
}

}  // namespace
}  // namespace vt
