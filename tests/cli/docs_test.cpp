// Every example in docs/json does what it says: shell lines run, JSON fits its schema.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/json_schema.h"
#include "cli/program.h"
#include "cli/run_options.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

// The lines of all ```language blocks of a page.
std::vector<std::string> Examples(const std::string& page, const std::string& language) {
  std::vector<std::string> examples;
  bool inside = false;
  for (const std::string& line : Lines(ReadFile(DataPath("../../docs/json/" + page)))) {
    if (line.rfind("```", 0) == 0) {
      inside = !inside && line == "```" + language;
    } else if (inside) {
      examples.push_back(line);
    }
  }
  EXPECT_FALSE(examples.empty()) << page;
  return examples;
}

void ReplaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

TEST(Docs, ErrorExamplesFitTheirSchema) {
  for (const std::string& example : Examples("vt.error.md", "json")) {
    EXPECT_EQ(SchemaErrors(json::parse(example), "vt.error.schema.json"), "") << example;
  }
}

TEST(Docs, ShellExamplesRun) {
  const auto model = ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!model) VT_NOT_RUN("SmolLM2-135M-Instruct.Q4_1.gguf");
  for (const auto& [page, schema] :
       {std::pair("vt.run.md", "vt.run.schema.json"), {"vt.model.md", "vt.model.schema.json"}}) {
    for (std::string example : Examples(page, "sh")) {
      ReplaceAll(example, "vt-run ", "\"$VT\" ");
      ReplaceAll(example, "model.gguf", *model);
      const Outcome outcome = RunShell(example);
      EXPECT_EQ(outcome.exit_code, 0) << example << "\n" << outcome.err;
      EXPECT_FALSE(outcome.out.empty()) << example;
      for (const std::string& line : Lines(outcome.out)) {
        EXPECT_EQ(SchemaErrors(json::parse(line), schema), "") << example;
      }
    }
  }
}

TEST(Docs, CapsExamplesRun) {
  for (const char* page : {"vt.caps.md", "vt.caps-diff.md"}) {
    for (std::string example : Examples(page, "sh")) {
      ReplaceAll(example, "vt-caps", "\"$CAPS\"");
      for (const char* profile : {"rtx-4090.json", "sim-small.json"}) {
        ReplaceAll(example, profile,
                   "'" + DataPath(std::string("../../profiles/") + profile) + "'");
      }
      const Outcome outcome = RunShell(example);
      EXPECT_EQ(outcome.exit_code, 0) << example << "\n" << outcome.err;
      ASSERT_EQ(Lines(outcome.out).size(), 1u) << example;
      const json document = json::parse(outcome.out);
      const std::string name = document["schema"];
      EXPECT_EQ(SchemaErrors(document, name.substr(0, name.find('/')) + ".schema.json"), "")
          << example;
    }
  }
}

TEST(Docs, OpsPageIsWhatTheProgramPrints) {
  const Outcome outcome = RunCaps({"--markdown"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, ReadFile(DataPath("../../docs/ops.md")))
      << "run vt-caps --markdown > docs/ops.md";
}

TEST(Docs, PagesNameEveryKeyOfTheirSchemas) {
  for (const std::string name : {"vt.run", "vt.model", "vt.error", "vt.caps", "vt.caps-diff"}) {
    const std::string page = ReadFile(DataPath("../../docs/json/" + name + ".md"));
    const json schema = json::parse(ReadFile(DataPath("../../docs/json/" + name + ".schema.json")));
    const std::function<void(const json&)> visit = [&](const json& part) {
      if (part.is_object() && part.contains("properties")) {
        for (const auto& [key, unused] : part["properties"].items()) {
          EXPECT_NE(page.find(key), std::string::npos) << name << ".md does not name " << key;
        }
      }
      if (part.is_structured()) {
        for (const json& member : part) visit(member);
      }
    };
    visit(schema);
  }
}

}  // namespace
}  // namespace vt::test
