// vt-caps --verify and vt-caps diff as programs.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/json_schema.h"
#include "cli/program.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

json Document(const Outcome& outcome, const std::string& schema, int exit_code) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  const json document = json::parse(outcome.out, nullptr, false);
  EXPECT_EQ(SchemaErrors(document, schema + ".schema.json"), "") << outcome.out.substr(0, 300);
  return document;
}

TEST(CapsVerify, EveryUsableRowHasFigures) {
  const std::string sim = DataPath("../../profiles/sim-small.json");
  const json document =
      Document(RunCaps({"--verify", "--sim", sim, "--op", "add", "--op", "mul", "--op", "arg_max"}),
               "vt.caps", 0);
  std::size_t runs = 0;
  for (const json& row : document["kernels"]) {
    if (row["state"] != "usable") {
      EXPECT_TRUE(row["verify"].is_null()) << row;
      continue;
    }
    ASSERT_EQ(row["verify"].size(), row["devices"].size()) << row;
    for (const json& figures : row["verify"]) {
      ++runs;
      EXPECT_EQ(figures["state"], "ok") << row;
      EXPECT_GT(figures["cases"], 50) << row;
      EXPECT_LE(figures["max_error"], figures["bound"]) << row;
      EXPECT_GT(figures["gb_per_s"], 0.0) << row;
    }
  }
  EXPECT_GE(runs, 6u);
}

TEST(CapsVerify, Table) {
  const Outcome outcome = RunCaps({"--verify", "--op", "scale_cap", "--device", "cpu", "--table"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const std::string& line : Lines(outcome.out)) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_NE(outcome.out.find("cpu.scalar.f32"), std::string::npos);
  EXPECT_NE(outcome.out.find("every one within its bound\n"), std::string::npos) << outcome.out;
}

TEST(CapsVerify, ProgressAtATerminalAlone) {
  Command command = CapsCommand({"--verify", "--op", "add", "--json"});
  EXPECT_EQ(RunVt(command).err, "");
  command.terminal = true;
  EXPECT_NE(RunVt(command).err.find("verify ["), std::string::npos);
  command.args.push_back("--quiet");
  EXPECT_EQ(RunVt(command).err, "");
}

TEST(CapsVerify, NothingToRunIsAnError) {
  const Outcome outcome =
      RunCaps({"--verify", "--op", "add", "--dtype", "q4_k", "--device", "cpu"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(Document(outcome, "vt.error", 2)["code"], "not_found");
}

TEST(CapsVerify, InterruptedWithinASecond) {
  Running running(CapsCommand({"--verify", "--isa", "scalar", "--json"}));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto sent = std::chrono::steady_clock::now();
  running.Signal(SIGINT);
  const Outcome outcome = running.Wait();
  EXPECT_LT(std::chrono::steady_clock::now() - sent, std::chrono::seconds(1));
  EXPECT_EQ(Document(outcome, "vt.error", 130)["code"], "interrupted");
}

TEST(CapsVerify, ASmallDeviceIsAnError) {
  json profile = json::parse(ReadFile(DataPath("../../profiles/sim-small.json")));
  profile["devices"][0]["memory"] = {{"total_bytes", {{"value", 4096}, {"source", "test: small"}}}};
  const std::string path = WriteTemp("tiny.json", profile.dump());
  const json document = Document(
      RunCaps({"--verify", "--sim", path, "--op", "softmax", "--device", "sim:0"}), "vt.caps", 1);
  for (const json& row : document["kernels"]) {
    for (const json& figures : row["verify"]) {
      EXPECT_EQ(figures["state"], "error");
      const std::string reason = figures["reason"];
      EXPECT_NE(reason.find("4096 bytes"), std::string::npos) << reason;
    }
  }
}

std::string Caps(const std::vector<std::string>& args) {
  return WriteTemp("c.json", RunCaps(args).out);
}

TEST(CapsDiff, AMachineIsTheSameAsItself) {
  const std::string a = Caps({}), b = Caps({});
  const json document = Document(RunCaps({"diff", a, b}), "vt.caps-diff", 0);
  EXPECT_EQ(document["same"], true);
  EXPECT_EQ(document["a"], a);
  const Outcome table = RunCaps({"diff", a, b, "--table"});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(table.out.find("Both machines can run the same.\n"), std::string::npos) << table.out;
}

TEST(CapsDiff, SaysWhatOnlyOneCanRun) {
  const std::string strix = DataPath("../../profiles/strix-halo-gfx1151.json");
  const std::string desktop = DataPath("../../profiles/x86-avx2-desktop.json");
  const std::string a = Caps({"--profile", strix}), b = Caps({"--profile", desktop});
  const Outcome outcome = RunCaps({"diff", a, b});
  const json document = Document(outcome, "vt.caps-diff", 1);
  EXPECT_EQ(document["same"], false);
  bool hip = false, features = false, kernels = false, memory = false;
  for (const json& device : document["devices"]) {
    hip |= device["id"] == "hip:0" && device["in_a"] == true && device["in_b"] == false;
    features |= device["id"] == "cpu" &&
                device["features_only_a"] == json({"avx512", "avx512vnni"}) &&
                device["features_only_b"].empty();
  }
  for (const json& row : document["kernels"]) {
    EXPECT_EQ(row["only"], "a") << row;
    EXPECT_EQ(row["device"], "cpu") << "those of a device that only one has are not listed";
    kernels |= row["kernel"] == "cpu.avx512vnni.q15" && row["op"] == "matmul";
  }
  for (const json& row : document["memory"]) memory |= row["fact"] == "total_bytes";
  EXPECT_TRUE(hip && features && kernels) << document;
  // AVX2 has a native kernel wherever AVX-512 has one: no tier differs.
  EXPECT_TRUE(document["types"].empty()) << document["types"];
  const Outcome table = RunCaps({"diff", a, b, "--table"});
  EXPECT_EQ(table.exit_code, 1);
  EXPECT_NE(table.out.find("only a has it"), std::string::npos) << table.out;
  for (const std::string& line : Lines(table.out)) EXPECT_LE(line.size(), 80u) << line;
}

TEST(CapsDiff, TypesAndMemory) {
  json a = json::parse(RunCaps({}).out);
  json b = a;
  b["devices"][0]["kept_quant_types"] = json({"q8_0"});
  b["devices"][0]["memory"]["total_bytes"]["value"] = 1024;
  const json document =
      Document(RunCaps({"diff", WriteTemp("a.json", a.dump()), WriteTemp("b.json", b.dump())}),
               "vt.caps-diff", 1);
  std::vector<std::string> types;
  for (const json& row : document["types"]) {
    EXPECT_TRUE(row["b"].is_null()) << row;
    if (row["op"] == "matmul") types.push_back(row["type"]);
    EXPECT_NE(row["op"], "kv_store") << "cells of the cache are no weights";
  }
  EXPECT_NE(std::find(types.begin(), types.end(), "q4_k"), types.end());
  EXPECT_EQ(std::find(types.begin(), types.end(), "q8_0"), types.end());
  EXPECT_EQ(std::find(types.begin(), types.end(), "bf16"), types.end());
  ASSERT_EQ(document["memory"].size(), 1u);
  EXPECT_EQ(document["memory"][0]["b"], 1024);
  // Memory alone is no difference.
  a["devices"][0]["memory"]["total_bytes"]["value"] = 2048;
  b["devices"][0]["kept_quant_types"] = nullptr;
  const json same =
      Document(RunCaps({"diff", WriteTemp("a.json", a.dump()), WriteTemp("b.json", b.dump())}),
               "vt.caps-diff", 0);
  EXPECT_EQ(same["memory"].size(), 1u);
}

TEST(CapsDiff, Usage) {
  const std::string a = Caps({});
  const auto refused = [](const Outcome& outcome, const std::string& says) {
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
  };
  refused(RunCaps({"diff"}), "takes two vt.caps/1 documents (0 given)");
  refused(RunCaps({"diff", a}), "(1 given)");
  refused(RunCaps({"diff", a, a, a}), "(3 given)");
  refused(RunCaps({"diff", "-", "-"}), "only one of the two documents can be stdin");
  refused(RunCaps({"diff", a, a, "--op", "add"}), "--op: has no effect with diff");
  refused(RunCaps({"diff", a, a, "--verify"}), "--verify: contradicts diff");
  refused(RunCaps({"diff", a, "nowhere.json"}), "nowhere.json");
  refused(RunCaps({"diff", a, WriteTemp("x.json", "{}")}), "x.json: /schema");
  refused(RunCaps({"diff", a, Caps({"--op", "add"})}), "different filters");
  Command piped = CapsCommand({"diff", a, "-"});
  piped.stdin_text = ReadFile(a);
  EXPECT_EQ(RunVt(piped).exit_code, 0);
}

}  // namespace
}  // namespace vt::test
