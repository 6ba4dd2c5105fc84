// What a run writes: text, records, logits, tables.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/json_schema.h"
#include "cli/program.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

std::string Tiny() { return TinyPath("llama-dense.gguf"); }

std::vector<json> Records(const Outcome& outcome) {
  std::vector<json> records;
  for (const std::string& line : Lines(outcome.out)) {
    records.push_back(json::parse(line));
    EXPECT_EQ(SchemaErrors(records.back(), "vt.run.schema.json"), "") << line;
  }
  return records;
}

TEST(RunOutput, JsonRecordsFollowTheSchema) {
  const Outcome outcome = RunVt({"-m", Tiny(), "--tokens", "1,2,3", "-n", "5", "--json",
                                 "--temperature", "0", "--logprobs", "3", "--ctx", "64"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<json> records = Records(outcome);
  ASSERT_EQ(records.size(), 7u);
  const json& start = records.front();
  EXPECT_EQ(start["type"], "start");
  EXPECT_EQ(start["prompt_tokens"], json({1, 2, 3}));
  EXPECT_EQ(start["settings"]["ctx"], json({{"value", 64}, {"origin", "flag"}}));
  EXPECT_EQ(start["settings"]["temperature"]["origin"], "flag");
  EXPECT_EQ(start["settings"]["kv_type"], json({{"value", "f16"}, {"origin", "default"}}));
  EXPECT_EQ(start["settings"]["threads"]["origin"], "machine");
  EXPECT_GE(start["settings"]["threads"]["value"], 1);
  EXPECT_EQ(start["model"]["architecture"], "llama");

  const json& end = records.back();
  EXPECT_EQ(end["type"], "end");
  json ids = json::array();
  for (std::size_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(records[i]["type"], "token");
    EXPECT_EQ(records[i]["index"], i - 1);
    ASSERT_EQ(records[i]["top"].size(), 3u);
    // Greedy: the token is the likeliest, and says so.
    EXPECT_EQ(records[i]["top"][0]["id"], records[i]["id"]);
    EXPECT_EQ(records[i]["top"][0]["logprob"], records[i]["logprob"]);
    EXPECT_LE(records[i]["logprob"], 0.0);
    ids.push_back(records[i]["id"]);
  }
  EXPECT_EQ(end["ids"], ids);
  EXPECT_EQ(end["stop"]["reason"], "max_tokens");
  EXPECT_EQ(end["prompt_token_count"], 3);
  EXPECT_EQ(end["token_count"], 5);
  ASSERT_FALSE(end["memory"].empty());
  for (const json& row : end["memory"]) {
    EXPECT_EQ(row["predicted_bytes"], row["allocated_bytes"]) << row;
  }
  EXPECT_FALSE(end["launches"].empty());
  EXPECT_TRUE(end["measured"].is_null());
}

TEST(RunOutput, DefaultContextIsTheModels) {
  const Outcome outcome = RunVt({"-m", Tiny(), "--tokens", "1", "-n", "0", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json start = Records(outcome).front();
  const Outcome described = RunVt({"-m", Tiny(), "--describe"});
  const json trained = json::parse(described.out)["hyper_parameters"]["context_train"];
  ASSERT_LT(trained, 4096);
  EXPECT_EQ(start["settings"]["ctx"], json({{"value", trained}, {"origin", "model"}}));
}

TEST(RunOutput, IdsStandInForTextWithoutATokenizer) {
  const Outcome outcome =
      RunVt({"-m", Tiny(), "--tokens", "1,2,3", "-n", "4", "--temperature", "0"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Outcome as_json =
      RunVt({"-m", Tiny(), "--tokens", "1,2,3", "-n", "4", "--temperature", "0", "--json"});
  std::string want;
  const json ids = Records(as_json).back()["ids"];
  for (const json& id : ids) {
    want += (want.empty() ? "" : " ") + id.dump();
  }
  EXPECT_EQ(outcome.out, want + "\n");
  EXPECT_NE(outcome.err.find("note: token ids instead of text"), std::string::npos);
  EXPECT_NE(outcome.err.find("generated 4 tokens"), std::string::npos) << outcome.err;
}

TEST(RunOutput, QuietMeansNothingOnStderr) {
  const Outcome outcome = RunVt({"-m", Tiny(), "--tokens", "1", "-n", "2", "--quiet"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST(RunOutput, SeedsRepeatAndDiffer) {
  const auto run = [](const std::string& seed) {
    return RunVt({"-m", Tiny(), "--tokens", "1", "-n", "24", "--temperature", "2", "--top-k", "0",
                  "--top-p", "1", "--min-p", "0", "--seed", seed, "--quiet"})
        .out;
  };
  EXPECT_EQ(run("7"), run("7"));
  EXPECT_NE(run("7"), run("8"));
}

TEST(RunOutput, DumpedLogitsAreWholeRows) {
  const std::string folder = TempDir();
  const std::string path = folder + "/logits.f32";
  const Outcome outcome = RunVt({"-m", Tiny(), "--tokens", "1,2,3", "-n", "1", "--temperature", "0",
                                 "--dump-logits", path, "--ubatch", "2", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string bytes = ReadFile(path);
  const json described = json::parse(RunVt({"-m", Tiny(), "--describe"}).out);
  const std::size_t vocab = described["hyper_parameters"]["vocab"];
  ASSERT_EQ(bytes.size(), 3 * vocab * sizeof(float));
  // The greedy token is the highest of the last row.
  std::vector<float> last(vocab);
  std::memcpy(last.data(), bytes.data() + 2 * vocab * sizeof(float), vocab * sizeof(float));
  const auto best = std::max_element(last.begin(), last.end()) - last.begin();
  EXPECT_EQ(Records(outcome).back()["ids"][0], best);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(RunOutput, DumpedLogitsOfAFailureLeaveNothing) {
  const std::string folder = TempDir();
  Command command;
  command.args = {"-m",    Tiny(),   "--tokens",      "1,2",
                  "-n",    "4",      "--dump-logits", folder + "/logits",
                  "--isa", "scalar", "--tier",        "native"};
  EXPECT_NE(RunVt(command).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(RunOutput, MeasureAndExplain) {
  const Outcome outcome =
      RunVt({"-m", Tiny(), "--tokens", "1,2", "-n", "2", "--measure", "--explain", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json end = Records(outcome).back();
  EXPECT_GT(end["measured"]["peak_resident_bytes"], 0);
  EXPECT_NE(outcome.err.find("predicted B"), std::string::npos);
  EXPECT_NE(outcome.err.find("matmul"), std::string::npos);
  for (const json& row : end["launches"]) {
    EXPECT_NE(outcome.err.find(row["kernel"].get<std::string>()), std::string::npos) << row;
  }
}

TEST(RunOutput, ForcedKernelsAndInstructionSetsRun) {
  const auto launches = [](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"-m", Tiny(), "--tokens", "1,2", "-n", "2", "--json"};
    args.insert(args.end(), more.begin(), more.end());
    const Outcome outcome = RunVt(args);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    json rows = Records(outcome).back()["launches"];
    EXPECT_FALSE(rows.empty());
    return rows;
  };
  const json scalar = launches({"--isa", "scalar"});
  for (const json& row : scalar) {
    EXPECT_EQ(row["kernel"].get<std::string>().find("avx"), std::string::npos) << row;
  }
  const json forced = launches({"--kernel", "matmul=cpu.scalar.f32"});
  for (const json& row : forced) {
    if (row["op"] == "matmul") {
      EXPECT_EQ(row["kernel"], "cpu.scalar.f32");
    }
  }
}

TEST(RunOutput, HelpVersionAndArchitectures) {
  const Outcome help = RunVt({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_EQ(help.out.rfind("usage: vt-run", 0), 0u);
  EXPECT_EQ(RunVt({"-h"}).out, help.out);
  const Outcome version = RunVt({"--version"});
  EXPECT_EQ(version.out.rfind("vt-run 0.", 0), 0u) << version.out;
  const std::vector<std::string> archs = Lines(RunVt({"--list-archs"}).out);
  EXPECT_NE(std::find(archs.begin(), archs.end(), "llama"), archs.end());
}

TEST(RunOutput, AReaderThatLeavesIsNoError) {
  const std::string tiny = Tiny();
  const Outcome text = RunShell("{ \"$VT\" -m '" + tiny +
                                "' --tokens 1 -n 400 --ctx 512 --json; echo \"code $?\" >&2; } "
                                "| head -1");
  EXPECT_EQ(Lines(text.out).size(), 1u);
  EXPECT_EQ(text.err.find("error"), std::string::npos) << text.err;
  EXPECT_NE(text.err.find("code 0"), std::string::npos) << text.err;
}

TEST(RunOutput, StdoutHasNothingButTheAnswer) {
  const Outcome merged = RunShell("\"$VT\" -m '" + Tiny() + "' --tokens 1 -n 3 --json 2>/dev/null");
  for (const std::string& line : Lines(merged.out)) EXPECT_TRUE(json::accept(line)) << line;
}

TEST(RunOutput, ProgressOnTerminalsOnly) {
  Command command;
  command.args = {"-m",       TinyPath("llama-dense.gguf"),
                  "--tokens", "1,2,3,4,5,6",
                  "-n",       "1",
                  "--json",   "--ubatch",
                  "2"};
  EXPECT_EQ(RunVt(command).err.find('\r'), std::string::npos);
  command.terminal = true;
  const Outcome outcome = RunVt(command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("\rprompt  ["), std::string::npos) << outcome.err;
  // Every bar is shorter than the line, and the last thing done to it is to clear it.
  for (std::size_t at = 0; (at = outcome.err.find("\r", at)) != std::string::npos; ++at) {
    const std::size_t end = outcome.err.find_first_of("\r\x1b", at + 1);
    EXPECT_LT(std::min(end, outcome.err.size()) - at - 1, 80u);
  }
  EXPECT_GT(outcome.err.rfind("\r\x1b[K"), outcome.err.rfind("["
                                                             "#"))
      << outcome.err;
  for (const std::string& line : Lines(outcome.out)) EXPECT_TRUE(json::accept(line)) << line;
}

TEST(RunOutput, TextOfARealModel) {
  const auto model = ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!model) VT_NOT_RUN("SmolLM2-135M-Instruct.Q4_1.gguf");
  const std::vector<std::string> base = {
      "-m", *model,  "-p", "The capital of France is", "-n", "12", "--temperature",
      "0",  "--ctx", "256"};
  const Outcome text = RunVt(base);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  std::vector<std::string> with_json = base;
  with_json.push_back("--json");
  const std::vector<json> records = Records(RunVt(with_json));
  std::string joined;
  for (const json& record : records) {
    if (record["type"] == "token") joined += record["text"].get<std::string>();
  }
  EXPECT_EQ(joined, records.back()["text"].get<std::string>());
  EXPECT_EQ(text.out, joined + (joined.ends_with('\n') ? "" : "\n"));
  EXPECT_NE(joined.find("Paris"), std::string::npos) << joined;
  EXPECT_FALSE(records.front()["end_tokens"].empty());

  std::vector<std::string> stopped = with_json;
  stopped.insert(stopped.end(), {"--stop", "Paris"});
  const json end = Records(RunVt(stopped)).back();
  EXPECT_EQ(end["stop"], json({{"reason", "stop_text"}, {"detail", "Paris"}}));
  EXPECT_EQ(end["text"].get<std::string>().find("Paris"), std::string::npos);
}

TEST(RunOutput, PromptFromStdinAndFile) {
  const auto model = ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!model) VT_NOT_RUN("SmolLM2-135M-Instruct.Q4_1.gguf");
  const std::vector<std::string> base = {"-m", *model,  "-n",  "4",      "--temperature",
                                         "0",  "--ctx", "128", "--quiet"};
  std::vector<std::string> flag = base;
  flag.insert(flag.end(), {"-p", "One, two,"});
  const std::string want = RunVt(flag).out;
  Command piped;
  piped.args = base;
  piped.stdin_text = "One, two,";
  EXPECT_EQ(RunVt(piped).out, want);
  std::vector<std::string> file = base;
  file.insert(file.end(), {"-f", WriteTemp("p.txt", "One, two,")});
  EXPECT_EQ(RunVt(file).out, want);
}

TEST(RunOutput, EmptyPromptStartsAtTheBeginning) {
  const auto model = ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!model) VT_NOT_RUN("SmolLM2-135M-Instruct.Q4_1.gguf");
  const Outcome outcome = RunVt({"-m", *model, "-p", "", "-n", "2", "--json", "--ctx", "64"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Records(outcome).front()["prompt_tokens"].size(), 1u);
}

}  // namespace
}  // namespace vt::test
