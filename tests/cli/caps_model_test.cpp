// vt-caps --model: vt.caps-model/1.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "caps/model_header.h"
#include "cli/json_schema.h"
#include "cli/program.h"
#include "support/test_files.h"
#include "support/tiny_models.h"

namespace vt::test {
namespace {

using nlohmann::json;

constexpr const char* kSchema = "vt.caps-model.schema.json";
// Beside vt-run, whose place RunShell knows.
constexpr const char* kCaps = "\"$(dirname \"$VT\")/vt-caps\" ";

std::string Quote(const std::string& path) { return "'" + path + "'"; }
std::string ProfilePath(const std::string& name) { return DataPath("../../profiles/" + name); }

Outcome Caps(const std::string& arguments) { return RunShell(kCaps + arguments); }

// The document of "vt-caps --model ..."; the exit code must be this.
json Report(const std::string& arguments, int exit_code) {
  const Outcome outcome = Caps("--json --model " + arguments);
  EXPECT_EQ(outcome.exit_code, exit_code) << arguments << "\n" << outcome.err;
  const json document = json::parse(outcome.out, nullptr, false);
  if (document.is_discarded()) {
    ADD_FAILURE() << arguments << "\n" << outcome.out;
    return json::object();
  }
  EXPECT_EQ(SchemaErrors(document, kSchema), "") << arguments;
  return document;
}

// Exit code, code and place of a failure.
std::string Failure(const std::string& arguments) {
  const Outcome outcome = Caps("--json --model " + arguments);
  const json error = json::parse(outcome.out, nullptr, false);
  if (error.is_discarded() || !error.contains("code")) return "no error document: " + outcome.out;
  const std::string at = error["at"].is_string() ? error["at"].get<std::string>() : "";
  return std::to_string(outcome.exit_code) + " " + error["code"].get<std::string>() + " " + at;
}

json AnswerOf(const json& group, const std::string& device) {
  for (const json& answer : group["answers"]) {
    if (answer["device"] == device) return answer;
  }
  return nullptr;
}

TEST(CapsModel, GlmWithIq1ExpertsOnStrixHalo) {
  const json report = Report(
      Quote(GlmWithIq1Experts()) + " --profile " + ProfilePath("strix-halo-gfx1151.json"), 1);
  EXPECT_EQ(report["model"]["architecture"], "glm9moe");
  EXPECT_EQ(report["from"], "tensor table");
  int experts = 0;
  for (const json& group : report["ops"]) {
    if (group["op"] != "expert_matmul") continue;
    ++experts;
    EXPECT_EQ(group["type"], "iq1_s");
    EXPECT_EQ(AnswerOf(group, "hip:0")["refusal"], "not_kept") << group;
    EXPECT_EQ(AnswerOf(group, "cpu")["tier"], "native") << group;
  }
  EXPECT_EQ(experts, 2);
  for (const json& device : report["devices"]) {
    EXPECT_EQ(device["described"], true);
    if (device["id"] != "hip:0") continue;
    EXPECT_EQ(device["build"]["configure"], "-DVT_HIP=ON");
    EXPECT_GT(device["missing"], 0);
  }
  EXPECT_EQ(report["tensors"]["left"].size(), 2u);
}

TEST(CapsModel, EveryTinyModelHasAReport) {
  for (const std::string& path : TinyModelPaths()) {
    const Outcome outcome = Caps("--json --device cpu --model " + Quote(path));
    const json report = json::parse(outcome.out);
    EXPECT_EQ(SchemaErrors(report, kSchema), "") << path;
    const bool known = report["from"] == "forward pass";
    EXPECT_EQ(outcome.exit_code, known ? 0 : 1) << path;
    EXPECT_EQ(report["verdict"]["yes"], known) << path;
    if (known) {
      EXPECT_EQ(report["devices"][0]["missing"], 0) << path;
    }
    EXPECT_EQ(report["tensors"]["count"].get<std::size_t>(),
              report["tensors"]["read"].get<std::size_t>() + report["tensors"]["left"].size());
  }
}

TEST(CapsModel, RealModelsFromTheirHeaders) {
  for (const std::string name : {"SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf",
                                 "qwen2.5-coder-0.5b-q4_k_m.gguf"}) {
    const auto model = ModelPath(name);
    if (!model) VT_NOT_RUN(name);
    const json report = Report(Quote(*model) + " --device cpu", 0);
    EXPECT_EQ(report["from"], "forward pass") << name;
    EXPECT_EQ(report["devices"][0]["missing"], 0) << name;
    EXPECT_TRUE(report["tensors"]["left"].empty()) << name;
    EXPECT_EQ(report["options"]["context"], 4096) << name;
  }
}

// The same from the file and from a document that describes it, on every device.
TEST(CapsModel, DocumentsSayWhatFilesSay) {
  const std::string profile = " --profile " + ProfilePath("strix-halo-gfx1151.json");
  for (const std::string& path :
       {TinyPath("llama-dense.gguf"), TinyPath("gemma3-dense.gguf"), TinyPath("gpt2-dense.gguf"),
        TinyPath("gpt-oss-moe.gguf"), GlmWithIq1Experts()}) {
    const std::string document = TempDir() + "/model.json";
    const Outcome described =
        RunShell("\"$VT\" -m " + Quote(path) + " --describe > " + Quote(document));
    ASSERT_EQ(described.exit_code, 0) << described.err;
    const Outcome of_file = Caps("--json --model " + Quote(path) + profile);
    const Outcome of_document = Caps("--json --model " + Quote(document) + profile);
    const Outcome of_stdin =
        RunShell("cat " + Quote(document) + " | " + kCaps + "--json --model -" + profile);
    EXPECT_TRUE(of_file.exit_code == 0 || of_file.exit_code == 1) << of_file.err;
    EXPECT_EQ(of_file.exit_code, of_document.exit_code) << of_document.err;
    EXPECT_EQ(json::parse(of_file.out), json::parse(of_document.out)) << path;
    EXPECT_EQ(of_document.out, of_stdin.out);
  }
}

TEST(CapsModel, ARequiredTierDecidesTheExitCode) {
  const std::string model = Quote(TinyPath("llama-dense.gguf"));
  const std::string strix = " --profile " + ProfilePath("strix-halo-gfx1151.json");
  EXPECT_EQ(Report(model + strix + " --device cpu --require native", 0)["verdict"]["below"], 0);
  EXPECT_EQ(Report(model + strix + " --device cpu --require composed", 0)["verdict"]["below"], 0);
  const json scalar = Report(model + strix + " --device cpu --isa scalar --require native", 1);
  EXPECT_GT(scalar["verdict"]["below"], 0);
  EXPECT_EQ(scalar["verdict"]["require"], "native");
  EXPECT_TRUE(scalar["verdict"]["nowhere"].empty());
  Report(model + strix + " --device cpu --isa scalar", 0);
  // hip lacks ops, the cpu has them all: a run is possible, a required tier on all devices is not.
  Report(model + strix, 0);
  Report(model + strix + " --require composed", 1);
  EXPECT_FALSE(Report(model + strix + " --device hip:0", 1)["verdict"]["nowhere"].empty());
}

TEST(CapsModel, OptionsShapeTheOps) {
  const std::string model = Quote(TinyPath("llama-dense.gguf"));
  const auto types = [&](const std::string& flags, const std::string& op) {
    std::string found;
    const json report = Report(model + " --device cpu" + flags, 0);
    for (const json& group : report["ops"]) {
      if (group["op"] == op && group["type"].is_string()) found = group["type"];
    }
    return found;
  };
  EXPECT_EQ(types("", "kv_store"), "f16");
  EXPECT_EQ(types(" --kv-type bf16", "attention"), "bf16");
  EXPECT_EQ(Report(model + " --ctx 77", 0)["options"]["context"], 77);
  const json quantised = Report(Quote(GlmWithIq1Experts()), 1);
  const json exact = Report(Quote(GlmWithIq1Experts()) + " --exact", 1);
  const auto quantizes = [](const json& report) {
    return std::any_of(report["ops"].begin(), report["ops"].end(),
                       [](const json& group) { return group["op"] == "quantize"; });
  };
  EXPECT_TRUE(quantizes(quantised));
  EXPECT_FALSE(quantizes(exact));
}

TEST(CapsModel, MachinesOfCapsDocuments) {
  const std::string model = Quote(TinyPath("llama-dense.gguf"));
  const std::string profile = ProfilePath("x86-avx2-desktop.json");
  const std::string caps = TempDir() + "/other.json";
  const Outcome made = Caps("--json --profile " + profile + " > " + Quote(caps));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const json of_caps = Report(model + " --caps " + Quote(caps), 0);
  EXPECT_EQ(of_caps["devices"][0]["described"], true);
  EXPECT_EQ(of_caps["ops"], Report(model + " --profile " + profile, 0)["ops"]);
}

TEST(CapsModel, FailuresNameWhatIsWrong) {
  const std::string path = TinyPath("llama-dense.gguf");
  EXPECT_EQ(Failure(Quote(path) + " --device cuda:7"), "2 not_found ");
  EXPECT_EQ(Failure("/no/such.gguf"), "3 corrupt /no/such.gguf");
  std::string bytes = ReadFile(path);
  const std::string cut = WriteTemp("cut.gguf", bytes.substr(0, bytes.size() / 2));
  EXPECT_EQ(Failure(Quote(cut)), "3 corrupt " + cut);
  const std::string odd = WriteTemp("odd.json", "{\"schema\": \"vt.run/1\"}");
  EXPECT_EQ(Failure(Quote(odd)), "2 invalid /schema");
  EXPECT_EQ(Failure(Quote(WriteTemp("no.json", "{"))), "2 invalid ");
  // A llama whose keys were lost on the way.
  const Outcome described = RunVt({"-m", path, "--describe"});
  json document = json::parse(described.out);
  document["metadata"].erase(document["metadata"].begin() + 1, document["metadata"].end());
  const std::string poor = WriteTemp("poor.json", document.dump());
  EXPECT_EQ(Failure(Quote(poor)).substr(0, 9), "3 corrupt");
  document["tensors"][0]["bytes"] = 1;
  EXPECT_EQ(Failure(Quote(WriteTemp("sizes.json", document.dump()))), "2 invalid /tensors/0/bytes");
}

TEST(CapsModel, TheTableFitsATerminal) {
  for (const std::string& path :
       {TinyPath("gemma3-dense.gguf"), TinyPath("mamba2-dense.gguf"), GlmWithIq1Experts()}) {
    const Outcome outcome = Caps("--table --model " + Quote(path) + " --profile " +
                                 ProfilePath("strix-halo-gfx1151.json"));
    EXPECT_NE(outcome.out.find("hip:0: AMD Radeon 8060S"), std::string::npos);
    for (const std::string& line : Lines(outcome.out)) EXPECT_LE(line.size(), 80u) << line;
  }
  const Outcome glm = Caps("--table --model " + Quote(GlmWithIq1Experts()) + " --profile " +
                           ProfilePath("strix-halo-gfx1151.json"));
  EXPECT_NE(glm.out.find("iq1_s weights are not kept on hip:0"), std::string::npos) << glm.out;
  EXPECT_NE(glm.out.find("expert_matmul      iq1_s"), std::string::npos) << glm.out;
}

TEST(CapsModel, TheExamplesOfItsPageRun) {
  const std::string page = ReadFile(DataPath("../../docs/json/vt.caps-model.md"));
  const auto replace = [](std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
    return text;
  };
  bool inside = false;
  int examples = 0;
  for (std::string line : Lines(page)) {
    if (line.starts_with("```")) {
      inside = line == "```sh";
      continue;
    }
    if (!inside) continue;
    ++examples;
    line = replace(line, "vt-run ", "\"$VT\" ");
    line = replace(line, "vt-caps ", kCaps);
    line = replace(line, "model.gguf", Quote(TinyPath("llama-dense.gguf")));
    line = replace(line, "strix-halo-gfx1151.json", ProfilePath("strix-halo-gfx1151.json"));
    const Outcome outcome = RunShell(line);
    EXPECT_EQ(outcome.exit_code, 0) << line << "\n" << outcome.err;
    EXPECT_EQ(SchemaErrors(json::parse(outcome.out), kSchema), "") << line;
  }
  EXPECT_GE(examples, 3);
  // And it names every key.
  const json schema = json::parse(ReadFile(DataPath("../../docs/json/") + kSchema));
  const std::function<void(const json&)> visit = [&](const json& part) {
    if (part.is_object() && part.contains("properties")) {
      for (const auto& [key, unused] : part["properties"].items()) {
        EXPECT_NE(page.find(key), std::string::npos) << "the page does not name " << key;
      }
    }
    if (part.is_structured()) {
      for (const json& member : part) visit(member);
    }
  };
  visit(schema);
}

}  // namespace
}  // namespace vt::test
