// --draft: the same answers in fewer steps, and what is said of drafts that cannot be.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/json_schema.h"
#include "cli/program.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

constexpr const char* kModel = "SmolLM2-135M-Instruct.Q4_1.gguf";
constexpr const char* kRepetitive =
    "The red fox ran over the red hill. The blue fox ran over the blue hill. The green fox ran";

json End(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<std::string> lines = Lines(outcome.out);
  for (const std::string& line : lines) {
    EXPECT_EQ(SchemaErrors(json::parse(line), "vt.run.schema.json"), "") << line;
  }
  return lines.empty() ? json() : json::parse(lines.back());
}

void ExpectAddsUp(const json& record) {
  const json& counts = record["speculation"];
  ASSERT_TRUE(counts.is_object()) << record;
  EXPECT_EQ(counts["step_count"].get<int>() + counts["accepted_count"].get<int>(),
            record["token_count"].get<int>());
  EXPECT_LE(counts["accepted_count"].get<int>(), counts["drafted_count"].get<int>());
}

TEST(RunSpeculative, TheTextIsTheSameWhateverTheDraft) {
  const auto model = ModelPath(kModel);
  if (!model) VT_NOT_RUN(kModel);
  for (const std::vector<std::string>& sampling :
       {std::vector<std::string>{"--temperature", "0"},
        {"--temperature", "0.7", "--seed", "5", "--repeat-penalty", "1.05"},
        {"--temperature", "0", "--grammar", "root ::= ([a-z ]{3,20} \".\")*"}}) {
    std::vector<std::string> args = {"-m", *model, "-p", kRepetitive, "-n", "24", "--json"};
    args.insert(args.end(), sampling.begin(), sampling.end());
    const json plain = End(RunVt(args));
    EXPECT_EQ(plain["speculation"], nullptr);
    for (const std::vector<std::string>& draft :
         {std::vector<std::string>{"--draft", "prompt-lookup", "--draft-max", "1"},
          {"--draft", "prompt-lookup", "--draft-max", "4", "--draft-match", "1"},
          {"--draft", *model, "--draft-max", "3"}}) {
      std::vector<std::string> more = args;
      more.insert(more.end(), draft.begin(), draft.end());
      const json end = End(RunVt(more));
      EXPECT_EQ(end["ids"], plain["ids"]) << draft[1];
      EXPECT_EQ(end["text"], plain["text"]) << draft[1];
      EXPECT_EQ(end["stop"], plain["stop"]) << draft[1];
      ExpectAddsUp(end);
    }
  }
}

TEST(RunSpeculative, RecordsTellOfTheDraftModel) {
  const std::string model = TinyPath("qwen3-dense.gguf");
  const std::string other = TinyPath("llama-dense.gguf");
  const std::vector<std::string> args = {
      "-m", model, "--tokens", "1,2,3,1,2,3,1,2", "-n", "30", "--json", "--temperature", "0"};
  std::vector<std::string> drafted = args;
  drafted.insert(drafted.end(), {"--draft", other});
  const json plain = End(RunVt(args));
  const Outcome outcome = RunVt(drafted);
  const json end = End(outcome);
  const json start = json::parse(Lines(outcome.out).front());
  EXPECT_EQ(end["ids"], plain["ids"]);
  ExpectAddsUp(end);
  EXPECT_EQ(start["draft_model"]["file"], other);
  EXPECT_EQ(start["draft_model"]["architecture"], "llama");
  EXPECT_EQ(start["settings"]["draft"], json({{"value", other}, {"origin", "flag"}}));
  EXPECT_EQ(start["settings"]["draft_max"], json({{"value", 4}, {"origin", "default"}}));
  EXPECT_EQ(json::parse(Lines(RunVt(args).out).front())["draft_model"], nullptr);
  std::size_t rows = 0;
  for (const json& row : end["memory"]) {
    if (!row["row"].get<std::string>().starts_with("draft.")) continue;
    EXPECT_EQ(row["device"], "cpu");
    EXPECT_EQ(row["predicted_bytes"], row["allocated_bytes"]) << row;
    ++rows;
  }
  EXPECT_EQ(end["memory"].size(), 2 * rows) << end["memory"];
  std::size_t launches = 0;
  for (const json& row : end["launches"]) launches += row["op"] == "draft.matmul";
  EXPECT_GE(launches, 1u);
  // For people, beside the speeds.
  EXPECT_NE(outcome.err.find("guesses accepted"), std::string::npos) << outcome.err;
}

TEST(RunSpeculative, JsonlPromptsDraftTogether) {
  const std::string model = TinyPath("gemma3-dense.gguf");
  Command command;
  for (int i = 0; i < 5; ++i) {
    json ids = json::array();
    for (int t = 0; t < 20 + 13 * i; ++t) ids.push_back((t % (4 + i)) * 7 + i);
    json line = {{"tokens", ids}, {"max_tokens", 40 + i}, {"temperature", i % 2 ? 0.9 : 0}};
    if (i % 2 != 0) line["seed"] = i;
    command.stdin_text = command.stdin_text.value_or("") + line.dump() + "\n";
  }
  command.args = {"-m", model, "--jsonl", "--sequences", "3", "--ubatch", "12"};
  const Outcome plain = RunVt(command);
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  for (const std::vector<std::string>& draft :
       {std::vector<std::string>{"--draft", "prompt-lookup"}, {"--draft", model}}) {
    Command drafted = command;
    drafted.args.insert(drafted.args.end(), draft.begin(), draft.end());
    const Outcome outcome = RunVt(drafted);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    ASSERT_EQ(Lines(outcome.out).size(), 5u);
    int accepted = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      const json want = json::parse(Lines(plain.out)[i]);
      const json got = json::parse(Lines(outcome.out)[i]);
      EXPECT_EQ(SchemaErrors(got, "vt.run.schema.json"), "");
      EXPECT_EQ(got["ids"], want["ids"]) << i;
      ExpectAddsUp(got);
      accepted += got["speculation"]["accepted_count"].get<int>();
    }
    EXPECT_GT(accepted, 20);
  }
}

TEST(RunSpeculative, RefusesWhatCannotBe) {
  const std::string model = TinyPath("llama-dense.gguf");
  // The same model but for one token's text.
  std::string bytes = ReadFile(model);
  const std::size_t at = bytes.find("tok_17");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 6, "tok_xx");
  const std::string changed = WriteTemp("changed.gguf", bytes);
  const std::string recurrent = TinyPath("mamba2-dense.gguf");
  struct Case {
    std::string model;
    std::vector<std::string> flags;
    int exit_code;
    std::vector<std::string> says;
  };
  std::vector<Case> cases = {
      {model, {"--draft-max", "3"}, 2, {"--draft-max: has an effect only with --draft"}},
      {model,
       {"--draft", model, "--draft-match", "3"},
       2,
       {"--draft-match: has an effect only with --draft prompt-lookup"}},
      {model, {"--draft", "prompt-lookup", "--draft-max", "65"}, 2, {"65", "1 to 64"}},
      {model, {"--draft", "nowhere.gguf"}, 3, {"--draft: ", "nowhere.gguf"}},
      {model,
       {"--draft", changed},
       2,
       {"--draft " + changed + ": vocabulary: token ", "\"tok_xx\", the model's \"tok_17\""}},
      {recurrent,
       {"--draft", "prompt-lookup"},
       4,
       {"--draft: architecture \"mamba2\": its recurrent state cannot take back"}},
      {model, {"--draft", recurrent}, 4, {"--draft " + recurrent + ": architecture \"mamba2\""}},
  };
  if (const auto large = ModelPath(kModel)) {
    cases.push_back({model,
                     {"--draft", *large},
                     2,
                     {"vocabulary: has 49152 tokens, the model's 128; a draft model must have"}});
  }
  for (const Case& c : cases) {
    std::vector<std::string> args = {"-m", c.model, "--tokens", "1,2", "-n", "4"};
    args.insert(args.end(), c.flags.begin(), c.flags.end());
    const Outcome outcome = RunVt(args);
    EXPECT_EQ(outcome.exit_code, c.exit_code) << c.flags[1] << outcome.err;
    EXPECT_EQ(outcome.out, "");
    for (const std::string& text : c.says) {
      EXPECT_NE(outcome.err.find(text), std::string::npos) << text << "\n" << outcome.err;
    }
  }
}

// Every example of the page runs.
TEST(RunSpeculative, ExamplesOfTheHowToRun) {
  const auto model = ModelPath(kModel);
  if (!model) VT_NOT_RUN(kModel);
  bool inside = false;
  int examples = 0;
  for (std::string line : Lines(ReadFile(DataPath("../../docs/howto/speculative.md")))) {
    if (line.rfind("```", 0) == 0) {
      inside = !inside && line == "```sh";
    } else if (inside) {
      for (const auto& [from, to] : {std::pair<std::string, std::string>("small.gguf", *model),
                                     {"model.gguf", *model},
                                     {"vt-run ", "\"$VT\" "}}) {
        const std::size_t at = line.find(from);
        if (at != std::string::npos) line.replace(at, from.size(), to);
      }
      const Outcome outcome = RunShell(line);
      EXPECT_EQ(outcome.exit_code, 0) << line << outcome.err;
      EXPECT_FALSE(outcome.out.empty()) << line;
      EXPECT_NE(outcome.err.find("guesses accepted"), std::string::npos) << outcome.err;
      ++examples;
    }
  }
  EXPECT_EQ(examples, 2);
}

}  // namespace
}  // namespace vt::test
