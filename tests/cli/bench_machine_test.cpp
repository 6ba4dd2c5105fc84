// vt-bench floor, ops, calibrate and synth as users meet them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/bench_program.h"
#include "cli/json_schema.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

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
  const json above = Document(run(floors(50, "*")), "vt.bench-floor.schema.json");
  EXPECT_EQ(above["floors"][0]["proposed"], 100);
  EXPECT_TRUE(above["model"].is_null());  // the record does not tell
  const json raised = json::parse(ReadFile(folder + "/raised.json"));
  EXPECT_EQ(SchemaErrors(raised, "vt.bench-floors.schema.json"), "");
  EXPECT_EQ(raised["floors"][0]["value"], 100);
  EXPECT_EQ(SchemaErrors(json::parse(run(floors(120, "*")).out), "vt.bench-floor.schema.json"), "");
  ExpectError(run(WriteTemp("f.json", "{}")), 2, "vt.bench-floors/1");
}

TEST(BenchOps, MeasuresKernelsAgainstTheMachine) {
  const std::string svg = TempDir() + "/roofline.svg";
  const json record =
      Document(RunBenchProgram({"ops", "--op", "matmul", "--op", "rms_norm", "--dtype", "q8_0",
                                "--dtype", "f32", "--threads", "1", "--best", "--buffer", "16",
                                "--rows", "1,16", "--svg", svg}),
               "vt.bench-ops.schema.json");
  EXPECT_GT(record["memory_gb_per_s"], 0);
  EXPECT_GT(record["f32_gflops"], 0);
  EXPECT_EQ(record["reads"].back()["bytes"], 16 << 20);
  ASSERT_FALSE(record["kernels"].empty());
  int counted = 0;
  for (const json& kernel : record["kernels"]) {
    EXPECT_GT(kernel["gb_per_s"], 0) << kernel;
    EXPECT_EQ(kernel["gflops"].is_null(), kernel["op"] != "matmul") << kernel;
    counted += kernel["gflops"].is_null() ? 0 : 1;
    const json& roof = kernel["roof"];
    EXPECT_GT(roof["share"], 0) << kernel;
    if (kernel["flops_per_byte"].is_null()) continue;
    // The roof is no higher than either of its sides.
    const double by_memory =
        roof["gb_per_s"].get<double>() * kernel["flops_per_byte"].get<double>();
    EXPECT_LE(roof["gflops"].get<double>(), by_memory * 1.000001) << kernel;
    EXPECT_NEAR(roof["share"].get<double>(),
                kernel["gflops"].get<double>() / roof["gflops"].get<double>(), 1e-6);
  }
  EXPECT_EQ(counted, 6);  // f32, q8_0, q8_0 by q15, each with 1 and 16 rows
  const std::string plot = ReadFile(svg);
  EXPECT_EQ(plot.rfind("<svg ", 0), 0u);
  EXPECT_NE(plot.find(">6</text>"), std::string::npos);
}

TEST(BenchOps, TheTableFitsATerminal) {
  const Outcome outcome = RunBenchProgram({"ops", "--op", "dual_rms_norm_residual", "--op", "rope",
                                           "--table", "--best", "--buffer", "16"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\nrope "), std::string::npos) << outcome.out;
  for (const std::string& line : Lines(outcome.out)) EXPECT_LE(line.size(), 80u) << line;
  ExpectError(RunBenchProgram({"ops", "--json", "--table"}), 2, "contradict");
}

TEST(BenchOps, WhatUsersGetWrong) {
  ExpectError(RunBenchProgram({"ops", "--op", "matmull"}), 2, "the nearest is matmul");
  ExpectError(RunBenchProgram({"ops", "--dtype", "q9"}), 2, "no such type");
  ExpectError(RunBenchProgram({"ops", "--rows", "0"}), 2, "--rows");
  ExpectError(RunBenchProgram({"ops", "--svg", "/none/there.svg"}), 2, "/none/there.svg");
  ExpectError(RunBenchProgram({"ops", "--op", "rope", "--best", "--buffer", "16", "--svg",
                               TempDir() + "/x.svg"}),
              2, "no operations are counted");
}

TEST(BenchDevices, WhatIsNotMeasuredIsSaidAndNotReplacedByTheCpu) {
  ExpectError(RunBenchProgram({"ops", "--device", "sim:0"}), 4, "emulator");
  ExpectError(RunBenchProgram({"run", "-m", TinyModel(), "--device", "sim:0"}), 4, "emulator");
  for (const char* device : {"sim:0", "cuda:0", "hip:0"}) {
    const std::string file = TempDir() + "/p.json";
    ExpectError(RunBenchProgram({"calibrate", "--device", device, "-o", file}), 4,
                "neither bandwidth nor arithmetic is measured");
    EXPECT_FALSE(std::filesystem::exists(file));
  }
  ExpectError(RunBenchProgram({"calibrate", "--device", "tpu"}), 2, "no such kind of device");
}

TEST(BenchCalibrate, WritesAProfileThatVtCapsReads) {
  const std::string path = TempDir() + "/here.json";
  const Outcome outcome =
      RunBenchProgram({"calibrate", "--threads", "1", "--buffer", "16", "-o", path});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json profile = json::parse(ReadFile(path));
  EXPECT_EQ(SchemaErrors(profile, "vt.profile.schema.json"), "");
  EXPECT_EQ(outcome.out, "");
  EXPECT_GT(profile["devices"][0]["compute_tflops"]["f32"]["value"], 0);
  EXPECT_GT(profile["devices"][0]["memory_gb_per_s"]["value"], 0);
  EXPECT_EQ(RunCaps({"--profile", path, "--json"}).exit_code, 0);
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
  EXPECT_EQ(Document(made, "vt.bench-synth.schema.json")["layers"], 1);
  EXPECT_EQ(RunVt({"-m", folder + "/m.gguf", "-p", "the", "-n", "2", "--quiet"}).exit_code, 0);
  ExpectError(RunBenchProgram({"synth", "--shape", "none", "-o", "x.gguf"}), 2, "not known");
  ExpectError(RunBenchProgram({"synth", "--shape", "tiny"}), 2, "--output: not given");
  ExpectError(RunBenchProgram({"synth", "--shape", "tiny", "-o", "/none/x.gguf"}), 2, "/none");
}

}  // namespace
}  // namespace vt::test
