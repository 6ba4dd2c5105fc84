// vt-fit with a draft model or a projector beside the model, against what vt-run allocates.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/json_schema.h"
#include "cli/program.h"
#include "device/fake_root.h"
#include "support/header_models.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

constexpr const char* kBin = "BIN=\"$(dirname \"$VT\")\"; ";

std::string Quote(const std::string& path) { return "'" + path + "'"; }
std::string Sim() { return " --sim " + Quote(DataPath("../../profiles/sim-small.json")); }

Outcome Fit(const std::string& arguments) {
  return RunShell(std::string(kBin) + "\"$BIN/vt-fit\" " + arguments);
}

json Report(const std::string& arguments, int exit_code) {
  const Outcome outcome = Fit("--json " + arguments);
  EXPECT_EQ(outcome.exit_code, exit_code) << arguments << "\n" << outcome.err;
  json document = json::parse(outcome.out, nullptr, false);
  if (document.is_object() && document.contains("fit")) document = document["fit"];
  EXPECT_EQ(SchemaErrors(document, "vt.fit.schema.json"), "") << arguments << outcome.out;
  return document;
}

// Bytes by device and row, of what is no overhead.
using Rows = std::map<std::pair<std::string, std::string>, std::uint64_t>;

Rows RowsOfFit(const json& report) {
  Rows rows;
  for (const json& device : report["devices"]) {
    for (const json& row : device["rows"]) {
      if (row["row"] == "runtime" || row["row"] == "margin") continue;
      rows[{device["id"], row["row"]}] += row["bytes"].get<std::uint64_t>();
    }
  }
  return rows;
}

// Of a run; what is of the draft's engine is one row.
Rows RowsOfRun(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  Rows rows;
  if (outcome.exit_code != 0) return rows;
  const json end = json::parse(Lines(outcome.out).back());
  for (const json& row : end["memory"]) {
    std::string name = row["row"];
    if (name.starts_with("draft.")) name = "draft";
    rows[{row["device"], name}] += row["allocated_bytes"].get<std::uint64_t>();
  }
  return rows;
}

constexpr const char* kRun = " --tokens 1,2,3,1,2,3 -n 6 --temperature 0 --json --measure";

TEST(FitBesideTool, SaysWhatARunWithADraftAllocates) {
  const std::string sizes = " --ctx 256 --ubatch 32 --threads 2 ";
  const std::string pairs[][2] = {{"qwen3-dense", "llama-dense"},
                                  {"gemma3-dense", "gemma3-dense"},
                                  {"glm-dsa-moe", "llama-dense"},
                                  {"gpt-oss-moe", "qwen3moe-moe"}};
  int tried = 0;
  for (const auto& [model, draft] : pairs) {
    for (const char* where :
         {"", "--draft-max 7", "--device sim:0 --kv-type f32", "--device sim:0 --draft-device cpu",
          "--draft-device sim:0 --draft-max 2 --kv-type q8_0"}) {
      const std::string sims = std::string(where).find("sim") == std::string::npos ? "" : Sim();
      const std::string arguments = "-m " + Quote(TinyPath(model + ".gguf")) + " --draft " +
                                    Quote(TinyPath(draft + ".gguf")) + sizes + where + sims;
      const Outcome run = RunShell("\"$VT\" " + arguments + kRun);
      if (run.exit_code == 4 || run.exit_code == 2) {
        // vt-fit has the same "no": blocks that do not divide a head, another vocabulary.
        EXPECT_EQ(Fit("--json " + arguments).exit_code, run.exit_code) << arguments << run.err;
        continue;
      }
      const Rows fit = RowsOfFit(Report(arguments, 0));
      EXPECT_EQ(fit, RowsOfRun(run)) << arguments;
      ++tried;
    }
  }
  EXPECT_GE(tried, 8);
}

TEST(FitBesideTool, SaysItOfAPlanToo) {
  const std::string model = Quote(TinyPath("qwen3moe-moe.gguf"));
  const std::string draft = " --draft " + Quote(TinyPath("llama-dense.gguf"));
  const std::string plan = TempDir() + "/plan.json";
  const Outcome made = RunShell(std::string(kBin) + "\"$BIN/vt-place\" --json --model " + model +
                                " --ctx 128 --ubatch 16" + Sim() + Sim() +
                                " --device sim:0,sim:1 --pin 'blk\\.0\\.=sim:1' --pin "
                                "'blk\\.1\\.=sim:0' > " +
                                Quote(plan));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const json report = Report("--plan " + Quote(plan) + draft, 0);
  const std::string sims = Sim() + Sim();
  EXPECT_EQ(RowsOfFit(report),
            RowsOfRun(RunShell("\"$VT\" --plan " + Quote(plan) + draft + sims + kRun)));
  EXPECT_TRUE(report["draft"]["device"].get<std::string>().starts_with("sim:"));
  EXPECT_EQ(report["draft"]["architecture"], "llama");
  // Judged, it is still a plan that runs.
  const Outcome piped = RunShell(std::string(kBin) + "\"$BIN/vt-fit\" --plan " + Quote(plan) +
                                 draft + " | \"$VT\" --plan -" + draft + sims + kRun);
  EXPECT_EQ(RowsOfRun(piped), RowsOfFit(report));
  EXPECT_EQ(Fit("--json --plan " + Quote(plan) + draft + " --draft-device sim:4").exit_code, 2);
}

// A run's peak is never above the verdict's number with a draft either.
TEST(FitBesideTool, RunsWithADraftStayWithinTheVerdict) {
  const std::string model = TinyPath("qwen3-dense.gguf"), draft = TinyPath("llama-dense.gguf");
  const std::string flags = " --ctx 512 --ubatch 64 --threads 2";
  const json report = Report("-m " + Quote(model) + " --draft " + Quote(draft) + flags, 0);
  Command command;
  command.args = {"-m",  model,      "--draft", draft,       "--tokens", "1,2,3,1,2,3", "--ctx",
                  "512", "--ubatch", "64",      "--threads", "2",        "-n",          "8"};
  const Outcome run = RunVt(command);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  if (!kMeasured) return;
  EXPECT_LE(static_cast<std::uint64_t>(run.peak_resident_kib) << 10,
            report["devices"][0]["need_bytes"].get<std::uint64_t>());
}

std::string Projector() {
  ModelHeader header("clip", "pictures");
  for (int i = 0; i < 4; ++i) {
    header.Add("v.blk." + std::to_string(i) + ".ffn_up.weight", DType::kF16, {1024, 65536});
  }
  const std::string path = TempDir() + "/mmproj.gguf";
  header.WriteSparse(path);
  return path;
}

TEST(FitBesideTool, AProjectorIsARowAndARemedy) {
  const std::string folder = TempDir();
  HeaderOf("llama-8b").WriteSparse(folder + "/model.gguf");
  const std::string model = "-m " + Quote(folder + "/model.gguf") + " --profile rtx-4090" +
                            " --device cuda:0 --ctx 4096 --budget cuda:0=6GiB";
  const json alone = Report(model, 0);
  EXPECT_TRUE(alone["mmproj"].is_null());
  EXPECT_TRUE(alone["draft"].is_null());
  const std::string with = model + " --mmproj " + Quote(Projector());
  const json report = Report(with, 1);
  EXPECT_EQ(RowsOfFit(report).at({"cuda:0", "mmproj"}), 512u << 20);
  EXPECT_EQ(report["mmproj"]["architecture"], "clip");
  EXPECT_EQ(report["mmproj"]["device"], "cuda:0");
  EXPECT_EQ(report["remedies"][0]["kind"], "mmproj_on_cpu");
  EXPECT_EQ(report["remedies"][0]["mmproj_device"], "cpu");
  EXPECT_EQ(report["warnings"][0]["code"], "projector_not_run");
  const json moved = Report(with + " --mmproj-device cpu", 0);
  EXPECT_EQ(RowsOfFit(moved).at({"cpu", "mmproj"}), 512u << 20);
  const Outcome table = Fit("--table " + with);
  for (const std::string& line : Lines(table.out)) EXPECT_LE(line.size(), 80u) << line;
  for (const char* part :
       {"with projector pictures on cuda:0", "    mmproj ",
        "projector on cpu (--mmproj-device cpu): fits", "vt does not run projectors"}) {
    EXPECT_NE(table.out.find(part), std::string::npos) << part << "\n" << table.out;
  }
}

TEST(FitBesideTool, WrongArguments) {
  const std::string model = "-m " + Quote(TinyPath("llama-dense.gguf")) + " --ctx 64";
  const auto refused = [&](const std::string& arguments, int code, const std::string& words) {
    const Outcome outcome = Fit(model + " " + arguments);
    EXPECT_EQ(outcome.exit_code, code) << arguments << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << arguments << "\n" << outcome.err;
  };
  refused("--draft-device cpu", 2, "--draft-device: has an effect only with --draft");
  refused("--mmproj-device cpu", 2, "--mmproj-device: has an effect only with --mmproj");
  refused("--draft-max 3", 2, "--draft-max: has an effect only with --draft");
  refused("--profile all --draft " + Quote(TinyPath("qwen3-dense.gguf")), 2, "--draft: ");
  refused("--draft /no/such.gguf", 3, "--draft: ");
  refused("--draft " + Quote(TinyPath("lfm2-dense.gguf")), 4, "recurrent state");
  refused("--draft " + Quote(TinyPath("qwen3-dense.gguf")) + " --draft-device cuda:9", 2,
          "--draft-device: ");
  refused("--mmproj " + Quote(TinyPath("qwen3-dense.gguf")), 2, "is no projector's");
  refused("--mmproj " + Quote(Projector()) + " --mmproj-device cuda:9", 2, "--mmproj-device: ");
  EXPECT_EQ(Fit("--model - --draft -").exit_code, 2);
}

// A process that is bound to one of 32 nodes has 32 GiB, not 1024; the verdict says so.
TEST(FitBesideTool, ABoundProcessIsHeldToItsNumaNode) {
  const FakeRoot tree;
  tree.WriteNumaNodes(32, 33554432);
  const std::string folder = TempDir();
  HeaderOf("llama-70b").WriteSparse(folder + "/model.gguf");
  const std::string arguments = "-m " + Quote(folder + "/model.gguf") + " --ctx 4096";
  const std::string rooted =
      "export VT_SYSROOT=" + Quote(tree.path()) + "; " + kBin + "\"$BIN/vt-fit\" " + arguments;
  EXPECT_EQ(RunShell(rooted + " --json").exit_code, 0);
  tree.Write("/proc/self/status", "Mems_allowed_list:\t7\n");
  const Outcome bound = RunShell(rooted + " --table");
  EXPECT_EQ(bound.exit_code, 1);
  // 40 GiB of weights are pages of the file.
  EXPECT_NE(bound.out.find("fits by paging"), std::string::npos) << bound.out;
  EXPECT_NE(bound.out.find("ceiling 32.00 GiB (MemTotal of NUMA node"), std::string::npos)
      << bound.out;
}

}  // namespace
}  // namespace vt::test
