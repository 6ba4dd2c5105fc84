// vt-bench compare as users meet it: verdicts, failing commands, interruption.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "cli/bench_program.h"
#include "cli/json_schema.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

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

// A machine that tells nothing about its load, so that tests do not depend on it.
Outcome CompareCommands(const std::string& a, const std::string& b,
                        const std::vector<std::string>& more = {}) {
  std::vector<std::string> args = {"compare", "--a", a, "--b", b, "--sysroot", TempDir()};
  args.insert(args.end(), more.begin(), more.end());
  return RunBenchProgram(args);
}

TEST(BenchCompare, VerdictsAndStrict) {
  const Outcome outcome = CompareCommands(Prints(100), Prints(90));
  const json record = Document(outcome, "vt.bench-compare.schema.json");
  EXPECT_EQ(record["axes"][0]["verdict"], "slower");
  EXPECT_EQ(record["legs"].size(), 16u);  // the interval is narrow after the fewest pairs
  EXPECT_EQ(record["doubts"], json::array());
  EXPECT_EQ(CompareCommands(Prints(100), Prints(90), {"--strict"}).exit_code, 1);
  EXPECT_EQ(CompareCommands(Prints(100), Prints(100), {"--strict"}).exit_code, 0);
  EXPECT_EQ(CompareCommands(Prints(100), Prints(110), {"--strict"}).exit_code, 0);
  const json few = Document(CompareCommands(Prints(100), Prints(90), {"--pairs", "3"}),
                            "vt.bench-compare.schema.json");
  EXPECT_EQ(few["axes"][0]["verdict"], "within noise");
  EXPECT_NE(few["doubts"][0].get<std::string>().find("too few"), std::string::npos);
}

// A command whose rate has 1 % of noise around `rate`: the sum of 12 uniform numbers, drawn by the
// generator of Park and Miller from the number of the call, which a file counts.
std::string PrintsWithNoise(double rate, const std::string& counter) {
  return "n=$(cat '" + counter + "' 2>/dev/null || echo 1); echo $((n + 1)) > '" + counter +
         "'; awk -v n=$n 'BEGIN { x = n * 7919 % 2147483647; for (i = 0; i < 24; i++) { x = x * "
         "16807 "
         "% 2147483647; if (i >= 12) s += x / 2147483647 } printf \"[{\\\"n_prompt\\\": 8, "
         "\\\"n_gen\\\": 0, \\\"avg_ts\\\": %.4f}]\\n\", " +
         std::to_string(rate) + " * (1 + 0.01 * (s - 6)) }'";
}

TEST(BenchCompare, ALossOfThreePercentIsFoundInTheNoise) {
  const std::string folder = TempDir();
  const auto verdict = [&](double a, double b) {
    const json record = Document(
        CompareCommands(PrintsWithNoise(a, folder + "/n"), PrintsWithNoise(b, folder + "/n")),
        "vt.bench-compare.schema.json");
    return record["axes"][0]["verdict"].get<std::string>();
  };
  EXPECT_EQ(verdict(100, 97), "slower");
  EXPECT_EQ(verdict(97, 100), "faster");
  EXPECT_EQ(verdict(100, 100), "within noise");
}

TEST(BenchCompare, APlantedLossIsFoundAndMeasuredAndVoid) {
  const std::string vt = std::string("'") + VT_BENCH_BINARY + "' run -m '" + TinyModel() +
                         "' -p 64 -n 16 -r 2 --threads 1 --quiet --json";
  const Outcome outcome =
      RunBenchProgram({"compare", "--a", vt, "--b", vt + " --slow-down 900", "--pairs", "6"});
  const json record = Document(outcome, "vt.bench-compare.schema.json");
  ASSERT_EQ(record["axes"].size(), 2u);
  for (const json& axis : record["axes"]) {
    EXPECT_EQ(axis["verdict"], "slower") << axis;
    EXPECT_LT(axis["ratio"]["median"], 0.5) << axis;  // 0.1 on a quiet machine, less on a busy one
  }
  EXPECT_EQ(record["b"]["voids"].dump().find("slowed_down") != std::string::npos, true);
  EXPECT_EQ(record["a"]["voids"].dump().find("slowed_down"), std::string::npos);
}

// /proc/stat of a machine on which every run of `command` comes with a second of others' work,
// until it has run `times` times.
std::string Disturbed(const std::string& root, int times, const std::string& command) {
  return "n=$(cat '" + root + "/n' 2>/dev/null || echo 0); if [ $n -lt " + std::to_string(times) +
         " ]; then n=$((n + 1)); echo $n > '" + root +
         "/n'; echo \"cpu  ${n}00000 0 0 0 0 0 0 0 0 0\" > '" + root + "/proc/stat'; fi; " +
         command;
}

TEST(BenchCompare, DisturbedRunsAreDoubtedOrRunAgain) {
  const auto run = [](int times, const std::vector<std::string>& more) {
    const std::string root = TempDir();
    std::filesystem::create_directories(root + "/proc");
    EXPECT_EQ(RunShell("echo 'cpu  0 0 0 0 0 0 0 0 0 0' > '" + root + "/proc/stat'").exit_code, 0);
    std::vector<std::string> args = {"compare", "--a",       Disturbed(root, times, Prints(100)),
                                     "--b",     Prints(100), "--sysroot",
                                     root};
    args.insert(args.end(), more.begin(), more.end());
    return RunBenchProgram(args);
  };
  const json doubted = Document(run(2, {"--pairs", "6"}), "vt.bench-compare.schema.json");
  ASSERT_EQ(doubted["doubts"].size(), 1u) << doubted["doubts"];
  EXPECT_NE(doubted["doubts"][0].get<std::string>().find("disturbed in 2 of 12 runs"),
            std::string::npos);
  EXPECT_EQ(run(2, {"--pairs", "6", "--strict"}).exit_code, 1);

  const json again =
      Document(run(1, {"--pairs", "1", "--quiet-wait", "20"}), "vt.bench-compare.schema.json");
  ASSERT_EQ(again["legs"].size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(again["legs"][i]["counts"], i >= 2) << i;
  EXPECT_FALSE(again["legs"][0]["host"]["quiet"]);
  EXPECT_EQ(again["axes"][0]["ratios"].size(), 1u);
}

TEST(BenchCompare, InterruptionKeepsWhatWasMeasured) {
  const std::string file = TempDir() + "/c.json";
  Command command = BenchCommand({"compare", "--a", Prints(100), "--b", "sleep 0.2; " + Prints(90),
                                  "--pairs", "1000", "-o", file, "--quiet"});
  Running running(command);
  for (int i = 0; i < 2000 && !std::filesystem::exists(file); ++i) usleep(10000);
  running.Signal(SIGINT);
  const Outcome outcome = running.Wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  for (const std::string& text : {outcome.out, ReadFile(file)}) {
    const json record = json::parse(text, nullptr, false);
    EXPECT_EQ(SchemaErrors(record, "vt.bench-compare.schema.json"), "");
    EXPECT_TRUE(record["partial"]);
    EXPECT_FALSE(record["legs"].empty());
  }
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
  ExpectError(RunBenchProgram({"compare", "--a", "no-such-program", "--b", Prints(1)}), 2,
              "was not found");
  ExpectError(RunBenchProgram({"compare", "--a", "kill -9 $$", "--b", Prints(1)}), 2,
              "was ended by signal 9");
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

}  // namespace
}  // namespace vt::test
