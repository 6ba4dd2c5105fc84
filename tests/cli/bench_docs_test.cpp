// The pages of vt-bench's documents: they name every key, and their examples run.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "bench/floors.h"
#include "cli/bench_program.h"
#include "cli/json_schema.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

// The lines of all ```language blocks of a page.
std::vector<std::string> ExamplesOf(const std::string& page, const std::string& language) {
  std::vector<std::string> examples;
  bool inside = false;
  for (const std::string& line : Lines(ReadFile(DataPath("../../docs/json/" + page + ".md")))) {
    if (line.starts_with("```")) {
      inside = !inside && line == "```" + language;
    } else if (inside) {
      examples.push_back(line);
    }
  }
  EXPECT_FALSE(examples.empty()) << page;
  return examples;
}

void ReplaceEach(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

TEST(BenchDocs, PagesNameEveryKeyOfTheirSchemas) {
  for (const std::string name : {"vt.bench", "vt.bench-compare", "vt.bench-floor",
                                 "vt.bench-floors", "vt.bench-ops", "vt.bench-synth"}) {
    const std::string page = ReadFile(DataPath("../../docs/json/" + name + ".md"));
    const json schema = json::parse(ReadFile(DataPath("../../docs/json/" + name + ".schema.json")));
    const std::function<void(const json&)> visit = [&](const json& part) {
      if (part.is_object() && part.contains("properties")) {
        for (const auto& [key, unused] : part["properties"].items()) {
          bool named = key == "schema";
          for (const char* before : {"`", "."}) {
            for (const char* after : {"`", ".", "[]"}) {
              named = named || page.find(before + key + after) != std::string::npos;
            }
          }
          EXPECT_TRUE(named) << name << ".md does not name " << key;
        }
      }
      if (part.is_structured()) {
        for (const json& member : part) visit(member);
      }
    };
    visit(schema);
  }
}

// In a folder with a record and floors that it reaches.
TEST(BenchDocs, ExamplesRun) {
  const std::string folder = TempDir();
  ASSERT_EQ(RunBenchProgram(QuickRun({"-o", folder + "/record.json"})).exit_code, 0);
  std::ofstream(folder + "/floors.json")
      << R"({"schema":"vt.bench-floors/1","floors":[{"axis":"pp8","value":0.001,"tolerance":0,)"
         R"("machine":"*"}]})";
  for (const std::string page :
       {"vt.bench", "vt.bench-compare", "vt.bench-floor", "vt.bench-ops", "vt.bench-synth"}) {
    for (std::string line : ExamplesOf(page, "sh")) {
      const std::string shown = line;
      ReplaceEach(line, "model.gguf", TinyModel());
      ReplaceEach(line, "vt-bench", VT_BENCH_BINARY);
      const Outcome outcome = RunShell("cd '" + folder + "' && " + line);
      // A record of a busy machine may be void, and a floor is then not passed.
      const bool may_be_void = page == "vt.bench-floor" && outcome.exit_code == 1;
      EXPECT_TRUE(outcome.exit_code == 0 || may_be_void) << shown << "\n" << outcome.err;
      const json document = json::parse(outcome.out, nullptr, false);
      EXPECT_EQ(SchemaErrors(document, page + ".schema.json"), "") << shown;
    }
  }
  for (const std::string& line : ExamplesOf("vt.bench-floors", "json")) {
    EXPECT_EQ(SchemaErrors(json::parse(line), "vt.bench-floors.schema.json"), "") << line;
    EXPECT_TRUE(ParseFloors(line).ok()) << line;
  }
}

}  // namespace
}  // namespace vt::test
