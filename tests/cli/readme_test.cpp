// The README's examples are what the programs print.
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/program.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

struct Example {
  std::string command;
  std::string output;  // lines, each with its newline
};

// Blocks that start with "$ ": a command, continued where a line ends in "\" or "|", then its
// output.
std::vector<Example> ReadExamples(const std::string& text) {
  std::vector<Example> examples;
  bool inside = false, in_command = false;
  for (const std::string& line : Lines(text)) {
    if (line.starts_with("```")) {
      inside = !inside;
      continue;
    }
    if (!inside) continue;
    if (line.starts_with("$ ")) {
      examples.push_back({line.substr(2) + "\n", ""});
      in_command = line.ends_with('\\') || line.ends_with('|');
    } else if (in_command) {
      examples.back().command += line + "\n";
      in_command = line.ends_with('\\') || line.ends_with('|');
    } else if (!examples.empty()) {
      examples.back().output += line + "\n";
    }
  }
  return examples;
}

// Words alone count: the README wraps long answers. "[…]" at the end stands for the rest.
std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string& line : Lines(text)) {
    std::size_t at = 0;
    while ((at = line.find_first_not_of(' ', at)) != std::string::npos) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      words.push_back(line.substr(at, end - at));
      at = end;
    }
  }
  return words;
}

TEST(Readme, ExamplesPrintWhatTheySay) {
  for (const char* name : {"SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf"}) {
    if (!ModelPath(name)) VT_NOT_RUN(name);
  }
  const std::filesystem::path root = DataPath("../..");
  const std::vector<Example> examples = ReadExamples(ReadFile((root / "README.md").string()));
  EXPECT_GE(examples.size(), 3u);
  for (Example example : examples) {
    const auto replace = [&](const std::string& from, const std::string& to) {
      for (std::size_t at = 0; (at = example.command.find(from, at)) != std::string::npos;
           at += to.size()) {
        example.command.replace(at, from.size(), to);
      }
    };
    replace("build/release/bin/", "\"$(dirname \"$VT\")\"/");
    replace("~/.cache/vt/models",
            std::filesystem::path(*ModelPath("gemma-3-270m-q4_k_m.gguf")).parent_path().string());
    replace("profiles/", std::filesystem::canonical(root).string() + "/profiles/");
    const Outcome outcome = RunShell(example.command);
    EXPECT_EQ(outcome.exit_code, 0) << example.command << outcome.err;
    std::vector<std::string> want = Words(example.output), got = Words(outcome.out);
    ASSERT_FALSE(want.empty()) << example.command;
    if (want.back() == "[…]") {
      want.pop_back();
      ASSERT_GE(got.size(), want.size());
      got.resize(want.size());
    }
    EXPECT_EQ(got, want) << example.command;
  }
}

}  // namespace
}  // namespace vt::test
