// A run as a plan says, and the pipe that makes, judges and runs one.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cli/program.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

constexpr const char* kBin = "BIN=\"$(dirname \"$VT\")\"; ";
const std::string kRun = " --tokens 1,2,3,4,5 -n 6 --temperature 0 --quiet ";

std::string Sims() {
  const std::string one = " --sim '" + DataPath("../../profiles/sim-small.json") + "'";
  return one + one;
}

Outcome RunBash(const std::string& commands) {
  return RunShell("bash -o pipefail '" + WriteTemp("pipe.sh", kBin + commands) + "'");
}

// In a folder that holds plan.json, made with these arguments.
Outcome WithPlan(const std::string& arguments, const std::string& command) {
  return RunBash("\"$BIN/vt-place\" --json " + arguments + " > plan.json && " + command);
}

std::string Tiny(const char* name = "qwen3moe-moe") {
  return "--model '" + TinyPath(std::string(name) + ".gguf") + "' --ctx 128 --ubatch 16 ";
}

TEST(PlanRun, ThePipeAnswersAsTheRunWithoutIt) {
  const Outcome alone = RunVt({"-m", TinyPath("qwen3moe-moe.gguf"), "--tokens", "1,2,3,4,5", "-n",
                               "6", "--temperature", "0", "--quiet", "--ctx", "128"});
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  const Outcome piped = RunBash("\"$BIN/vt-place\" " + Tiny() +
                                "--device cpu | \"$BIN/vt-fit\" - | \"$VT\" --plan - " + kRun);
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_EQ(piped.out, alone.out);
}

TEST(PlanRun, ThePipeStopsAtTheFirstNo) {
  const Outcome outcome =
      RunBash("\"$BIN/vt-place\" " + Tiny() +
              "--device cpu | \"$BIN/vt-fit\" --budget cpu=1MiB - | \"$VT\" --plan - " + kRun);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("its fit says \"does_not_fit\""), std::string::npos) << outcome.err;
  const Outcome forced = RunShell(
      std::string(kBin) + "\"$BIN/vt-place\" " + Tiny() +
      "--device cpu | \"$BIN/vt-fit\" --budget cpu=1MiB - | \"$VT\" --plan - --force " + kRun);
  EXPECT_EQ(forced.exit_code, 0) << forced.err;
}

TEST(PlanRun, RunsOverSeveralDevicesAndSaysWhatItAllocated) {
  const Outcome outcome = WithPlan(Tiny() + Sims() +
                                       " --device sim:0,sim:1 --pin 'blk\\.0\\.=sim:1' --pin "
                                       "'blk\\.1\\.=sim:0'",
                                   "\"$VT\" --plan plan.json --json --measure" + Sims() + kRun);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<std::string> lines = Lines(outcome.out);
  const json start = json::parse(lines.front());
  EXPECT_EQ(start["devices"].size(), 2u);
  EXPECT_EQ(start["plan"]["file"], "plan.json");
  EXPECT_TRUE(start["plan"]["hash"].get<std::string>().starts_with("xxh3-128:"));
  EXPECT_EQ(start["settings"]["ctx"]["origin"], "plan");
  std::set<std::string> devices;
  const json end = json::parse(lines.back());
  for (const json& row : end["memory"]) {
    EXPECT_EQ(row["predicted_bytes"], row["allocated_bytes"]) << row;
    devices.insert(row["device"]);
  }
  EXPECT_EQ(devices, (std::set<std::string>{"cpu", "sim:0", "sim:1"}));  // cpu: the staging
}

// Two of eight experts at a time: the same answer, and the end says what that took.
TEST(PlanRun, ExpertsTakeTurnsInTheSlotsOfAPlan) {
  const auto run = [](const std::string& slots) {
    const Outcome outcome = WithPlan(
        Tiny() + Sims() + " --device sim:0 " + slots,
        "\"$BIN/vt-fit\" --json --plan plan.json" + Sims() +
            " > fit.json && cat fit.json && \"$VT\" --plan fit.json --json" + Sims() + kRun);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Lines(outcome.out);
  };
  const std::vector<std::string> all = run(""), some = run("--expert-slots 2");
  const json fit = json::parse(some.front()), end = json::parse(some.back());
  EXPECT_EQ(end["ids"], json::parse(all.back())["ids"]);
  EXPECT_TRUE(json::parse(all.back())["expert_slots"].empty());
  ASSERT_EQ(end["expert_slots"].size(), 1u) << end;
  EXPECT_EQ(end["expert_slots"][0]["device"], "sim:0");
  EXPECT_GT(end["expert_slots"][0]["misses"], 0);
  EXPECT_GT(end["expert_slots"][0]["uploaded_bytes"], 0);
  EXPECT_EQ(end["expert_slots"][0]["quarantined_slots"], 0);
  std::set<std::string> rows;
  for (const json& row : end["memory"]) {
    EXPECT_EQ(row["predicted_bytes"], row["allocated_bytes"]) << row;
    rows.insert(row["device"].get<std::string>() + " " + row["row"].get<std::string>());
  }
  EXPECT_TRUE(rows.contains("sim:0 weights.slots"));
  EXPECT_TRUE(rows.contains("cpu weights.streamed"));
  EXPECT_EQ(fit["request"]["expert_slots"], 2);
  EXPECT_GT(fit["fit"]["file"]["streamed_bytes"], 0);
}

TEST(PlanRun, RefusesAPlanThatDoesNotHold) {
  const auto refused = [](const std::string& command, int code, const std::string& words) {
    const Outcome outcome = WithPlan(Tiny() + "--device cpu", command);
    EXPECT_EQ(outcome.exit_code, code) << command << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << command << "\n" << outcome.err;
  };
  // For another model: both digests.
  const std::string other = "\"$VT\" --plan plan.json -m '" + TinyPath("llama-dense.gguf") + "'";
  refused(other + kRun, 2, "xxh3-128:");
  // Edited by hand.
  refused(
      "sed 's/\"context\":128/\"context\":256/' plan.json > edited.json; "
      "\"$VT\" --plan edited.json" +
          kRun,
      2, "hash");
  refused("sed 's,vt.plan/1,vt.plan/2,' plan.json > newer.json; \"$VT\" --plan newer.json" + kRun,
          2, "/schema");
  refused("\"$VT\" --plan nowhere.json" + kRun, 2, "nowhere.json");
  for (const char* flag :
       {"--ctx 64", "--device cpu", "--ubatch 8", "--kv-type f32", "--exact", "--threads 1"}) {
    refused(std::string("\"$VT\" --plan plan.json ") + flag + kRun, 2, "is settled by --plan");
  }
  refused("\"$VT\" -m x --force" + kRun, 2, "has an effect only with --plan");
  refused("\"$VT\" --plan - < plan.json", 2, "both read stdin");
  // The device of the plan is not here.
  const Outcome gone =
      WithPlan(Tiny() + Sims() + " --device sim:1", "\"$VT\" --plan plan.json" + kRun);
  EXPECT_EQ(gone.exit_code, 2) << gone.err;
  EXPECT_NE(gone.err.find("sim:1"), std::string::npos) << gone.err;
}

TEST(PlanRun, GoldensAreCheckedUnderAPlan) {
  const std::string name = TinyPath("qwen3moe-moe");
  const std::string golden = name + ".json";
  const Outcome outcome =
      WithPlan(Tiny() + Sims() + " --kv-type f32 --device cpu,sim:0 --cpu-moe --pin 'attn_=sim:0'",
               "\"$BIN/vt-golden\" check --golden '" + golden + "' -m '" + name +
                   ".gguf' --plan plan.json --any-digest --json" + Sims() + " > report.json; " +
                   "code=$?; cat report.json; exit $code");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
  EXPECT_NE(outcome.err.find("same"), std::string::npos) << outcome.err;
}

TEST(PlanRun, CalibrationIsWhatTheProcessHoldsBesidesThePlan) {
  const Outcome outcome = RunShell("\"$VT\" -m '" + TinyPath("llama-dense.gguf") + "'" + kRun +
                                   "--calibrate calibration.json >&2 && cat calibration.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json document = json::parse(outcome.out);
  EXPECT_EQ(document["schema"], "vt.calibration/1");
  ASSERT_EQ(document["devices"].size(), 1u);
  EXPECT_EQ(document["devices"][0]["id"], "cpu");
  EXPECT_GT(document["devices"][0]["runtime_bytes"], 1 << 20);
}

}  // namespace
}  // namespace vt::test
