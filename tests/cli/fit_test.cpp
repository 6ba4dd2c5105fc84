// vt-fit: vt.fit/1 and what goes with it.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "cli/json_schema.h"
#include "cli/program.h"
#include "support/header_models.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

// Beside vt-run, whose place RunShell knows.
constexpr const char* kFit = "\"$(dirname \"$VT\")/vt-fit\" ";
constexpr const char* kPlace = "\"$(dirname \"$VT\")/vt-place\" ";

std::string Quote(const std::string& path) { return "'" + path + "'"; }
Outcome Fit(const std::string& arguments) { return RunShell(kFit + arguments); }

// A model of real geometry as a file that takes no room.
std::string Sparse(std::string_view name, bool tokenizer = false) {
  const std::string path = TempDir() + "/" + std::string(name) + ".gguf";
  ModelHeader header = HeaderOf(name);
  if (tokenizer) header.AddTokenizer();
  header.WriteSparse(path);
  return path;
}

json Report(const std::string& arguments, int exit_code,
            const char* schema = "vt.fit.schema.json") {
  const Outcome outcome = Fit("--json " + arguments);
  EXPECT_EQ(outcome.exit_code, exit_code) << arguments << "\n" << outcome.err;
  const json document = json::parse(outcome.out, nullptr, false);
  if (document.is_discarded()) {
    ADD_FAILURE() << arguments << "\n" << outcome.out;
    return json::object();
  }
  EXPECT_EQ(SchemaErrors(document, schema), "") << arguments;
  return document;
}

// Exit code, code and place of a failure.
std::string Failure(const std::string& arguments, std::string* message = nullptr) {
  const Outcome outcome = Fit("--json " + arguments);
  const json error = json::parse(outcome.out, nullptr, false);
  if (error.is_discarded() || !error.contains("code")) return "no error document: " + outcome.out;
  const std::string at = error["at"].is_string() ? error["at"].get<std::string>() : "";
  if (message) *message = error["message"];
  return std::to_string(outcome.exit_code) + " " + error["code"].get<std::string>() + " " + at;
}

json DeviceOf(const json& report, const std::string& id) {
  for (const json& device : report["devices"]) {
    if (device["id"] == id) return device;
  }
  ADD_FAILURE() << "no device " << id;
  return nullptr;
}

std::uint64_t RowBytes(const json& device, const std::string& prefix) {
  std::uint64_t bytes = 0;
  for (const json& row : device["rows"]) {
    if (row["row"].get<std::string>().starts_with(prefix))
      bytes += row["bytes"].get<std::uint64_t>();
  }
  return bytes;
}

TEST(FitTool, VerdictsAndTheirExitCodes) {
  const std::string model = "--model " + Quote(Sparse("llama-8b"));
  EXPECT_EQ(Report(model + " --budget cpu=16GiB", 0)["verdict"], "fits");
  const json paging = Report(model + " --budget cpu=4GiB", 1);
  EXPECT_EQ(paging["verdict"], "fits_by_paging");
  EXPECT_GT(paging["paged_bytes_per_token"], 0);
  const json none = Report(model + " --budget cpu=100MiB", 1);
  EXPECT_EQ(none["verdict"], "does_not_fit");
  EXPECT_EQ(none["deficit_where"], "cpu");
  EXPECT_EQ(none["deficit_bytes"].get<std::int64_t>(),
            DeviceOf(none, "cpu")["need_bytes"].get<std::int64_t>() - (100 << 20));
  EXPECT_EQ(DeviceOf(none, "cpu")["left_bytes"].get<std::int64_t>(),
            -none["deficit_bytes"].get<std::int64_t>());
}

TEST(FitTool, AnUnknownArchitectureIsNoVerdict) {
  const json report = Report("--model " + Quote(Sparse("unknown-arch")), 4);
  EXPECT_EQ(report["verdict"], "cannot_tell");
  EXPECT_FALSE(report["missing"].empty());
  EXPECT_TRUE(report["devices"].empty());
  EXPECT_TRUE(report["file"].is_null());
  EXPECT_GT(report["model"]["bytes"], 0);
}

TEST(FitTool, ReadsTheHeaderAloneAndQuickly) {
  const std::string path = Sparse("glm-5.3", true);
  ASSERT_GT(std::filesystem::file_size(path), 100ull << 30);
  Command command;
  const std::filesystem::path run = RunShell("echo \"$VT\"").out;
  command.program = (run.parent_path() / "vt-fit").string();
  command.args = {"--json",   "--model", path, "--ctx", "32768", "--profile", "strix-halo-gfx1151",
                  "--device", "hip:0"};
  double fastest = 1e9;
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = RunVt(command);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    if (kMeasured) {
      EXPECT_LT(outcome.peak_resident_kib, 64 << 10);
    }
    fastest = std::min(fastest, outcome.seconds);
  }
  // 50 ms on a machine of its own; tests share theirs.
  if (kMeasured) {
    EXPECT_LT(fastest, 0.5);
  }
}

TEST(FitTool, FilesDocumentsAndPipesSayTheSame) {
  for (const std::string& path : {TinyPath("gemma3-dense.gguf"), TinyPath("glm-dsa-moe.gguf"),
                                  TinyPath("qwen3moe-moe.gguf")}) {
    if (!std::filesystem::exists(path)) continue;
    const std::string document = TempDir() + "/model.json";
    ASSERT_EQ(RunShell("\"$VT\" -m " + Quote(path) + " --describe > " + Quote(document)).exit_code,
              0);
    const std::string flags = " --ctx 512 --budget cpu=1GiB";
    const json of_file = Report("--model " + Quote(path) + flags, 0);
    json of_document = Report("--model " + Quote(document) + flags, 0);
    const auto live = [](json report) {
      for (json& device : report["devices"]) device["budget"].erase("live_bytes");
      // Texts that a document leaves out count as padding there.
      report["file"].erase("header_bytes");
      report["file"].erase("padding_bytes");
      return report;
    };
    EXPECT_EQ(live(of_file), live(of_document)) << path;
    const Outcome piped =
        RunShell("cat " + Quote(document) + " | " + kFit + "--json --model -" + flags);
    EXPECT_EQ(live(json::parse(piped.out)), live(of_file));
  }
}

// A Hugging Face folder, by any of its files.
TEST(FitTool, ReadsFolders) {
  const std::string folder = TinyPath("gemma4-26b-hf");
  const json of_folder = Report("--model " + Quote(folder) + " --ctx 512", 0);
  const json of_config = Report("--model " + Quote(folder + "/config.json") + " --ctx 512", 0);
  EXPECT_EQ(of_folder["model"]["digest"], of_config["model"]["digest"]);
  EXPECT_EQ(DeviceOf(of_folder, "cpu")["need_bytes"], DeviceOf(of_config, "cpu")["need_bytes"]);
  const json& file = of_folder["file"];
  std::uint64_t sum = 0;
  for (const auto& [key, bytes] : file.items())
    sum += key == "bytes" ? 0 : bytes.get<std::uint64_t>();
  EXPECT_EQ(sum, file["bytes"].get<std::uint64_t>());
  // Where the weights' files are missing, they are named.
  const std::string bare = TempDir();
  for (const char* name : {"config.json", "model.safetensors.index.json"}) {
    if (std::filesystem::exists(folder + "/" + name)) {
      std::filesystem::copy(folder + "/" + name, bare + "/" + name);
    }
  }
  std::string message;
  EXPECT_EQ(Failure("--model " + Quote(bare), &message).substr(0, 9), "3 corrupt");
  EXPECT_NE(message.find("safetensors"), std::string::npos) << message;
}

TEST(FitTool, BudgetsAndReserves) {
  const std::string model = "--model " + Quote(TinyPath("llama-dense.gguf")) + " --ctx 64";
  const json given = Report(model + " --budget cpu=2GiB --reserve cpu=512MiB", 0);
  const json budget = DeviceOf(given, "cpu")["budget"];
  EXPECT_EQ(budget["bytes"], 1536 << 20);
  EXPECT_EQ(budget["reserve_bytes"], 512 << 20);
  EXPECT_EQ(budget["facts"][0]["fact"], "given");
  std::string message;
  EXPECT_EQ(Failure(model + " --budget cpu=16", &message), "2 invalid ");
  EXPECT_NE(message.find("\"16\" has no unit"), std::string::npos) << message;
  EXPECT_EQ(Failure(model + " --budget gpu:7=1GiB", &message), "2 invalid ");
  EXPECT_NE(message.find("gpu:7"), std::string::npos) << message;
  EXPECT_EQ(Failure(model + " --device cuda:3", &message), "2 not_found ");
  EXPECT_NE(message.find("--device"), std::string::npos) << message;
  const json doubted = Report(model + " --budget cpu=900TiB", 0);
  ASSERT_EQ(doubted["warnings"].size(), 1u);
  EXPECT_EQ(doubted["warnings"][0]["code"], "budget_above_total");
}

TEST(FitTool, MachinesThatAreNotHere) {
  const std::string model = "--model " + Quote(Sparse("gemma-4-26b"));
  const json report = Report(model + " --ctx 131072 --profile rtx-4090 --device cuda:0", 0);
  EXPECT_EQ(RowBytes(DeviceOf(report, "cuda:0"), "kv."), 2860ull << 20);
  EXPECT_EQ(DeviceOf(report, "cpu")["used"], false);
  const std::string caps = TempDir() + "/caps.json";
  ASSERT_EQ(RunShell("\"$CAPS\" --json --profile " +
                     Quote(DataPath("../../profiles/rtx-4090.json")) + " > " + Quote(caps))
                .exit_code,
            0);
  const json of_caps = Report(model + " --ctx 131072 --device cuda:0 --caps " + Quote(caps), 0);
  EXPECT_EQ(DeviceOf(of_caps, "cuda:0")["rows"], DeviceOf(report, "cuda:0")["rows"]);
  const json sim = Report(
      model + " --device sim:0 --sim " + Quote(DataPath("../../profiles/sim-small.json")), 1);
  EXPECT_EQ(DeviceOf(sim, "sim:0")["budget"]["bytes"], 256 << 20);
  std::string message;
  EXPECT_EQ(Failure(model + " --profile rtx-4091", &message), "2 not_found ");
  EXPECT_NE(message.find("rtx-4090"), std::string::npos) << message;
}

TEST(FitTool, AllProfilesAtOnce) {
  const std::string model = "--model " + Quote(Sparse("llama-70b")) + " --ctx 8192 --profile all";
  const json report = Report(model, 0, "vt.fit-profiles.schema.json");
  EXPECT_GE(report["profiles"].size(), 20u);
  int no = 0, yes = 0;
  for (const json& one : report["profiles"]) {
    yes += one["verdict"] == "fits";
    no += one["verdict"] == "does_not_fit";
  }
  EXPECT_GT(yes, 3);
  EXPECT_GT(no, 3);
  const Outcome table = Fit("--table " + model);
  for (const std::string& line : Lines(table.out)) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_NE(table.out.find("h200"), std::string::npos);
  const json one = Report(model + " --device cuda:0", 0, "vt.fit-profiles.schema.json");
  for (const json& row : one["profiles"]) EXPECT_EQ(row["device"], "cuda:0");
}

TEST(FitTool, ContextsThatFit) {
  const std::string model = "--model " + Quote(Sparse("llama-8b"));
  const json most = Report(model + " --budget cpu=8GiB --max-context", 0);
  const std::int64_t context = most["max_context"];
  EXPECT_EQ(Report(model + " --budget cpu=8GiB --ctx " + std::to_string(context), 0)["verdict"],
            "fits");
  EXPECT_NE(
      Report(model + " --budget cpu=8GiB --ctx " + std::to_string(context + 64), 1)["verdict"],
      "fits");
  const json chosen =
      Report("--model " + Quote(Sparse("glm-5.2")) + " --budget cpu=460GiB --ctx auto", 0);
  EXPECT_EQ(chosen["chosen_context"]["from"], 1048576);
  EXPECT_EQ(chosen["chosen_context"]["to"], chosen["context"]);
  EXPECT_TRUE(chosen["chosen_context"]["why"].is_string());
  const std::string plot = TempDir() + "/curve.svg";
  const json curve = Report(model + " --budget cpu=8GiB --curve --plot " + Quote(plot), 0);
  EXPECT_EQ(curve["curves"].size(), 4u);
  EXPECT_EQ(ReadFile(plot).substr(0, 4), "<svg");
}

TEST(FitTool, TablesForPeople) {
  const std::string glm = Quote(Sparse("glm-5.3")) + " --profile strix-halo-gfx1151";
  for (const std::string& arguments :
       {Quote(TinyPath("gemma3-dense.gguf")), glm + " --device hip:0 --ctx 32768",
        Quote(Sparse("llama-8b")) + " --budget cpu=100MiB --curve --max-context",
        Quote(Sparse("unknown-arch")), glm + " --ctx auto"}) {
    const Outcome outcome = Fit("--table --model " + arguments);
    ASSERT_FALSE(outcome.out.empty()) << outcome.err;
    EXPECT_NE(outcome.out.substr(0, 200).find("context "), std::string::npos) << outcome.out;
    for (const std::string& line : Lines(outcome.out)) {
      EXPECT_LE(line.size(), 80u) << line;
      EXPECT_FALSE(line.ends_with(' ')) << "\"" << line << "\"";
    }
    EXPECT_EQ(outcome.out.find("nan"), std::string::npos);
  }
  const Outcome refused = Fit("--table --model " + glm + " --device hip:0 --ctx 32768");
  EXPECT_EQ(refused.exit_code, 1);
  for (const char* part :
       {"does not fit: hip:0 lacks", "weights.expanded", "58.00 GiB", "in the file",
        "hip:0 and cpu share their memory", "vt-place --n-cpu-moe"}) {
    EXPECT_NE(refused.out.find(part), std::string::npos) << part << "\n" << refused.out;
  }
}

TEST(FitTool, HelpFitsTheScreen) {
  const Outcome help = Fit("--help");
  EXPECT_EQ(help.exit_code, 0);
  for (const std::string& line : Lines(help.out)) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(Fit("--version").exit_code, 0);
}

TEST(FitTool, WrongArguments) {
  const std::string model = "--model " + Quote(TinyPath("llama-dense.gguf"));
  EXPECT_EQ(Failure(""), "2 invalid ");
  EXPECT_EQ(Failure(model + " --kv-type q9"), "2 invalid ");
  EXPECT_EQ(Failure(model + " --profile all --budget cpu=1GiB"), "2 invalid ");
  EXPECT_EQ(Failure(model + " --profile rtx-4090 --caps x.json"), "2 invalid ");
  EXPECT_EQ(Failure("--model - --plan -"), "2 invalid ");
  EXPECT_EQ(Failure("--model /no/such.gguf"), "3 corrupt /no/such.gguf");
  EXPECT_EQ(Failure("--plan " + Quote(WriteTemp("p.json", R"({"schema":"vt.plan/9"})"))),
            "2 invalid /schema");
  EXPECT_EQ(Failure(model + " --calibration " +
                    Quote(WriteTemp("c.json", R"({"schema":"vt.calibration/2"})"))),
            "2 invalid /schema");
  EqualLayers sizes;
  sizes.experts = 0;
  sizes.head_dim = 80;
  const std::string odd = TempDir() + "/odd.gguf";
  EqualLayersHeader("odd", sizes).WriteSparse(odd);
  std::string message;
  EXPECT_EQ(Failure("--model " + Quote(odd) + " --kv-type q8_0", &message), "4 unsupported ");
  for (const char* part : {"blk.0.attn_k.weight", "80", "32"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

// A plan goes on with the verdict as its last member, everything else as it was.
TEST(FitTool, PlansAreWrittenOn) {
  const std::string model = Quote(TinyPath("qwen3moe-moe.gguf"));
  const std::string plan = TempDir() + "/plan.json";
  const Outcome made =
      RunShell(std::string(kPlace) + "--json --model " + model + " --ctx 256 > " + Quote(plan));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Outcome judged = RunShell("cat " + Quote(plan) + " | " + kFit + "-");
  EXPECT_EQ(judged.exit_code, 0) << judged.err;
  json with = json::parse(judged.out);
  EXPECT_EQ(SchemaErrors(with["fit"], "vt.fit.schema.json"), "");
  EXPECT_EQ(with["fit"]["verdict"], "fits");
  const std::string text = ReadFile(plan);
  const std::string before = text.substr(0, text.rfind('}'));
  EXPECT_EQ(judged.out.substr(0, before.size()), before);
  EXPECT_EQ(judged.out.substr(before.size(), 7), ",\"fit\":");
  // Once more: the verdict is replaced.
  const std::string again = WriteTemp("judged.json", judged.out);
  const Outcome twice = Fit("--json --plan " + Quote(again) + " --budget cpu=1MiB");
  EXPECT_EQ(twice.exit_code, 1);
  EXPECT_EQ(json::parse(twice.out)["fit"]["verdict"], "does_not_fit");
  EXPECT_EQ(twice.out.substr(0, before.size()), before);
  // A plan of another model.
  std::string message;
  EXPECT_EQ(
      Failure("--plan " + Quote(plan) + " --model " + Quote(TinyPath("llama-dense.gguf")), &message)
          .substr(0, 9),
      "2 invalid");
  std::size_t digests = 0;
  for (std::size_t at = 0; (at = message.find("xxh3-128:", at)) != std::string::npos; ++at) {
    ++digests;
  }
  EXPECT_EQ(digests, 2u) << message;
}

// What a run takes at most is never above the verdict's number.
void ExpectRunWithinVerdict(const std::string& path, const std::string& prompt) {
  const std::string flags = " --ctx 512 --ubatch 64 --threads 2";
  const json report = Report("--model " + Quote(path) + flags, 0);
  const json cpu = DeviceOf(report, "cpu");
  Command command;
  command.args = {"-m",  path,       "--json", "-n",        "4", "--ctx",
                  "512", "--ubatch", "64",     "--threads", "2"};
  if (prompt.empty()) {
    std::string ids = "1";
    for (int i = 2; i < 100; ++i) ids += "," + std::to_string(i % 60 + 1);
    command.args.insert(command.args.end(), {"--tokens", ids});
  } else {
    command.args.insert(command.args.end(), {"-p", prompt});
  }
  const Outcome run = RunVt(command);
  ASSERT_EQ(run.exit_code, 0) << path << "\n" << run.err;
  const auto peak = static_cast<std::uint64_t>(run.peak_resident_kib) << 10;
  const std::uint64_t need = cpu["need_bytes"];
  if (!kMeasured) return;
  EXPECT_LE(peak, need) << path;
  EXPECT_LE(peak, need - RowBytes(cpu, "runtime") - RowBytes(cpu, "margin") + (64u << 20)) << path;
}

TEST(FitTool, RunsOfSmallModelsStayWithinTheVerdict) {
  for (const char* name : {"llama-dense.gguf", "gemma4-26b.gguf", "glm-dsa-moe.gguf",
                           "qwen3next-moe.gguf", "gpt-oss-moe.gguf"}) {
    ExpectRunWithinVerdict(TinyPath(name), "");
  }
  ExpectRunWithinVerdict(TinyPath("gemma4-26b-hf"), "");
}

TEST(FitTool, RunsOfRealModelsStayWithinTheVerdict) {
  std::string prompt;
  for (int i = 0; i < 60; ++i) prompt += "Once upon a time there was ";
  for (const std::string name : {"SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf",
                                 "qwen2.5-coder-0.5b-q4_k_m.gguf"}) {
    const auto model = ModelPath(name);
    if (!model) VT_NOT_RUN(name);
    ExpectRunWithinVerdict(*model, prompt);
  }
}

// The page on verdicts shows what the program prints.
TEST(FitTool, TheHowtoShowsRealAnswers) {
  const auto model = ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!model) VT_NOT_RUN("SmolLM2-135M-Instruct.Q4_1.gguf");
  const std::vector<std::string> lines =
      Lines(ReadFile(DataPath("../../docs/howto/read-a-verdict.md")));
  int examples = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("$ vt-fit -m SmolLM2-135M-Instruct.Q4_1.gguf ")) continue;
    ++examples;
    const Outcome outcome = Fit("-m " + Quote(*model) + lines[i].substr(lines[i].find(" --")));
    std::string shown;
    for (++i; i < lines.size() && lines[i] != "```"; ++i) shown += lines[i] + "\n";
    EXPECT_EQ(outcome.out, shown);
  }
  EXPECT_EQ(examples, 3);
}

TEST(FitTool, TheHowtosMapIsReal) {
  const auto model = ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!model) VT_NOT_RUN("SmolLM2-135M-Instruct.Q4_1.gguf");
  const std::string page = ReadFile(DataPath("../../docs/howto/read-a-verdict.md"));
  const std::size_t begin = page.find("$ vt-place ");
  const std::size_t answer = page.find("/p'\n", begin) + 4;
  ASSERT_NE(begin, std::string::npos);
  const std::string command = page.substr(begin + 2, answer - begin - 2);
  const Outcome outcome = RunShell("ln -s " + Quote(*model) + " . && cp " +
                                   Quote(DataPath("../../profiles/sim-small.json")) +
                                   " . && PATH=\"$(dirname \"$VT\"):$PATH\" && " + command);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, page.substr(answer, page.find("```", answer) - answer));
}

TEST(FitTool, PagesNameEveryKeyAndTheirExamplesRun) {
  for (const std::string name : {"vt.fit", "vt.fit-profiles", "vt.calibration"}) {
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
    std::string block;
    for (std::string line : Lines(page)) {
      if (line.starts_with("```")) {
        block = block.empty() ? line : "";
        continue;
      }
      if (block == "```json") {
        EXPECT_EQ(SchemaErrors(json::parse(line), name + ".schema.json"), "") << line;
      }
      if (block != "```sh") continue;
      const auto replace = [&](const std::string& from, const std::string& to) {
        for (std::size_t at = 0; (at = line.find(from, at)) != std::string::npos; at += to.size()) {
          line.replace(at, from.size(), to);
        }
      };
      replace("vt-run ", "\"$VT\" ");
      replace("vt-fit ", kFit);
      replace("model.gguf", Quote(TinyPath("llama-dense.gguf")));
      const Outcome outcome = RunShell(line);
      EXPECT_EQ(outcome.exit_code, 0) << line << "\n" << outcome.err;
      EXPECT_EQ(SchemaErrors(json::parse(outcome.out), name + ".schema.json"), "") << line;
    }
  }
}

}  // namespace
}  // namespace vt::test
