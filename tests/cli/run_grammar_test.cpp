// Answers that follow a grammar or a schema, and what is said about those that are wrong.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cli/json_schema.h"
#include "cli/program.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

constexpr const char* kModel = "SmolLM2-135M-Instruct.Q4_1.gguf";

constexpr const char* kSchema = R"({
  "type": "object",
  "properties": {
    "kind": {"enum": ["cat", "dog"]},
    "alive": {"type": "boolean"},
    "age": {"type": ["integer", "null"]},
    "legs": {"const": 4},
    "tag": {"$ref": "#/$defs/tag"},
    "home": {"type": "object", "properties": {"city": {"$ref": "#/$defs/tag"}}, "required": ["city"], "additionalProperties": false}
  },
  "required": ["kind", "alive", "age", "legs", "tag", "home"],
  "additionalProperties": false,
  "$defs": {"tag": {"enum": ["a", "bb", "c d"]}}
})";

TEST(RunGrammar, AnswersFitTheSchemaWhateverTheSeed) {
  const auto model = ModelPath(kModel);
  if (!model) VT_NOT_RUN(kModel);
  std::string lines;
  for (int seed = 0; seed < 6; ++seed) {
    lines += json({{"prompt", "An animal as JSON:\n"}, {"seed", seed}, {"temperature", 1}}).dump() +
             "\n";
  }
  Command command;
  command.args = {"-m", *model,    "--jsonl", "--json-schema", kSchema, "-n", "120", "--top-k",
                  "0",  "--top-p", "1",       "--min-p",       "0"};
  command.stdin_text = lines;
  const Outcome outcome = RunVt(command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::size_t whole = 0;
  std::vector<std::string> texts;
  for (const std::string& line : Lines(outcome.out)) {
    const json record = json::parse(line);
    EXPECT_EQ(SchemaErrors(record, "vt.run.schema.json"), "");
    texts.push_back(record["text"]);
    // Only an answer that was cut short may be no document.
    if (record["stop"]["reason"] == "max_tokens") continue;
    EXPECT_EQ(record["stop"]["reason"], "grammar_end");
    const json answer = json::parse(record["text"].get<std::string>(), nullptr, false);
    ASSERT_FALSE(answer.is_discarded()) << line;
    EXPECT_EQ(ErrorsAgainst(json::parse(kSchema), answer), "") << line;
    ++whole;
  }
  EXPECT_GE(whole, 5u) << outcome.out;
  EXPECT_GE(std::set(texts.begin(), texts.end()).size(), 3u) << "seeds must still matter";
  std::vector<std::string> again;
  for (const std::string& line : Lines(RunVt(command).out)) {
    again.push_back(json::parse(line)["text"]);
  }
  EXPECT_EQ(again, texts);
}

TEST(RunGrammar, GreedyTakesTheLikeliestTokenThatFits) {
  const auto model = ModelPath(kModel);
  if (!model) VT_NOT_RUN(kModel);
  const std::string grammar = WriteTemp(
      "digits.gbnf", "# a number and a character of two tokens\nroot ::= [0-9]{3} \"\\u2603\"");
  const Outcome outcome = RunVt({"-m", *model, "-p", "The capital of France is", "--temperature",
                                 "0", "--grammar", grammar, "--json", "-n", "20"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json start = json::parse(Lines(outcome.out).front());
  const json end = json::parse(Lines(outcome.out).back());
  EXPECT_EQ(start["samplers"], json({"grammar", "greedy"}));
  EXPECT_EQ(start["settings"]["grammar"], json({{"value", grammar}, {"origin", "flag"}}));
  EXPECT_EQ(end["stop"], json({{"reason", "grammar_end"}, {"detail", nullptr}}));
  const std::string text = end["text"];
  ASSERT_EQ(text.size(), 6u) << text;
  EXPECT_EQ(text.find_first_not_of("0123456789"), 3u);
  EXPECT_EQ(text.substr(3), "\u2603");
}

TEST(RunGrammar, EndTokensComeOnlyWhereTheGrammarMayEnd) {
  const auto model = ModelPath(kModel);
  if (!model) VT_NOT_RUN(kModel);
  // The model would end after its sentence; here it may not, and then it must.
  const Outcome outcome =
      RunVt({"-m", *model, "--chat", "-p", "Say hello.", "--temperature", "0", "--grammar",
             "root ::= [A-Za-z ]{40} [.]*", "--json", "-n", "200"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json end = json::parse(Lines(outcome.out).back());
  const std::string text = end["text"];
  EXPECT_GE(text.size(), 40u);
  if (end["stop"]["reason"] != "max_tokens") {
    EXPECT_EQ(end["stop"]["reason"], "end_token");
    EXPECT_EQ(end["stop"]["detail"], "<|im_end|>");
  }
}

TEST(RunGrammar, AnAnswerThatIsCutShortSaysSo) {
  const auto model = ModelPath(kModel);
  if (!model) VT_NOT_RUN(kModel);
  const Outcome outcome =
      RunVt({"-m", *model, "-p", "x", "-n", "3", "--grammar", "root ::= [a-z ]{50}"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("the answer ends before the grammar does"), std::string::npos)
      << outcome.err;
}

TEST(RunGrammar, NothingLeftToChooseIsAnError) {
  const auto model = ModelPath(kModel);
  if (!model) VT_NOT_RUN(kModel);
  json line = {{"prompt", "x"}, {"logit_bias", json::object()}};
  for (int id = 0; id < 49152; ++id) line["logit_bias"][std::to_string(id)] = "-inf";
  Command command;
  command.args = {"-m", *model, "--jsonl", "--grammar", "root ::= \"ab\""};
  command.stdin_text = line.dump() + "\n";
  const Outcome outcome = RunVt(command);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("grammar: no token that may be chosen fits at the beginning of the "
                             "answer (expected there: \"a\")"),
            std::string::npos)
      << outcome.err;
}

TEST(RunGrammar, WrongGrammarsEndBeforeAnythingIsLoaded) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--grammar", "root ::= \"a"}, "--grammar: 1:10: the text in quotes does not end"},
      {{"--grammar", "root ::= a"}, "--grammar: 1:10: rule \"a\" is used and not defined"},
      {{"--grammar", "nowhere.gbnf"}, "--grammar: nowhere.gbnf"},
      {{"--grammar", "-"}, "--grammar: give a file's name"},
      {{"--json-schema", "nowhere.json"}, "--json-schema: nowhere.json"},
      {{"--json-schema", "{"}, "--json-schema: "},
      {{"--json-schema", R"({"type": "object", "minProperties": 1})"},
       "--json-schema: /minProperties: keyword \"minProperties\" is not supported"},
      {{"--json-schema", "{}", "--grammar", "root ::= \"\""},
       "--grammar: cannot be put together with --json-schema"},
      {{"--grammar", WriteTemp("bad.gbnf", "\nroot ::= [")},
       "bad.gbnf: 2:10: the class does not end"},
  };
  for (const auto& [flags, says] : cases) {
    std::vector<std::string> args = {"-m", "nowhere.gguf", "-p", "x"};
    args.insert(args.end(), flags.begin(), flags.end());
    const Outcome outcome = RunVt(args);
    EXPECT_EQ(outcome.exit_code, 2) << flags[1] << outcome.err;
    EXPECT_NE(outcome.err.find(says), std::string::npos) << says << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(RunGrammar, NeedsATokenizer) {
  const Outcome outcome =
      RunVt({"-m", TinyPath("llama-dense.gguf"), "--tokens", "1,2", "--grammar", "root ::= \"a\""});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("a grammar needs a tokenizer"), std::string::npos) << outcome.err;
}

// Every example of the page runs.
TEST(RunGrammar, ExamplesOfTheHowToRun) {
  const auto model = ModelPath(kModel);
  if (!model) VT_NOT_RUN(kModel);
  bool inside = false;
  int examples = 0;
  for (std::string line : Lines(ReadFile(DataPath("../../docs/howto/grammar.md")))) {
    if (line.rfind("```", 0) == 0) {
      inside = !inside && line == "```sh";
    } else if (inside) {
      line.replace(line.find("model.gguf"), 10, *model);
      line.replace(0, 6, "\"$VT\"");
      const Outcome outcome = RunShell(line + " --quiet");
      EXPECT_EQ(outcome.exit_code, 0) << line << outcome.err;
      EXPECT_FALSE(outcome.out.empty()) << line;
      if (line.find("--json-schema") != std::string::npos) {
        EXPECT_TRUE(json::parse(outcome.out, nullptr, false).is_object()) << outcome.out;
      }
      ++examples;
    }
  }
  EXPECT_EQ(examples, 2);
}

}  // namespace
}  // namespace vt::test
