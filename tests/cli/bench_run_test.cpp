// vt-bench as users meet it: records, forms of output, comparisons, floors, and what goes wrong.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "cli/json_schema.h"
#include "cli/program.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

Command BenchCommand(const std::vector<std::string>& args) {
  Command command;
  command.program = VT_BENCH_BINARY;
  command.args = args;
  return command;
}

Outcome RunBenchProgram(const std::vector<std::string>& args) { return RunVt(BenchCommand(args)); }

// A model made once.
const std::string& TinyModel() {
  static const std::string path = [] {
    std::string file = TempDir() + "/tiny.gguf";
    const Outcome outcome = RunBenchProgram({"synth", "--shape", "tiny", "-o", file});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return file;
  }();
  return path;
}

std::vector<std::string> QuickRun(const std::vector<std::string>& more) {
  std::vector<std::string> args = {"run", "-m", TinyModel(), "-p",        "8", "-n",
                                   "4",   "-r", "2",         "--threads", "1", "--quiet"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

json Document(const Outcome& outcome, const std::string& schema) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Lines(outcome.out).size(), 1u) << outcome.out.substr(0, 500);
  const json document = json::parse(outcome.out, nullptr, false);
  EXPECT_EQ(SchemaErrors(document, schema), "");
  return document;
}

void ExpectError(const Outcome& outcome, int exit_code, const std::string& says) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
}

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
}

TEST(BenchRun, OtherForms) {
  const Outcome table = RunBenchProgram(QuickRun({"--table"}));
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_NE(table.out.find("pp8 "), std::string::npos);
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

TEST(BenchRun, WhatUsersGetWrong) {
  ExpectError(RunBenchProgram({}), 2, "no command");
  ExpectError(RunBenchProgram({"rum"}), 2, "the nearest is run");
  ExpectError(RunBenchProgram({"run"}), 2, "--model: not given");
  ExpectError(RunBenchProgram({"run", "-m", "none.gguf"}), 3, "none.gguf");
  ExpectError(RunBenchProgram({"run", "--dephts", "1"}), 2, "--depths");
  ExpectError(RunBenchProgram(QuickRun({"-b", "0"})), 2, "--batches");
  ExpectError(RunBenchProgram(QuickRun({"-b", "1,1"})), 2, "twice");
  ExpectError(RunBenchProgram(QuickRun({"-d", "9000"})), 2, "positions the model was trained on");
  ExpectError(RunBenchProgram(QuickRun({"--csv", "--markdown"})), 2, "contradicts");
  ExpectError(RunBenchProgram(QuickRun({"-o", "/none/there/x.json"})), 2, "/none/there/x.json");
  const json error = json::parse(RunBenchProgram({"run", "--json"}).out);
  EXPECT_EQ(SchemaErrors(error, "vt.error.schema.json"), "");
}

TEST(BenchRun, HelpIsShort) {
  for (const char* command : {"", "run", "compare", "floor", "synth", "ops", "calibrate"}) {
    std::vector<std::string> args = {"--help"};
    if (*command) args.insert(args.begin(), command);
    const Outcome outcome = RunBenchProgram(args);
    EXPECT_EQ(outcome.exit_code, 0) << command << outcome.err;
    EXPECT_LE(Lines(outcome.out).size(), 24u) << command;
    for (const std::string& line : Lines(outcome.out)) EXPECT_LE(line.size(), 80u) << line;
  }
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

TEST(BenchRun, AClosedPipeIsNoError) {
  Command command = BenchCommand(QuickRun({}));
  command.close_stdout = true;
  EXPECT_NE(RunVt(command).exit_code, 0);
  const Outcome outcome =
      RunShell(std::string("( '") + VT_BENCH_BINARY + "' run -m '" + TinyModel() +
               "' -p 8 -n 4 -r 2 --threads 1; echo $? >code ) " + "| true; cat code");
  EXPECT_EQ(outcome.out, "0\n");
}

TEST(BenchCompare, TwoCommandsByTurns) {
  const std::string folder = TempDir();
  const std::string vt = std::string("'") + VT_BENCH_BINARY + "' run -m '" + TinyModel() +
                         "' -p 8 -n 4 -r 2 --threads 1 --quiet";
  const Outcome outcome =
      RunBenchProgram({"compare", "--a", vt + " --json", "--b", vt + " --llama-bench-json",
                       "--pairs", "2", "-o", folder + "/c.json"});
  const json record = Document(outcome, "vt.bench-compare.schema.json");
  EXPECT_EQ(outcome.out, ReadFile(folder + "/c.json"));
  ASSERT_EQ(record["legs"].size(), 4u);
  std::string order;
  for (const json& leg : record["legs"]) order += leg["arm"].get<std::string>();
  EXPECT_EQ(order, "abba");
  ASSERT_EQ(record["axes"].size(), 2u);
  EXPECT_EQ(record["axes"][0]["axis"], "pp8");
  EXPECT_EQ(record["axes"][0]["ratios"].size(), 2u);
}

// Commands that print made-up rates.
std::string Prints(double rate) {
  return "echo '[{\"n_prompt\": 8, \"n_gen\": 0, \"avg_ts\": " + std::to_string(rate) + "}]'";
}

TEST(BenchCompare, VerdictsAndStrict) {
  const json record =
      Document(RunBenchProgram({"compare", "--a", Prints(100), "--b", Prints(90), "--pairs", "3"}),
               "vt.bench-compare.schema.json");
  EXPECT_EQ(record["axes"][0]["verdict"], "slower");
  EXPECT_EQ(RunBenchProgram(
                {"compare", "--a", Prints(100), "--b", Prints(90), "--pairs", "3", "--strict"})
                .exit_code,
            1);
  EXPECT_EQ(
      RunBenchProgram({"compare", "--a", Prints(100), "--b", Prints(100), "--strict"}).exit_code,
      0);
}

TEST(BenchCompare, ArmsThatLaunchTheSameAreFound) {
  const std::string vt = std::string("'") + VT_BENCH_BINARY + "' run -m '" + TinyModel() +
                         "' -p 8 -n 0 -r 1 --threads 1 --quiet";
  const auto run = [&](const std::string& b) {
    return RunBenchProgram(
        {"compare", "--a", vt, "--b", b, "--pairs", "1", "--expect-different-kernels"});
  };
  const Outcome same = run(vt);
  EXPECT_EQ(same.exit_code, 1) << same.err;
  EXPECT_FALSE(json::parse(same.out)["arm_check"]["passed"]);
  EXPECT_EQ(run(Prints(1)).exit_code, 1);
}

TEST(BenchCompare, AFailingCommandLeavesAPartialRecord) {
  const std::string folder = TempDir();
  // The second arm works once.
  const std::string b = "test -e '" + folder + "/once' && { echo broken >&2; exit 3; }; touch '" +
                        folder + "/once'; " + Prints(90);
  const Outcome outcome = RunBenchProgram(
      {"compare", "--a", Prints(100), "--b", b, "--pairs", "3", "-o", folder + "/c.json"});
  ExpectError(outcome, 2, "exit code 3; it said: broken");
  const json record = json::parse(ReadFile(folder + "/c.json"));
  EXPECT_EQ(SchemaErrors(record, "vt.bench-compare.schema.json"), "");
  EXPECT_TRUE(record["partial"]);
  EXPECT_EQ(record["legs"].size(), 2u);
  ExpectError(RunBenchProgram({"compare", "--a", "echo hello", "--b", Prints(1)}), 2,
              "holds no JSON");
  ExpectError(RunBenchProgram({"compare", "--a", "true", "--b", Prints(1)}), 2, "printed nothing");
  ExpectError(RunBenchProgram({"compare", "--a", Prints(1)}), 2, "needs two arms");
}

TEST(BenchCompare, TwoRecords) {
  const std::string folder = TempDir();
  ASSERT_EQ(RunBenchProgram(QuickRun({"-o", folder + "/a.json"})).exit_code, 0);
  const json record = Document(RunBenchProgram({"compare", folder + "/a.json", folder + "/a.json"}),
                               "vt.bench-compare.schema.json");
  for (const json& axis : record["axes"]) EXPECT_EQ(axis["verdict"], "within noise");
  ExpectError(RunBenchProgram({"compare", folder + "/a.json", "none.json"}), 2, "none.json");
}

TEST(BenchFloor, RegressionsAreExitCodeOne) {
  const std::string folder = TempDir();
  std::ofstream(folder + "/r.json")
      << "[{\"n_prompt\": 8, \"avg_ts\": 100, \"cpu_info\": \"X 1\"}]";
  const auto floors = [&](double value, const std::string& machine) {
    return WriteTemp("f.json",
                     "{\"schema\":\"vt.bench-floors/1\",\"floors\":[{\"axis\":\"pp8\","
                     "\"value\":" +
                         std::to_string(value) + ",\"tolerance\":0.05,\"machine\":\"" + machine +
                         "\"}]}");
  };
  const auto run = [&](const std::string& file) {
    return RunBenchProgram(
        {"floor", "--file", file, folder + "/r.json", "-o", folder + "/raised.json"});
  };
  EXPECT_EQ(run(floors(99, "X")).exit_code, 0);
  EXPECT_EQ(run(floors(120, "*")).exit_code, 1);
  EXPECT_EQ(run(floors(50, "Y")).exit_code, 1);
  const Outcome above = run(floors(50, "*"));
  EXPECT_EQ(above.exit_code, 0) << above.err;
  EXPECT_EQ(json::parse(above.out)["floors"][0]["proposed"], 100);
  EXPECT_EQ(json::parse(ReadFile(folder + "/raised.json"))["floors"][0]["value"], 100);
  ExpectError(run(WriteTemp("f.json", "{}")), 2, "vt.bench-floors/1");
}

TEST(BenchOps, MeasuresKernelsAgainstTheMachine) {
  const json record =
      json::parse(RunBenchProgram({"ops", "--op", "matmul", "--op", "add", "--dtype", "q8_0",
                                   "--dtype", "f32", "--threads", "1", "--best", "--buffer", "16"})
                      .out,
                  nullptr, false);
  ASSERT_TRUE(record.is_object());
  EXPECT_GT(record["memory_gb_per_s"], 0);
  EXPECT_GT(record["f32_gflops"], 0);
  ASSERT_FALSE(record["kernels"].empty());
  for (const json& kernel : record["kernels"]) {
    EXPECT_GT(kernel["gb_per_s"], 0) << kernel;
    EXPECT_EQ(kernel["gflops"].is_null(), kernel["op"] != "matmul") << kernel;
  }
  ExpectError(RunBenchProgram({"ops", "--op", "matmull"}), 2, "the nearest is matmul");
}

TEST(BenchCalibrate, WritesAProfileThatVtCapsReads) {
  const std::string path = TempDir() + "/here.json";
  const Outcome outcome =
      RunBenchProgram({"calibrate", "--threads", "1", "--buffer", "16", "-o", path});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json profile = json::parse(ReadFile(path));
  EXPECT_EQ(SchemaErrors(profile, "vt.profile.schema.json"), "");
  EXPECT_GT(profile["devices"][0]["memory_gb_per_s"]["value"], 0);
  EXPECT_EQ(RunCaps({"--profile", path, "--json"}).exit_code, 0);
}

TEST(BenchDocs, PagesNameEveryKeyOfTheirSchemas) {
  for (const std::string name : {"vt.bench", "vt.bench-compare"}) {
    const std::string page = ReadFile(DataPath("../../docs/json/" + name + ".md"));
    const json schema = json::parse(ReadFile(DataPath("../../docs/json/" + name + ".schema.json")));
    const std::function<void(const json&)> visit = [&](const json& part) {
      if (part.is_object() && part.contains("properties")) {
        for (const auto& [key, unused] : part["properties"].items()) {
          EXPECT_NE(page.find(key), std::string::npos) << name << ".md does not name " << key;
        }
      }
      if (part.is_structured()) {
        for (const json& member : part) visit(member);
      }
    };
    visit(schema);
  }
}

TEST(BenchDocs, ExamplesOfTheRecordRun) {
  bool inside = false;
  int examples = 0;
  for (std::string line : Lines(ReadFile(DataPath("../../docs/json/vt.bench.md")))) {
    if (line.starts_with("```")) {
      inside = !inside && line == "```sh";
      continue;
    }
    if (!inside) continue;
    ++examples;
    line.replace(0, std::string("vt-bench").size(), std::string("'") + VT_BENCH_BINARY + "'");
    line.replace(line.find("model.gguf"), std::string("model.gguf").size(), TinyModel());
    const Outcome outcome = RunShell(line);
    EXPECT_EQ(outcome.exit_code, 0) << line << outcome.err;
    EXPECT_EQ(SchemaErrors(json::parse(outcome.out), "vt.bench.schema.json"), "");
  }
  EXPECT_EQ(examples, 2);
}

TEST(BenchSynth, WritesAModelThatVtRunRuns) {
  const Outcome ran = RunVt({"-m", TinyModel(), "-p", "the", "-n", "4", "--quiet", "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const Outcome described = RunVt({"-m", TinyModel(), "--describe"});
  ASSERT_EQ(described.exit_code, 0);
  const std::string folder = TempDir();
  const std::string shape = folder + "/shape.json";
  std::ofstream(shape) << described.out;
  const Outcome made = RunBenchProgram(
      {"synth", "--shape", shape, "--type", "as-is", "--layers", "1", "-o", folder + "/m.gguf"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(json::parse(made.out)["layers"], 1);
  EXPECT_EQ(RunVt({"-m", folder + "/m.gguf", "-p", "the", "-n", "2", "--quiet"}).exit_code, 0);
  ExpectError(RunBenchProgram({"synth", "--shape", "none", "-o", "x.gguf"}), 2, "not known");
  ExpectError(RunBenchProgram({"synth", "--shape", "tiny"}), 2, "--output: not given");
  ExpectError(RunBenchProgram({"synth", "--shape", "tiny", "-o", "/none/x.gguf"}), 2, "/none");
}

}  // namespace
}  // namespace vt::test
