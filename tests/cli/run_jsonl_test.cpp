// --jsonl: many prompts in one batch.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/json_schema.h"
#include "cli/program.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

Outcome RunLines(const std::string& lines, std::vector<std::string> more = {}) {
  Command command;
  command.args = {"-m", TinyPath("llama-dense.gguf"), "--jsonl", "--quiet"};
  command.args.insert(command.args.end(), more.begin(), more.end());
  command.stdin_text = lines;
  return RunVt(command);
}

std::vector<json> Records(const Outcome& outcome) {
  std::vector<json> records;
  for (const std::string& line : Lines(outcome.out)) {
    records.push_back(json::parse(line));
    EXPECT_EQ(SchemaErrors(records.back(), "vt.run.schema.json"), "") << line;
  }
  return records;
}

// Prompts of different lengths, so that they do not end in the order in which they began.
constexpr const char* kLines =
    "{\"id\": \"a\", \"tokens\": [1, 2, 3, 4, 5, 6, 7, 8, 9], \"max_tokens\": 20}\n"
    "{\"id\": \"b\", \"tokens\": [1], \"max_tokens\": 1}\n"
    "\n"
    "{\"id\": 3, \"tokens\": [2, 2], \"max_tokens\": 7}\n"
    "{\"tokens\": [4, 1, 4], \"max_tokens\": 3}";

TEST(RunJsonl, ResultsComeInInputOrder) {
  const Outcome outcome = RunLines(kLines, {"--sequences", "3", "--temperature", "0"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<json> records = Records(outcome);
  ASSERT_EQ(records.size(), 4u);
  const json ids = {"a", "b", 3, nullptr};
  const int lines[] = {1, 2, 4, 5};
  const int counts[] = {20, 1, 7, 3};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(records[i]["type"], "result");
    EXPECT_EQ(records[i]["index"], i);
    EXPECT_EQ(records[i]["id"], ids[i]);
    EXPECT_EQ(records[i]["line"], lines[i]);
    EXPECT_EQ(records[i]["token_count"], counts[i]);
    EXPECT_TRUE(records[i]["error"].is_null());
  }
}

TEST(RunJsonl, BatchesAnswerAsSinglePrompts) {
  const auto answers = [](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"--temperature", "0"};
    args.insert(args.end(), more.begin(), more.end());
    json ids = json::array();
    for (const json& record : Records(RunLines(kLines, args))) ids.push_back(record["ids"]);
    return ids;
  };
  const json want = answers({"--sequences", "1", "--no-prefix-reuse"});
  EXPECT_EQ(want.size(), 4u);
  EXPECT_EQ(answers({"--sequences", "4"}), want);
  EXPECT_EQ(answers({"--sequences", "8", "--ubatch", "2"}), want);
  const Outcome single = RunVt({"-m", TinyPath("llama-dense.gguf"), "--tokens", "2,2", "-n", "7",
                                "--temperature", "0", "--json", "--quiet"});
  EXPECT_EQ(json::parse(Lines(single.out).back())["ids"], want[2]);
}

TEST(RunJsonl, LinesHaveTheirOwnSettings) {
  const Outcome outcome = RunLines(
      "{\"tokens\": [1, 2], \"temperature\": 0, \"max_tokens\": 6}\n"
      "{\"tokens\": [1, 2], \"temperature\": 3, \"top_k\": 0, \"top_p\": 1, \"min_p\": 0, "
      "\"seed\": 5, \"max_tokens\": 6}\n"
      "{\"tokens\": [1, 2], \"temperature\": 0, \"max_tokens\": 6, \"logit_bias\": {\"3\": 1000}}\n"
      "{\"tokens\": [1, 2], \"temperature\": 0, \"max_tokens\": 6}\n");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<json> records = Records(outcome);
  EXPECT_EQ(records[0]["ids"], records[3]["ids"]);
  EXPECT_NE(records[0]["ids"], records[1]["ids"]);
  EXPECT_EQ(records[2]["ids"], json({3, 3, 3, 3, 3, 3}));
}

TEST(RunJsonl, BadLinesAreRecordsAndTheRestRuns) {
  struct Case {
    std::string line;
    std::string at;
    std::string says;
  };
  const Case cases[] = {
      {"not json", "", "JSON: "},
      {"[1]", "", "must be a JSON object"},
      {"{}", "", "needs exactly one of prompt, tokens and messages (0 given)"},
      {R"({"tokens": [1], "prompt": "x"})", "", "(2 given)"},
      {R"({"tokens": [1], "temprature": 1})", "/temprature", "the nearest is temperature"},
      {R"({"tokens": [1], "temperature": "hot"})", "/temperature", "must be a number"},
      {R"({"tokens": [1], "temperature": -1})", "", "temperature"},
      {R"({"tokens": [1], "temperature": 0, "top_k": 5})", "/top_k", "has no effect"},
      {R"({"tokens": [1.5]})", "/tokens", "must be a whole number"},
      {R"({"tokens": [-1]})", "/tokens", "out of range"},
      {R"({"tokens": []})", "", "has no tokens"},
      {R"({"tokens": [1], "max_tokens": -2})", "/max_tokens", "out of range"},
      {R"({"tokens": [1], "stop": [""]})", "/stop", "empty"},
      {R"({"tokens": [1], "tokens": [2]})", "", "is given twice"},
      {R"({"tokens": [2000000000]})", "", "outside the vocabulary"},
      {R"({"messages": [{"content": "x"}]})", "/messages/0/role", "needs a role"},
      {R"({"tokens": [1], "tools": []})", "/tools", "only with messages"},
      {R"({"prompt": "x"})", TinyPath("llama-dense.gguf"), "tokenizer"},
      {R"({"id": [1], "tokens": [1]})", "/id", "must be a string or a number"},
      {R"({"id": "keep", "tokens": "x"})", "/tokens", "must be an array"},
  };
  std::string input;
  for (const Case& c : cases) input += c.line + "\n";
  input += "{\"tokens\": [1], \"max_tokens\": 2}\n";
  const Outcome outcome = RunLines(input, {"--ctx", "32"});
  EXPECT_EQ(outcome.exit_code, 2);
  const std::vector<json> records = Records(outcome);
  ASSERT_EQ(records.size(), std::size(cases) + 1);
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    const json& error = records[i]["error"];
    ASSERT_TRUE(error.is_object()) << cases[i].line;
    const std::string message = error["message"];
    EXPECT_NE(message.find(cases[i].says), std::string::npos) << cases[i].line << "\n" << message;
    EXPECT_NE(message.find("line " + std::to_string(i + 1) + ": "), std::string::npos) << message;
    EXPECT_EQ(error["at"].is_null() ? "" : error["at"].get<std::string>(), cases[i].at) << message;
  }
  EXPECT_EQ(records[std::size(cases) - 1]["id"], "keep");
  EXPECT_EQ(records.back()["token_count"], 2);
  EXPECT_NE(outcome.err.find("line 1: "), std::string::npos);
}

TEST(RunJsonl, TooLongPromptsAreBadLines) {
  const Outcome outcome = RunLines(
      "{\"tokens\": [1, 2, 3, 4, 5]}\n{\"tokens\": [1], \"max_tokens\": 1}\n", {"--ctx", "4"});
  EXPECT_EQ(outcome.exit_code, 2);
  const std::vector<json> records = Records(outcome);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_NE(records[0]["error"]["message"].get<std::string>().find("5 tokens do not fit"),
            std::string::npos);
  EXPECT_EQ(records[1]["token_count"], 1);
}

TEST(RunJsonl, NothingInNothingOut) {
  const Outcome outcome = RunLines("");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

TEST(RunJsonl, StartAndEndWithJson) {
  const Outcome outcome = RunLines(kLines, {"--json", "--logprobs", "2", "--temperature", "0"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<json> records = Records(outcome);
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(records.front()["type"], "start");
  EXPECT_EQ(records.front()["prompt_count"], 4);
  EXPECT_EQ(records.front()["settings"]["sequences"], json({{"value", 4}, {"origin", "input"}}));
  EXPECT_EQ(records.back()["type"], "end");
  ASSERT_EQ(records[1]["logprobs"].size(), 20u);
  EXPECT_EQ(records[1]["logprobs"][0]["id"], records[1]["ids"][0]);
}

TEST(RunJsonl, InputFromAFile) {
  const std::string path = WriteTemp("in.jsonl", kLines);
  const Outcome outcome = RunVt(
      {"-m", TinyPath("llama-dense.gguf"), "--jsonl", "-f", path, "--quiet", "--temperature", "0"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Lines(outcome.out).size(), 4u);
}

}  // namespace
}  // namespace vt::test
