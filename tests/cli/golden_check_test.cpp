// vt-golden as users meet it: verdicts, exit codes, documents, mistakes.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/json_schema.h"
#include "cli/program.h"
#include "support/test_files.h"
#include "vt/gguf.h"

namespace vt::test {
namespace {

using nlohmann::json;

// Beside vt-run, whose place RunShell knows.
Outcome Golden(const std::string& arguments) {
  return RunShell("\"$(dirname \"$VT\")/vt-golden\" " + arguments);
}

std::string Quote(const std::string& path) { return "'" + path + "'"; }
std::string Tiny(const std::string& name) { return Quote(TinyPath(name)); }

std::string CheckTiny(const std::string& name) {
  return "check --golden " + Tiny(name + ".json") + " -m " + Tiny(name + ".gguf") +
         " --threads 2 --ctx 256 ";
}

json Report(const Outcome& outcome) {
  const json report = json::parse(outcome.out, nullptr, false);
  if (report.is_discarded()) {
    ADD_FAILURE() << outcome.out << outcome.err;
    return json::object();
  }
  EXPECT_EQ(SchemaErrors(report, "vt.golden-report.schema.json"), "") << outcome.out;
  EXPECT_EQ(report["exit_code"], outcome.exit_code);
  return report;
}

// A copy of a tiny golden with one thing changed.
std::string Edited(const std::string& name, const std::function<void(json&)>& edit) {
  json golden = json::parse(ReadFile(TinyPath(name + ".json")));
  edit(golden);
  return Quote(WriteTemp("golden.json", golden.dump()));
}

TEST(GoldenCheck, SameTokensAreGreen) {
  const Outcome outcome = Golden(CheckTiny("llama-dense"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const json report = Report(outcome);
  EXPECT_EQ(report["verdict"], "same");
  EXPECT_EQ(report["counts"]["tokens"]["same"], 32);
  EXPECT_EQ(report["model"]["digests"][0]["kind"], "sha256");
  EXPECT_EQ(outcome.err.rfind("llama-dense: 32/32 same", 0), 0u) << outcome.err;
  const Outcome text = Golden(CheckTiny("llama-dense") + "--table --quiet");
  EXPECT_EQ(text.out.rfind("llama-dense: 32/32 same", 0), 0u) << text.out;
  EXPECT_EQ(text.err, "");
}

TEST(GoldenCheck, AWrongTokenIsRed) {
  const std::string golden =
      Edited("llama-dense", [](json& g) { g["cases"][1]["generated_tokens"][3] = 1; });
  const std::string junit = TempDir() + "/out.xml";
  const Outcome outcome = Golden("check --golden " + golden + " -m " + Tiny("llama-dense.gguf") +
                                 " --github --junit " + Quote(junit));
  EXPECT_EQ(outcome.exit_code, 1);
  const json report = Report(outcome);
  EXPECT_EQ(report["cases"][0]["verdict"], "same");
  const json part = report["cases"][1]["departures"][0];
  EXPECT_EQ(part["index"], 3);
  EXPECT_EQ(part["golden"]["id"], 1);
  EXPECT_TRUE(part["ours"]["our_logit"].is_number());
  EXPECT_NE(outcome.err.find("::error title=vt-golden llama-dense past-the-window::"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(ReadFile(junit).find("<failure"), std::string::npos);
  // Only the good case.
  const Outcome only =
      Golden("check --case short --golden " + golden + " -m " + Tiny("llama-dense.gguf"));
  EXPECT_EQ(only.exit_code, 0);
  EXPECT_EQ(Report(only)["counts"]["cases"]["count"], 1);
}

TEST(GoldenCheck, AMissingModelIsRedUnlessASkipIsAllowed) {
  const std::string check = "check --golden " + Tiny("llama-dense.json") + " -m gone.gguf";
  const std::string junit = TempDir() + "/out.xml";
  const Outcome outcome = Golden(check + " --github --junit " + Quote(junit));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("::error title=vt-golden::check"), std::string::npos);
  EXPECT_NE(outcome.err.find("gone.gguf is not there, so nothing was compared"), std::string::npos)
      << outcome.err;
  EXPECT_NE(ReadFile(junit).find("<error type=\"corrupt\""), std::string::npos);
  const Outcome skip = Golden(check + " --allow-skip");
  EXPECT_EQ(skip.exit_code, 77);
  EXPECT_EQ(Report(skip)["verdict"], "skipped");
  // A file that is there and damaged is never a skip.
  const std::string broken = WriteTemp("broken.gguf", "GGUF?");
  EXPECT_EQ(Golden("check --golden " + Tiny("llama-dense.json") + " -m " + Quote(broken) +
                   " --allow-skip")
                .exit_code,
            3);
}

TEST(GoldenCheck, AGateThatRanNothingIsRed) {
  const std::string golden = Edited("llama-dense", [](json& g) { g["cases"] = json::array(); });
  const Outcome outcome = Golden("check --golden " + golden + " -m " + Tiny("llama-dense.gguf"));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(Report(outcome)["verdict"], "nothing");
}

TEST(GoldenCheck, MistakesExitWithTwoAndSayWhy) {
  const std::string model = " -m " + Tiny("llama-dense.gguf");
  const std::string cut =
      Quote(WriteTemp("cut.json", ReadFile(TinyPath("llama-dense.json")).substr(0, 1000)));
  const std::string outside =
      Edited("llama-dense", [](json& g) { g["cases"][0]["prompt_tokens"][2] = 128; });
  struct Mistake {
    std::string arguments, says;
  };
  const std::vector<Mistake> mistakes = {
      {"", "no subcommand"},
      {"chek", "nearest is check"},
      {"check" + model, "--golden: none given"},
      {"check --golden " + Tiny("llama-dense.json"), "--model: no model file given"},
      {"check --golden gone.json" + model, "gone.json: cannot be opened"},
      {"check --golden " + cut + model, "at byte 1000 of 1000"},
      {"check --golden " + outside + model, "/cases/0/prompt_tokens/2"},
      {"check --golden " + Tiny("qwen2-dense.json") + model, "golden of another model"},
      {CheckTiny("llama-dense") + "--tye 3", "--tie"},
      {CheckTiny("llama-dense") + "--limits kl", "is not NAME=VALUE"},
      {CheckTiny("llama-dense") + "--case x", "nearest is"},
      {CheckTiny("llama-dense") + "--locate", "--against"},
      {CheckTiny("llama-dense") + "--locate --against exat", "nearest is --exact"},
      {"record --prompts p.jsonl --checkpoints L0,x" + model, "\"x\" is no layer"},
      {"record --checkpoints L0,L99 --prompts " +
           Quote(WriteTemp("p.jsonl", "{\"tokens\": [5]}\n")) + model,
       "the model has no layer 99"},
      {CheckTiny("llama-dense") + "- < /dev/null", "one of them at a time"},
      {"check --golden " + Tiny("llama-dense.json") + " - < /dev/null", "stdin: is empty"},
      {"check --threads 2 --golden " + Tiny("llama-dense.json") + " run.jsonl", "--threads"},
      {"diff a.json", "takes two goldens"},
      {"import x.json", "--from: none given"},
      {"import --from hf gone.json", "gone.json"},
      {"record --prompts p.jsonl", "--model"},
  };
  for (const Mistake& mistake : mistakes) {
    const Outcome outcome = Golden(mistake.arguments);
    EXPECT_EQ(outcome.exit_code, 2) << mistake.arguments << "\n" << outcome.err;
    EXPECT_NE((outcome.err + outcome.out).find(mistake.says), std::string::npos)
        << mistake.arguments << "\n"
        << outcome.err;
  }
}

TEST(GoldenCheck, HelpFitsAScreen) {
  for (const std::string command : {"", "record", "check", "diff", "import", "self-test"}) {
    const Outcome outcome = Golden(command + " --help");
    EXPECT_EQ(outcome.exit_code, 0) << command;
    const std::vector<std::string> lines = Lines(outcome.out);
    EXPECT_LE(lines.size(), 24u) << command;
    for (const std::string& line : lines) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(GoldenCheck, LocateAndInvarianceStandInTheReport) {
  const Outcome outcome = Golden(CheckTiny("gemma2-dense") +
                                 "--locate --against 'kv-type=bf16' --tolerance 0 --invariance");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const json report = Report(outcome);
  EXPECT_EQ(report["locate"]["first_not_identical"]["op"], "attention");
  EXPECT_EQ(report["locate"]["first_not_identical"]["layer"], 0);
  EXPECT_EQ(report["invariance"]["variants"].size(), 7u);
  EXPECT_NE(outcome.err.find("invariance: the same in every way"), std::string::npos);
}

// A copy of gemma4-26b whose scales of the experts of layer 2 are tripled, which the norm after the
// experts takes out again.
std::string TripledScales() {
  const Result<GgufFile> file = GgufFile::Open(TinyPath("gemma4-26b.gguf"));
  const GgufTensor* scales = file.ok() ? file->FindTensor("blk.2.ffn_down_exps.scale") : nullptr;
  EXPECT_NE(scales, nullptr);
  if (!scales) return "";
  std::vector<float> values(scales->bytes / sizeof(float));
  std::memcpy(values.data(), file->Data(*scales), scales->bytes);
  for (float& value : values) value *= 3;
  std::string bytes = ReadFile(TinyPath("gemma4-26b.gguf"));
  std::memcpy(bytes.data() + scales->offset, values.data(), scales->bytes);
  return Quote(WriteTemp("tripled.gguf", bytes));
}

TEST(GoldenCheck, CheckpointsAndLocateNameTheLayerOfAHiddenFault) {
  const std::string good = Tiny("gemma4-26b.gguf");
  const std::string bad = TripledScales();
  const std::string prompts =
      Quote(WriteTemp("p.jsonl", "{\"id\": \"a\", \"tokens\": [5, 6, 7, 8, 9]}\n"));
  const std::string folder = TempDir();
  const std::string with = Quote(folder + "/with.json");
  const std::string without = Quote(folder + "/without.json");
  const std::string record = "record --quiet -n 4 --prompts " + prompts + " -m " + good;
  ASSERT_EQ(Golden(record + " -o " + without).exit_code, 0);
  ASSERT_EQ(Golden(record + " --checkpoints L0,2 -o " + with).exit_code, 0);
  const json golden = json::parse(ReadFile(folder + "/with.json"));
  EXPECT_EQ(SchemaErrors(golden, "vt.golden.schema.json"), "");
  EXPECT_EQ(golden["counts"]["checkpoint_rows"], 4 * 8);
  EXPECT_EQ(golden["cases"][0]["checkpoints"]["layers"][3]["layer"], 2);

  const Outcome green = Golden("check --golden " + with + " -m " + good);
  EXPECT_EQ(green.exit_code, 0) << green.err;
  EXPECT_EQ(Report(green)["cases"][0]["checkpoints"]["rows"], 32);
  EXPECT_NE(green.err.find("at 32 checkpoints"), std::string::npos) << green.err;

  EXPECT_EQ(Golden("check --any-digest --golden " + without + " -m " + bad).exit_code, 0);
  const Outcome red = Golden("check --any-digest --golden " + with + " -m " + bad +
                             " --locate --against 'model=" + TinyPath("gemma4-26b.gguf") + "'");
  EXPECT_EQ(red.exit_code, 1);
  const json report = Report(red);
  EXPECT_EQ(report["cases"][0]["checkpoints"]["first_above_limit"]["layer"], 2);
  EXPECT_EQ(report["cases"][0]["checkpoints"]["first_above_limit"]["what"], "experts");
  EXPECT_NE(red.err.find("the sum of experts of layer 2 is off by 2"), std::string::npos)
      << red.err;
  EXPECT_EQ(report["locate"]["first_above_tolerance"]["layer"], 2);
  EXPECT_EQ(report["locate"]["experts"]["choices"], 6 * 8);
  EXPECT_NE(red.err.find("experts: "), std::string::npos) << red.err;
  // The limit is the user's.
  EXPECT_EQ(
      Golden("check --any-digest --limits layer=10 --golden " + with + " -m " + bad).exit_code, 0);
  // What to compare with must be there.
  const Outcome other = Golden("check --any-digest --golden " + with + " -m " + good +
                               " --locate --against 'model=gone.gguf'");
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_NE(other.err.find("--against"), std::string::npos) << other.err;
}

// The run's token is the golden's second, by little.
TEST(GoldenCheck, ANearTieInAFinishedRun) {
  const std::string golden = Edited("llama-dense", [](json& g) {
    json& one = g["cases"][0];
    g["cases"].erase(1);
    g.erase("counts");
    // The answer's first token becomes the second of a near tie.
    json& row = one["logits"]["rows"].back();
    const int first = one["generated_tokens"][0];
    const int other = first == 3 ? 4 : 3;
    row[static_cast<std::size_t>(other)] =
        row[static_cast<std::size_t>(first)].get<double>() + 0.001;
    one["generated_tokens"] = {other};
    one["margins"] = {0.001};
  });
  const json document = json::parse(ReadFile(golden.substr(1, golden.size() - 2)));
  const std::string prompts =
      Quote(WriteTemp("p.jsonl", json({{"id", document["cases"][0]["name"]},
                                       {"tokens", document["cases"][0]["prompt_tokens"]}})
                                         .dump() +
                                     "\n"));
  const std::string run = "\"$VT\" -m " + Tiny("llama-dense.gguf") +
                          " --jsonl --json --quiet --temperature 0 -n 1 -f " + prompts + " | ";
  const std::string check =
      "\"$(dirname \"$VT\")/vt-golden\" check --golden " + golden + " --json ";
  const Outcome red = RunShell(run + check + "-");
  EXPECT_EQ(red.exit_code, 1) << red.err;
  EXPECT_EQ(Report(red)["counts"]["tokens"]["near_ties"], 1) << red.out;
  const Outcome green = RunShell(run + check + "--allow-ties -");
  EXPECT_EQ(green.exit_code, 0) << green.err;
  const Outcome narrow = RunShell(run + check + "--allow-ties --tie 0.0001 -");
  EXPECT_EQ(narrow.exit_code, 1);
  EXPECT_EQ(Report(narrow)["counts"]["tokens"]["wrong"], 1);
}

TEST(GoldenRecord, WritesADocumentThatChecks) {
  const std::string folder = TempDir();
  const std::string prompts = Quote(WriteTemp(
      "p.jsonl", "{\"id\": \"a\", \"tokens\": [5, 6, 7]}\n{\"tokens\": [9], \"max_tokens\": 3}\n"));
  const std::string model = " -m " + Tiny("llama-dense.gguf");
  const std::string out = folder + "/golden.json";
  const Outcome recorded =
      Golden("record" + model + " --prompts " + prompts + " -n 5 --top 4 -o " + Quote(out));
  ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
  const json golden = json::parse(ReadFile(out));
  EXPECT_EQ(SchemaErrors(golden, "vt.golden.schema.json"), "");
  EXPECT_EQ(golden["cases"][0]["name"], "a");
  EXPECT_EQ(golden["cases"][1]["name"], "line-2");
  EXPECT_EQ(golden["cases"][1]["generated_tokens"].size(), 3u);
  EXPECT_EQ(golden["cases"][0]["logits"]["rows"][0]["top"].size(), 4u);
  EXPECT_EQ(Golden("check --golden " + Quote(out) + model).exit_code, 0);
  const Outcome diff = Golden("diff " + Quote(out) + " " + Quote(out));
  EXPECT_EQ(diff.exit_code, 0) << diff.err;
  EXPECT_EQ(Report(diff)["source"], "golden");
  // On stdout; and never half a file.
  const Outcome piped = Golden("record" + model + " --prompts " + prompts + " -n 1");
  EXPECT_EQ(SchemaErrors(json::parse(piped.out), "vt.golden.schema.json"), "");
  const std::string sampled =
      Quote(WriteTemp("s.jsonl", "{\"tokens\": [5], \"temperature\": 0.5}\n"));
  EXPECT_EQ(
      Golden("record" + model + " --prompts " + sampled + " -o " + folder + "/no.json").exit_code,
      2);
  EXPECT_FALSE(std::filesystem::exists(folder + "/no.json"));
  EXPECT_EQ(Golden("record" + model + " --prompts " + prompts + " -o " + folder).exit_code, 2);
}

TEST(GoldenSelfTest, FindsAllAndSaysSo) {
  const Outcome outcome = Golden("self-test --ctx 256 --golden " + Tiny("llama-dense.json") +
                                 " -m " + Tiny("llama-dense.gguf"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const json document = json::parse(outcome.out);
  EXPECT_EQ(SchemaErrors(document, "vt.golden-self-test.schema.json"), "");
  EXPECT_GE(document["count"], 15);
  EXPECT_EQ(document["missed"], 0);
  EXPECT_EQ(Golden("self-test --ctx 256 --any-digest --limits kl=9,logprob=99,margin=99,nmse=99 "
                   "--golden " +
                   Tiny("llama-dense.json") + " -m " + Tiny("llama-dense.gguf"))
                .exit_code,
            1);
}

TEST(GoldenCheck, ARealModel) {
  const auto path = ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!path) VT_NOT_RUN("SmolLM2-135M-Instruct.Q4_1.gguf");
  const Outcome outcome =
      Golden("check --threads 2 --case facts --case code --golden " +
             Quote(DataPath("real/smollm2-135m-instruct-q4_1.json")) + " -m " + Quote(*path));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const json report = Report(outcome);
  EXPECT_EQ(report["counts"]["tokens"]["same"], 64);
  EXPECT_LT(report["cases"][0]["mean_kl"], 1e-5);
  std::printf("%s", outcome.err.c_str());
}

}  // namespace
}  // namespace vt::test
