// The examples of docs/howto/gate.md and of the pages on goldens do what they say; the gate goes
// red for a missing model, a skipped case and a wrong token.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/json_schema.h"
#include "cli/program.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The text of each ```sh block of a page.
std::vector<std::string> Blocks(const std::string& page) {
  std::vector<std::string> blocks;
  bool inside = false;
  for (const std::string& line : Lines(ReadFile(DataPath("../../docs/" + page)))) {
    if (line.rfind("```", 0) == 0) {
      inside = !inside && line == "```sh";
      if (inside) blocks.emplace_back();
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

void Write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Runs a script in a folder, with the built programs on the path.
Outcome RunIn(const std::string& folder, const std::string& script) {
  Write(folder + "/script.sh", script);
  return RunShell("PATH=\"$(dirname \"$VT\"):$PATH\" && export PATH && cd '" + folder +
                  "' && sh ./script.sh");
}

// A folder with models/, goldens/ and prompts.jsonl, its golden recorded as the page says.
class Gate : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = TempDir();
    fs::create_directories(folder_ + "/models");
    fs::create_directories(folder_ + "/goldens");
    fs::copy_file(TinyPath("llama-dense.gguf"), folder_ + "/models/tiny.gguf");
    Write(folder_ + "/prompts.jsonl", std::string(kFirst) + kSecond);
    blocks_ = Blocks("howto/gate.md");
    ASSERT_EQ(blocks_.size(), 4u);
    const Outcome recorded = RunIn(folder_, blocks_[0]);
    ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
  }
  Outcome Check() { return RunIn(folder_, blocks_[1]); }
  Outcome Pipe() { return RunIn(folder_, blocks_[2]); }
  // Changes the golden.
  void Edit(const std::function<void(json&)>& edit) {
    json golden = json::parse(ReadFile(folder_ + "/goldens/tiny.json"));
    edit(golden);
    Write(folder_ + "/goldens/tiny.json", golden.dump());
  }

  static constexpr const char* kFirst = "{\"id\": \"one\", \"tokens\": [5, 6, 7, 8]}\n";
  static constexpr const char* kSecond = "{\"id\": \"two\", \"tokens\": [90, 3]}\n";
  std::string folder_;
  std::vector<std::string> blocks_;
};

TEST_F(Gate, IsGreenWhenAllIsAsItWas) {
  const Outcome outcome = Check();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err.rfind("tiny: 32/32 same", 0), 0u) << outcome.err;
  EXPECT_EQ(SchemaErrors(json::parse(ReadFile(folder_ + "/tiny.report.json")),
                         "vt.golden-report.schema.json"),
            "");
  EXPECT_NE(ReadFile(folder_ + "/tiny.xml").find("failures=\"0\""), std::string::npos);
  const Outcome pipe = Pipe();
  EXPECT_EQ(pipe.exit_code, 0) << pipe.err;
  EXPECT_EQ(pipe.err.rfind("tiny: 32/32 same", 0), 0u) << pipe.err;
  EXPECT_EQ(RunIn(folder_, blocks_[3]).exit_code, 0);
}

TEST_F(Gate, IsRedForAMissingModel) {
  fs::remove(folder_ + "/models/tiny.gguf");
  const Outcome outcome = Check();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("is not there"), std::string::npos) << outcome.err;
  EXPECT_NE(Pipe().exit_code, 0);
}

TEST_F(Gate, IsRedForASkippedCase) {
  Write(folder_ + "/prompts.jsonl", kFirst);
  const Outcome outcome = Pipe();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("1 skipped"), std::string::npos) << outcome.err;
  const json report = json::parse(ReadFile(folder_ + "/run.report.json"));
  EXPECT_EQ(report["counts"]["cases"]["skipped"], 1);
}

TEST_F(Gate, IsRedForAWrongToken) {
  Edit([](json& golden) {
    json& token = golden["cases"][1]["generated_tokens"][9];
    token = token.get<int>() == 4 ? 5 : 4;
  });
  const Outcome outcome = Check();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("token 9 is wrong"), std::string::npos) << outcome.err;
  EXPECT_EQ(Pipe().exit_code, 1);
}

TEST_F(Gate, IsRedForACutGoldenAndForNone) {
  Write(folder_ + "/goldens/tiny.json", ReadFile(folder_ + "/goldens/tiny.json").substr(0, 500));
  EXPECT_EQ(Check().exit_code, 1);
  fs::remove(folder_ + "/goldens/tiny.json");
  EXPECT_EQ(Check().exit_code, 1);
}

TEST(GoldenDocs, ExamplesRunAndFitTheirSchemas) {
  for (const char* page : {"json/vt.golden.md", "json/vt.golden-report.md"}) {
    const std::string folder = TempDir();
    fs::copy_file(TinyPath("llama-dense.gguf"), folder + "/model.gguf");
    Write(folder + "/prompts.jsonl",
          "{\"id\": \"one\", \"tokens\": [5, 6]}\n{\"id\": \"two\", \"tokens\": [9]}\n");
    fs::copy_file(DataPath("golden-import/hf.jsonl"), folder + "/answers.jsonl");
    const std::vector<std::string> blocks = Blocks(page);
    ASSERT_EQ(blocks.size(), page == std::string("json/vt.golden.md") ? 2u : 1u);
    for (const std::string& block : blocks) {
      for (const std::string& line : Lines(block)) {
        const Outcome outcome = RunIn(folder, line);
        EXPECT_EQ(outcome.exit_code, 0) << line << "\n" << outcome.err;
        if (outcome.out.empty()) continue;
        EXPECT_EQ(SchemaErrors(json::parse(outcome.out), "vt.golden-report.schema.json"), "")
            << line;
      }
    }
    EXPECT_EQ(SchemaErrors(json::parse(ReadFile(folder + "/golden.json")), "vt.golden.schema.json"),
              "");
  }
}

// What others made is of the same document.
TEST(GoldenDocs, OracleFilesFitTheSchema) {
  for (const std::string& path :
       {DataPath("real/smollm2-135m-instruct-q4_1.json"), TinyPath("llama-dense.json")}) {
    EXPECT_EQ(SchemaErrors(json::parse(ReadFile(path)), "vt.golden.schema.json"), "") << path;
  }
}

TEST(GoldenDocs, PagesNameEveryKeyOfTheirSchemas) {
  for (const auto& [name, text] : {std::pair<std::string, std::string>("vt.golden", "vt.golden"),
                                   {"vt.golden-report", "vt.golden-report"},
                                   {"vt.golden-self-test", "vt.golden"}}) {
    const std::string page = ReadFile(DataPath("../../docs/json/" + text + ".md"));
    const json schema = json::parse(ReadFile(DataPath("../../docs/json/" + name + ".schema.json")));
    const std::function<void(const json&)> visit = [&](const json& part) {
      if (part.is_object() && part.contains("properties")) {
        for (const auto& [key, unused] : part["properties"].items()) {
          EXPECT_NE(page.find(key), std::string::npos) << text << ".md does not name " << key;
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
