// Every exit code, and what a failure prints.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/json_schema.h"
#include "cli/program.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

std::string Tiny() { return TinyPath("llama-dense.gguf"); }

void ExpectError(const Outcome& outcome, int exit_code, const std::string& code,
                 const std::string& says) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.rfind("vt-run: error: ", 0), 0u) << outcome.err;
  EXPECT_NE(outcome.err.find(says), std::string::npos) << "want: " << says << "\n" << outcome.err;
  EXPECT_EQ(ErrorField(outcome, "code"), code);
  EXPECT_EQ(ErrorField(outcome, "exit_code"), std::to_string(exit_code));
  const auto document = nlohmann::json::parse(Lines(outcome.err).back());
  EXPECT_EQ(SchemaErrors(document, "vt.error.schema.json"), "");
}

TEST(RunErrors, UnknownFlag) {
  ExpectError(RunVt({"--temprature", "0"}), 2, "invalid", "the nearest is --temperature");
}

TEST(RunErrors, MissingAndUnreadableModel) {
  ExpectError(RunVt({"-m", "nowhere.gguf", "--tokens", "1"}), 3, "corrupt", "nowhere.gguf");
  ExpectError(RunVt({"-m", "/", "--tokens", "1"}), 3, "corrupt", "/");
  ExpectError(RunVt({"-m", WriteTemp("empty.gguf", ""), "--tokens", "1"}), 3, "corrupt",
              "empty.gguf");
}

TEST(RunErrors, CutModel) {
  std::string bytes = ReadFile(Tiny());
  bytes.pop_back();
  const std::string cut = WriteTemp("cut.gguf", bytes);
  for (const char* what : {"--describe", "--explain"}) {
    std::vector<std::string> args = {"-m", cut, what};
    if (std::string(what) == "--explain") args.insert(args.end(), {"--tokens", "1"});
    ExpectError(RunVt(args), 3, "corrupt", "cut.gguf");
  }
}

TEST(RunErrors, UnknownArchitecture) {
  std::string bytes = ReadFile(Tiny());
  const std::string key = "general.architecture";
  const std::size_t at = bytes.find("llama", bytes.find(key));
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 5, "lemur");
  const Outcome outcome = RunVt({"-m", WriteTemp("lemur.gguf", bytes), "--tokens", "1"});
  ExpectError(outcome, 4, "unsupported", "lemur");
  EXPECT_NE(outcome.err.find("qwen2"), std::string::npos) << "lists those known: " << outcome.err;
}

TEST(RunErrors, PromptLongerThanTheContext) {
  const Outcome outcome = RunVt({"-m", Tiny(), "--tokens", "1,2,3,4,5", "--ctx", "4"});
  ExpectError(outcome, 2, "invalid", "5 tokens do not fit the context of 4");
}

TEST(RunErrors, TokenOutsideTheVocabulary) {
  const Outcome outcome = RunVt({"-m", Tiny(), "--tokens", "1,2000000000"});
  ExpectError(outcome, 2, "invalid", "token id 2000000000 at position 1");
  ExpectError(RunVt({"-m", Tiny(), "--tokens", "1", "--logit-bias", "2000000000=1"}), 2, "invalid",
              "2000000000");
}

TEST(RunErrors, NoPrompt) {
  const Outcome outcome = RunVt({"-m", Tiny()});
  ExpectError(outcome, 2, "invalid", "no prompt given: stdin is empty");
  EXPECT_LT(outcome.seconds, 5);
  Command closed;
  closed.args = {"-m", Tiny()};
  closed.close_stdin = true;
  ExpectError(RunVt(closed), 2, "invalid", "no prompt given");
}

TEST(RunErrors, TextNeedsATokenizer) {
  ExpectError(RunVt({"-m", Tiny(), "-p", "hello"}), 4, "unsupported", "tokenizer");
  ExpectError(RunVt({"-m", Tiny(), "--tokens", "1", "--stop", "x"}), 2, "invalid", "tokenizer");
}

TEST(RunErrors, ChatNeedsATemplate) {
  ExpectError(RunVt({"-m", Tiny(), "-p", "hello", "--chat"}), 2, "invalid",
              "no key tokenizer.chat_template");
}

TEST(RunErrors, InputFiles) {
  ExpectError(RunVt({"-m", Tiny(), "-f", "nowhere.txt"}), 2, "not_found", "nowhere.txt");
  const std::string not_json = WriteTemp("m.json", "[{\"role\": ");
  ExpectError(RunVt({"-m", Tiny(), "--messages", not_json}), 2, "invalid", "m.json: JSON: ");
  const std::string no_role = WriteTemp("r.json", R"([{"content": "x"}])");
  const Outcome outcome = RunVt({"-m", Tiny(), "--messages", no_role});
  ExpectError(outcome, 2, "invalid", "/0/role");
  EXPECT_EQ(ErrorField(outcome, "at"), "/0/role");
  const std::string deep = WriteTemp("deep.json", std::string(100000, '['));
  ExpectError(RunVt({"-m", Tiny(), "--messages", deep}), 2, "invalid", "nested deeper");
}

TEST(RunErrors, NoRoom) {
  // The page table of this cache alone is more than any machine has.
  const Outcome outcome = RunVt({"-m", Tiny(), "--tokens", "1", "--ctx", "2147483647"});
  EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
  EXPECT_NE(outcome.err.find("kv"), std::string::npos) << outcome.err;
}

TEST(RunErrors, JsonModePutsTheDocumentOnStdout) {
  const Outcome outcome = RunVt({"-m", "nowhere.gguf", "--tokens", "1", "--json"});
  EXPECT_EQ(outcome.exit_code, 3);
  ASSERT_EQ(Lines(outcome.out).size(), 1u) << outcome.out;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(SchemaErrors(document, "vt.error.schema.json"), "");
  EXPECT_EQ(Lines(outcome.err).size(), 1u) << outcome.err;
  const Outcome unparsed = RunVt({"--json", "--bogus"});
  EXPECT_EQ(unparsed.exit_code, 2);
  EXPECT_EQ(nlohmann::json::parse(unparsed.out)["code"], "invalid");
}

TEST(RunErrors, FullDisk) {
  Command command;
  command.args = {"-m", Tiny(), "--tokens", "1", "-n", "4"};
  command.stdout_path = "/dev/full";
  const Outcome outcome = RunVt(command);
  EXPECT_EQ(outcome.exit_code, 6) << outcome.err;
  EXPECT_NE(outcome.err.find("No space left on device"), std::string::npos) << outcome.err;
  command.args.push_back("--json");
  EXPECT_EQ(RunVt(command).exit_code, 6);
  command.args = {"--help"};
  EXPECT_EQ(RunVt(command).exit_code, 6);
}

TEST(RunErrors, ClosedStdout) {
  Command command;
  command.args = {"-m", Tiny(), "--tokens", "1", "-n", "4"};
  command.close_stdout = true;
  const Outcome outcome = RunVt(command);
  EXPECT_EQ(outcome.exit_code, 6) << outcome.err;
}

TEST(RunErrors, ForcedKernelsAndInstructionSets) {
  const Outcome known =
      RunVt({"-m", Tiny(), "--tokens", "1", "-n", "1", "--isa", "scalar", "--quiet"});
  EXPECT_EQ(known.exit_code, 0) << known.err;
  // A scalar machine has no kernel of another instruction set.
  const Outcome lacking = RunVt(
      {"-m", Tiny(), "--tokens", "1", "-n", "1", "--isa", "scalar", "--tier", "native", "--quiet"});
  EXPECT_EQ(lacking.exit_code, 4) << lacking.err;
}

TEST(RunErrors, DumpLogitsTarget) {
  const std::string folder = TempDir();
  ExpectError(RunVt({"-m", Tiny(), "--tokens", "1", "--dump-logits", folder + "/no/such"}), 2,
              "invalid", "cannot be made");
  ExpectError(RunVt({"-m", Tiny(), "--tokens", "1", "--dump-logits", "/dev/null"}), 2, "invalid",
              "is no plain file");
}

}  // namespace
}  // namespace vt::test
