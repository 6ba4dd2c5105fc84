// vt-bench run as users meet it: records, forms of output, what is void, interruption.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "cli/bench_program.h"
#include "cli/json_schema.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

TEST(BenchRun, RecordFitsItsSchemaAndKeepsEverySample) {
  const json record =
      Document(RunBenchProgram(QuickRun({"-d", "0,70", "-b", "1,3"})), "vt.bench.schema.json");
  EXPECT_FALSE(record["partial"]);
  EXPECT_EQ(record["tool"]["commit"].get<std::string>().empty(), false);
  std::vector<std::string> axes;
  for (const json& result : record["results"]) {
    axes.push_back(result["axis"]);
    EXPECT_EQ(result["warmup_ns"].size(), 1u);
    EXPECT_EQ(result["samples_ns"].size(), 2u);
    for (const json& ns : result["samples_ns"]) EXPECT_GT(ns, 0);
    if (result["kind"] == "decode") {
      EXPECT_EQ(result["inter_token"]["samples_ns"].size(), 8u);
    } else {
      EXPECT_EQ(result["first_token"]["samples_ns"].size(), 2u);
    }
  }
  EXPECT_EQ(axes,
            (std::vector<std::string>{"pp8", "pp8@d70", "tg4", "tg4x3", "tg4@d70", "tg4x3@d70"}));
  EXPECT_FALSE(record["launches"].empty());
  EXPECT_EQ(record["settings"]["threads"], 1);
  EXPECT_GE(record["build"]["program"].size(), 2u);
  EXPECT_NE(record["build"]["program"][0]["file"].get<std::string>().find("vt-bench"),
            std::string::npos);
  EXPECT_EQ(record["prompt_source"], (json{{"kind", "random"}, {"seed", 1}, {"file", nullptr}}));
}

TEST(BenchRun, ScalarCodeIsVoidAndStrictSaysSo) {
  const Outcome outcome = RunBenchProgram(QuickRun({"--isa", "scalar", "--strict"}));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  const json record = json::parse(outcome.out);
  EXPECT_TRUE(record["void"]);
  EXPECT_EQ(record["voids"][0]["code"], "reference_launch");
  EXPECT_EQ(RunBenchProgram(QuickRun({"--isa", "scalar"})).exit_code, 0);
}

TEST(BenchRun, AMachineThatTellsNothingIsUnknownNotQuietNorVoid) {
  const Outcome outcome = RunBenchProgram(QuickRun({"--sysroot", TempDir()}));
  const json record = Document(outcome, "vt.bench.schema.json");
  EXPECT_TRUE(record["machine"]["before"]["busy_s"].is_null());
  EXPECT_TRUE(record["machine"]["change"]["other_load_cpus"].is_null());
  EXPECT_FALSE(record["energy_reason"].is_null());
  for (const json& one : record["voids"]) EXPECT_NE(one["code"], "disturbed_host");
  for (const json& phase : record["peaks"][0]["phases"]) {
    EXPECT_TRUE(phase["peak_bytes"].is_null() && phase["residual_bytes"].is_null());
    EXPECT_TRUE(phase["reason"].is_string());
  }
  EXPECT_GT(record["peak_resident_bytes"], 0);
}

// What a run of the model held in each phase, against what vt-fit says of the host.
void CheckPeaks(const std::string& model) {
  const json record = Document(RunBenchProgram({"run", "-m", model, "-p", "64", "-n", "8", "-r",
                                                "1", "--threads", "1", "--quiet"}),
                               "vt.bench.schema.json");
  const Outcome fit =
      RunShell("\"$(dirname \"$VT\")/vt-fit\" --json --ctx 64 --threads 1 -m '" + model + "'");
  const json verdict = json::parse(fit.out);
  ASSERT_EQ(record["peaks"].size(), 1u);
  const json& host = record["peaks"][0];
  EXPECT_EQ(host["device"], "cpu");
  EXPECT_EQ(host["predicted_bytes"], verdict["devices"][0]["need_bytes"]);
  std::map<std::string, json> judged;
  for (const json& row : verdict["devices"][0]["rows"]) judged[row["row"]] = row["bytes"];
  EXPECT_EQ(host["runtime_bytes"], judged["runtime"]);
  EXPECT_EQ(host["margin_bytes"], judged["margin"]);
  for (const json& one : record["voids"]) EXPECT_NE(one["code"], "memory_over_plan") << one;
  std::uint64_t mapped = 0;
  for (const json& row : record["memory"]) {
    if (row["how"] == "mapped") mapped += row["allocated_bytes"].get<std::uint64_t>();
  }
  std::vector<std::string> names;
  for (const json& phase : host["phases"]) {
    names.push_back(phase["phase"]);
    EXPECT_EQ(phase["reason"].is_null(), kMeasured) << phase;
    EXPECT_EQ(phase["peak_bytes"].is_null(), !kMeasured) << phase;
    if (!kMeasured) continue;
    const std::int64_t peak = phase["peak_bytes"], predicted = host["predicted_bytes"];
    EXPECT_EQ(phase["residual_bytes"], peak - predicted);
    // The load touches all weights, and they stay.
    EXPECT_GT(peak, static_cast<std::int64_t>(mapped));
    EXPECT_LE(peak, predicted) << "the margin alone covers what is not planned";
    EXPECT_LE(peak, record["peak_resident_bytes"]);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"load", "prefill", "decode"}));
}

TEST(BenchRun, PhasesOfATinyModelAreWithinThePrediction) { CheckPeaks(TinyModel()); }

TEST(BenchRun, PhasesOfARealModelAreWithinThePrediction) {
  const auto model = ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!model) VT_NOT_RUN("SmolLM2-135M-Instruct.Q4_1.gguf");
  CheckPeaks(*model);
}

TEST(BenchRun, PhasesThatWereNotReachedAreUnknown) {
  const json record = Document(RunBenchProgram({"run", "-m", TinyModel(), "-p", "8", "-n", "0",
                                                "-r", "1", "--threads", "1", "--quiet"}),
                               "vt.bench.schema.json");
  const json& phases = record["peaks"][0]["phases"];
  EXPECT_EQ(phases[1]["peak_bytes"].is_null(), !kMeasured);
  EXPECT_TRUE(phases[2]["peak_bytes"].is_null());
  EXPECT_EQ(phases[2]["reason"], "not reached");
}

TEST(BenchRun, OtherForms) {
  const Outcome table = RunBenchProgram(QuickRun({"--table"}));
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_NE(table.out.find("pp8 "), std::string::npos);
  EXPECT_NE(table.out.find("\ncpu, MiB: "), std::string::npos);
  for (const std::string& line : Lines(table.out)) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(RunBenchProgram(QuickRun({"--markdown"})).out.rfind("| model |", 0), 0u);
  EXPECT_EQ(RunBenchProgram(QuickRun({"--csv"})).out.rfind("model,digest,axis,", 0), 0u);
  EXPECT_EQ(RunBenchProgram(QuickRun({"--svg"})).out.rfind("<svg ", 0), 0u);
  EXPECT_EQ(RunBenchProgram(QuickRun({"--html"})).out.rfind("<!DOCTYPE html>", 0), 0u);
  const json other = json::parse(RunBenchProgram(QuickRun({"--llama-bench-json"})).out);
  ASSERT_EQ(other.size(), 2u);
  for (const char* field :
       {"build_commit", "build_number",   "cpu_info",   "backends",  "model_filename", "model_type",
        "model_size",   "model_n_params", "n_ubatch",   "n_threads", "type_k",         "type_v",
        "n_prompt",     "n_gen",          "n_depth",    "test_time", "avg_ns",         "stddev_ns",
        "avg_ts",       "stddev_ts",      "samples_ns", "samples_ts"}) {
    EXPECT_TRUE(other[0].contains(field)) << field;
  }
  EXPECT_EQ(other[1]["n_gen"], 4);
  EXPECT_EQ(other[1]["samples_ns"].size(), 2u);
}

TEST(BenchRun, PromptOfAFile) {
  const std::string text = WriteTemp("p.txt", "and the thing");
  const json record =
      Document(RunBenchProgram(QuickRun({"--prompt-file", text})), "vt.bench.schema.json");
  EXPECT_EQ(record["prompt_source"]["kind"], "file");
  ExpectError(RunBenchProgram(QuickRun({"--prompt-file", "none.txt"})), 2, "none.txt");
}

TEST(BenchRun, AGoldenIsCheckedFirst) {
  const std::string model = TinyPath("llama-dense.gguf"), golden = TinyPath("llama-dense.json");
  const auto run = [&](const std::string& file) {
    return RunBenchProgram({"run", "-m", model, "-p", "8", "-n", "4", "-r", "2", "--threads", "1",
                            "--quiet", "--golden", file});
  };
  const json good = Document(run(golden), "vt.bench.schema.json");
  EXPECT_TRUE(good["golden"]["failure"].is_null()) << good["golden"];
  json changed = json::parse(ReadFile(golden));
  auto& ids = changed["cases"][0]["generated_tokens"];
  ASSERT_TRUE(ids.is_array());
  ids.back() = ids.back() == 5 ? 6 : 5;
  const json bad = Document(run(WriteTemp("g.json", changed.dump())), "vt.bench.schema.json");
  EXPECT_FALSE(bad["golden"]["failure"].is_null());
  EXPECT_EQ(bad["voids"][0]["code"], "golden_failed");
  ExpectError(RunBenchProgram(QuickRun({"--golden", golden})), 2, "digest");
}

TEST(BenchRun, InterruptionKeepsWhatWasMeasured) {
  const std::string folder = TempDir();
  Command command = BenchCommand({"run", "-m", TinyModel(), "-p", "8", "-n", "2000", "-r", "500",
                                  "-o", folder + "/r.json", "--quiet", "--threads", "1"});
  Running running(command);
  // The first record stands when the prompts are measured.
  for (int i = 0; i < 2000 && !std::filesystem::exists(folder + "/r.json"); ++i) usleep(10000);
  running.Signal(SIGINT);
  const Outcome outcome = running.Wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  for (const std::string& text : {outcome.out, ReadFile(folder + "/r.json")}) {
    const json record = json::parse(text, nullptr, false);
    EXPECT_EQ(SchemaErrors(record, "vt.bench.schema.json"), "");
    EXPECT_TRUE(record["partial"]);
    EXPECT_FALSE(record["results"].empty());
  }
}

TEST(BenchRun, WhatIsKilledLeavesWhatItMeasured) {
  const std::string file = TempDir() + "/r.json";
  // A single test, which would take minutes.
  Running running(BenchCommand({"run", "-m", TinyModel(), "-p", "0", "-n", "64", "-r", "10000",
                                "-o", file, "--quiet", "--threads", "1"}));
  for (int i = 0; i < 2000 && !std::filesystem::exists(file); ++i) usleep(10000);
  running.Signal(SIGKILL);
  EXPECT_EQ(running.Wait().signal, SIGKILL);
  const json record = json::parse(ReadFile(file), nullptr, false);
  EXPECT_EQ(SchemaErrors(record, "vt.bench.schema.json"), "");
  EXPECT_TRUE(record["partial"]);
  EXPECT_EQ(record["partial_reason"], "still running");
  ASSERT_EQ(record["results"].size(), 1u);
  EXPECT_GT(record["results"][0]["samples_ns"].size(), 1u);
}

TEST(BenchRun, AClosedPipeIsNoError) {
  Command command = BenchCommand(QuickRun({}));
  command.close_stdout = true;
  EXPECT_NE(RunVt(command).exit_code, 0);
  const Outcome outcome =
      RunShell(std::string("( '") + VT_BENCH_BINARY + "' run -m '" + TinyModel() +
               "' -p 8 -n 4 -r 2 --threads 1; echo $? >code ) " + "| true; cat code");
  EXPECT_EQ(outcome.out, "0\n");
}

}  // namespace
}  // namespace vt::test
