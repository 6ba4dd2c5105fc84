// vt-place as a program: plans, and questions to them.
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
constexpr const char* kPlace = "\"$(dirname \"$VT\")/vt-place\" ";
constexpr const char* kSchema = "vt.plan.schema.json";

std::string Quote(const std::string& path) { return "'" + path + "'"; }
std::string Profile(const std::string& name) { return Quote(DataPath("../../profiles/" + name)); }
std::string Tiny() { return Quote(TinyPath("llama-dense.gguf")); }
std::string TinyMoe() { return Quote(TinyPath("gpt-oss-moe.gguf")); }
std::string WithSim() { return " --sim " + Profile("sim-small.json"); }

Outcome Place(const std::string& arguments) { return RunShell(kPlace + arguments); }

json Plan(const std::string& arguments) {
  const Outcome outcome = Place("--json --model " + arguments);
  EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
  const json plan = json::parse(outcome.out, nullptr, false);
  if (plan.is_discarded()) {
    ADD_FAILURE() << arguments << "\n" << outcome.out;
    return json::object();
  }
  EXPECT_EQ(SchemaErrors(plan, kSchema), "") << arguments;
  return plan;
}

// A file with the plan of these arguments.
std::string PlanFile(const std::string& arguments) {
  const std::string path = TempDir() + "/plan.json";
  const Outcome outcome = Place("--model " + arguments + " --quiet -o " + Quote(path));
  EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
  return path;
}

// Exit code, code and place of a failure.
std::string Failure(const std::string& arguments, std::string* message = nullptr) {
  const Outcome outcome = Place(arguments + " --json");
  const json error = json::parse(outcome.out, nullptr, false);
  if (error.is_discarded() || !error.contains("code")) return "no error document: " + outcome.out;
  EXPECT_EQ(SchemaErrors(error, "vt.error.schema.json"), "");
  if (message != nullptr) *message = error["message"].get<std::string>();
  const std::string at = error["at"].is_string() ? error["at"].get<std::string>() : "";
  return std::to_string(outcome.exit_code) + " " + error["code"].get<std::string>() + " " + at;
}

json TensorOf(const json& plan, const std::string& name) {
  for (const json& tensor : plan["tensors"]) {
    if (tensor["name"] == name) return tensor;
  }
  ADD_FAILURE() << name;
  return json::object();
}

void ExpectNarrow(const std::string& text) {
  for (std::string line : Lines(text)) {
    if (line.ends_with('\r')) line.pop_back();
    EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(Place, APlanNamesEveryTensorOnce) {
  for (const char* name : {"llama-dense.gguf", "gpt-oss-moe.gguf", "mamba2-dense.gguf"}) {
    const std::string path = TinyPath(name);
    json plan = Plan(Quote(path) + " --device cpu --ctx 64 --sequences 2 --kv-type bf16");
    EXPECT_EQ(plan["model"]["path"], path);
    EXPECT_EQ(plan["model"]["tensors"], plan["tensors"].size());
    EXPECT_EQ(plan["settings"]["context"], 64);
    EXPECT_EQ(plan["settings"]["sequences"], 2);
    EXPECT_EQ(plan["settings"]["kv_type"], "bf16");
    EXPECT_EQ(plan["devices"].size(), 1u);
    EXPECT_EQ(plan["parts"]["output"], "cpu");
    const json described = json::parse(RunVt({"-m", path, "--describe"}).out);
    ASSERT_EQ(described["tensors"].size(), plan["tensors"].size());
    for (std::size_t i = 0; i < plan["tensors"].size(); ++i) {
      const json& tensor = plan["tensors"][i];
      EXPECT_EQ(tensor["name"], described["tensors"][i]["name"]);
      EXPECT_EQ(tensor["bytes"], described["tensors"][i]["bytes"]);
      EXPECT_TRUE(tensor["reason"].is_string()) << tensor;
    }
    EXPECT_EQ(plan["model"]["digest"], described["model"]["digest"]);
  }
}

TEST(Place, TheSameQuestionHasTheSameAnswer) {
  const std::string arguments =
      "--json --model " + TinyMoe() + WithSim() + " --budget cpu=1GiB,sim:0=64MiB --n-cpu-moe 1";
  const Outcome once = Place(arguments);
  EXPECT_EQ(once.exit_code, 0) << once.err;
  EXPECT_EQ(once.out, Place(arguments).out);
}

TEST(Place, WrongUsage) {
  std::string message;
  EXPECT_EQ(Failure("--model " + Tiny() + " --objektive decode", &message), "2 invalid ");
  EXPECT_NE(message.find("--objective"), std::string::npos) << message;
  EXPECT_EQ(Failure("--ctx 5", &message), "2 invalid ");
  EXPECT_NE(message.find("--model"), std::string::npos) << message;
  EXPECT_EQ(Failure("--model " + Tiny() + " --objective beauty"), "2 invalid ");
  EXPECT_EQ(Failure("--model " + Tiny() + " --ctx 0"), "2 invalid ");
  EXPECT_EQ(Failure("--model " + Tiny() + " --kv-type q9"), "2 invalid ");
  EXPECT_EQ(Failure("--model " + Tiny() + " --budget cpu=12", &message), "2 invalid ");
  EXPECT_NE(message.find("GiB"), std::string::npos) << message;
  EXPECT_EQ(Failure("--model " + Tiny() + " --budget cuda:3=1GiB", &message), "2 invalid ");
  EXPECT_NE(message.find("cuda:3"), std::string::npos) << message;
  EXPECT_EQ(Failure("--model " + Tiny() + " --device cpu,cpu"), "2 invalid ");
  EXPECT_EQ(Failure("--model " + Tiny() + " --device cpu,"), "2 invalid ");
  EXPECT_EQ(Failure("--model " + Tiny() + " --device cuda:7"), "2 not_found ");
  EXPECT_EQ(Failure("--model " + Tiny() + " --cpu-moe --n-cpu-moe 1"), "2 invalid ");
  EXPECT_EQ(Failure("--model " + Tiny() + " --tensor x"), "2 invalid ");
  EXPECT_EQ(Failure("--model - --caps -"), "2 invalid ");
  EXPECT_EQ(Failure("--model " + Tiny() + " --profile strix-hallo-gfx1151", &message),
            "2 not_found ");
  EXPECT_NE(message.find("strix-halo-gfx1151"), std::string::npos) << message;
  EXPECT_EQ(Failure("diff a.json"), "2 invalid ");
  EXPECT_EQ(Failure("explain"), "2 invalid ");
  EXPECT_EQ(Failure("explain a.json"), "2 invalid ");
  EXPECT_EQ(Failure("show a.json --ctx 4"), "2 invalid ");
  EXPECT_EQ(Failure("diff - -"), "2 invalid ");
}

TEST(Place, ModelsThatCannotBeRead) {
  EXPECT_EQ(Failure("--model /no/such.gguf"), "3 corrupt /no/such.gguf");
  const std::string bytes = ReadFile(TinyPath("llama-dense.gguf"));
  const std::string cut = WriteTemp("cut.gguf", bytes.substr(0, bytes.size() / 2));
  EXPECT_EQ(Failure("--model " + Quote(cut)), "3 corrupt " + cut);
  EXPECT_EQ(Failure("--model " + Quote(WriteTemp("no.json", "{"))), "2 invalid ");
  const std::string unknown = TempDir() + "/unknown.gguf";
  HeaderOf("unknown-arch").WriteSparse(unknown);
  EXPECT_EQ(Failure("--model " + Quote(unknown)).substr(0, 13), "4 unsupported");
}

TEST(Place, PinsPutTensorsOnTheirDevice) {
  json plan = Plan(Tiny() + WithSim() + " --pin 'ffn_down=sim:0' --pin 'attn_q\\.=cpu'");
  int down = 0;
  for (const json& tensor : plan["tensors"]) {
    const std::string name = tensor["name"];
    if (name.find("ffn_down.weight") != std::string::npos) {
      ++down;
      EXPECT_EQ(tensor["device"], "sim:0") << tensor;
      EXPECT_NE(tensor["reason"].get<std::string>().find("ffn_down"), std::string::npos) << tensor;
    }
    if (name.find("attn_q.weight") != std::string::npos) {
      EXPECT_EQ(tensor["device"], "cpu") << tensor;
    }
  }
  EXPECT_GT(down, 0);
  EXPECT_EQ(plan["request"]["pins"], json({"ffn_down=sim:0", "attn_q\\.=cpu"}));
  json experts = Plan(TinyMoe() + WithSim() + " --cpu-moe");
  for (const json& layer : experts["parts"]["layers"]) EXPECT_EQ(layer["experts"], "cpu");
}

TEST(Place, PinsThatAreWrong) {
  std::string message;
  EXPECT_EQ(Failure("--model " + Tiny() + " --pin ffn_down"), "2 invalid ");
  EXPECT_EQ(Failure("--model " + Tiny() + " --pin 'ffn_down=cuda:0'", &message).substr(0, 2), "2 ");
  EXPECT_NE(message.find("cuda:0"), std::string::npos) << message;
  EXPECT_EQ(Failure("--model " + Tiny() + " --pin 'ffn_(down=cpu'").substr(0, 9), "2 invalid");
  EXPECT_EQ(Failure("--model " + Tiny() + " --pin 'blk.0.ffn_dwn.weight=cpu'", &message),
            "2 invalid ");
  EXPECT_NE(message.find("blk.0.ffn_down.weight"), std::string::npos) << message;
  EXPECT_EQ(Failure("--model " + Tiny() + WithSim() +
                    " --pin 'ffn_down=cpu' --pin 'blk\\.0\\.ffn_down=sim:0'")
                .substr(0, 9),
            "2 invalid");
}

// Pins are planned around; where they cannot be met the answer is no, with what is missing.
TEST(Place, WhatDoesNotFitIsANo) {
  std::string message;
  EXPECT_EQ(Failure("--model " + Tiny() + " --device cpu --budget cpu=1KiB", &message), "1 no ");
  EXPECT_NE(message.find("cpu"), std::string::npos) << message;
  EXPECT_EQ(Failure("--model " + Tiny() + WithSim() +
                        " --budget cpu=8GiB,sim:0=2KiB --pin 'ffn_down=sim:0'",
                    &message),
            "1 no ");
  EXPECT_NE(message.find("ffn_down=sim:0"), std::string::npos) << message;
  EXPECT_NE(message.find("sim:0"), std::string::npos) << message;
}

TEST(Place, ADocumentGivesThePlanOfItsFile) {
  const std::string path = TinyPath("gpt-oss-moe.gguf");
  const std::string flags = " --device cpu --ctx 128 --json";
  const Outcome of_file = Place("--model " + Quote(path) + flags);
  const Outcome of_document =
      RunShell("\"$VT\" -m " + Quote(path) + " --describe | " + kPlace + "--model -" + flags);
  ASSERT_EQ(of_document.exit_code, 0) << of_document.err;
  const json a = json::parse(of_file.out), b = json::parse(of_document.out);
  for (const char* key : {"settings", "devices", "parts", "tensors", "kv", "prediction"}) {
    EXPECT_EQ(a[key], b[key]) << key;
  }
  EXPECT_EQ(a["model"]["digest"], b["model"]["digest"]);
}

TEST(Place, MachinesThatAreNotHere) {
  json plan = Plan(Tiny() + " --profile strix-halo-gfx1151 --device hip:0,cpu");
  EXPECT_EQ(plan["devices"][0]["kind"], plan["devices"][0]["id"] == "cpu" ? "cpu" : "hip");
  const std::string caps = TempDir() + "/caps.json";
  const Outcome made =
      RunShell("\"$CAPS\" --json --profile " + Profile("rtx-4090.json") + " > " + Quote(caps));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  json of_caps = Plan(Tiny() + " --caps " + Quote(caps));
  json of_profile = Plan(Tiny() + " --profile " + Profile("rtx-4090.json"));
  EXPECT_EQ(of_caps["tensors"], of_profile["tensors"]);
}

TEST(PlaceExplain, SaysWhyATensorLiesWhereItDoes) {
  const std::string plan = PlanFile(Tiny() + WithSim() + " --pin 'blk.1.ffn_up=sim:0'");
  const Outcome outcome = Place("explain " + Quote(plan) + " --json --tensor blk.1.ffn_up.weight");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json answer = json::parse(outcome.out);
  EXPECT_EQ(SchemaErrors(answer, "vt.plan-tensor.schema.json"), "");
  const json document = json::parse(ReadFile(plan));
  EXPECT_EQ(answer["plan"], document["hash"]);
  const json tensor = TensorOf(document, "blk.1.ffn_up.weight");
  for (const char* key : {"name", "type", "bytes", "device", "held", "read_by", "reason"}) {
    EXPECT_EQ(answer[key], tensor[key]) << key;
  }
  EXPECT_EQ(answer["device"], "sim:0");
  EXPECT_EQ(answer["parts"], json({"ffn of layer 1"}));
  const Outcome table = RunShell("cat " + Quote(plan) + " | " + kPlace +
                                 "explain - --table --tensor output_norm.weight");
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_NE(table.out.find("read as f32 values by output_norm"), std::string::npos) << table.out;
  ExpectNarrow(table.out);
}

TEST(PlaceExplain, AnUnknownTensorHasNearNames) {
  const std::string plan = PlanFile(Tiny() + " --device cpu");
  std::string message;
  EXPECT_EQ(Failure("explain " + Quote(plan) + " --tensor blk.0.attn_qq.weight", &message),
            "2 not_found ");
  EXPECT_NE(message.find("blk.0.attn_q.weight"), std::string::npos) << message;
  EXPECT_EQ(Failure("explain " + Quote(plan) + " --tensor zzz"), "2 not_found ");
}

TEST(PlaceDiff, SaysWhatMoved) {
  const std::string a = PlanFile(Tiny() + " --device cpu --ctx 600");
  const Outcome same = Place("diff --json " + Quote(a) + " " + Quote(a));
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_TRUE(json::parse(same.out)["same"].get<bool>());
  const std::string b =
      PlanFile(Tiny() + WithSim() + " --ctx 700 --pin 'ffn_gate=sim:0' --pin 'attn_=cpu'");
  const Outcome differs = Place("diff --json " + Quote(a) + " " + Quote(b));
  EXPECT_EQ(differs.exit_code, 1) << differs.err;
  const json diff = json::parse(differs.out);
  EXPECT_EQ(SchemaErrors(diff, "vt.plan-diff.schema.json"), "");
  EXPECT_FALSE(diff["same"].get<bool>());
  ASSERT_EQ(diff["settings"].size(), 1u) << diff["settings"];
  EXPECT_EQ(diff["settings"][0], json({{"name", "context"}, {"a", "600"}, {"b", "700"}}));
  const json of_b = json::parse(ReadFile(b));
  std::size_t moved = 0;
  for (const json& tensor : of_b["tensors"]) moved += tensor["device"] == "sim:0" ? 1 : 0;
  EXPECT_EQ(diff["tensors"].size(), moved);
  for (const json& tensor : diff["tensors"]) {
    EXPECT_EQ(tensor["a"], json({{"device", "cpu"}, {"held", "kept"}}));
    EXPECT_EQ(tensor["b"]["device"], "sim:0");
  }
  const Outcome table = Place("diff --table " + Quote(a) + " " + Quote(b));
  EXPECT_EQ(table.exit_code, 1);
  EXPECT_NE(table.out.find("cpu -> sim:0"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("600 -> 700"), std::string::npos) << table.out;
  ExpectNarrow(table.out);
}

TEST(PlaceShow, DrawsTheMemoryMap) {
  const std::string plan =
      PlanFile(TinyMoe() + WithSim() + " --n-cpu-moe 1 --budget cpu=2GiB --pin 'attn_=sim:0'");
  const std::string svg = TempDir() + "/map.svg";
  const Outcome table = Place("show --table " + Quote(plan) + " --svg " + Quote(svg));
  EXPECT_EQ(table.exit_code, 0) << table.err;
  for (const char* part : {"cpu", "sim:0", "weights.kept", "kv.full", "activations", "#", "in all",
                           "budget 2.00 GiB", "parts", "layer", "decode", "--n-cpu-moe 1"}) {
    EXPECT_NE(table.out.find(part), std::string::npos) << part << "\n" << table.out;
  }
  ExpectNarrow(table.out);
  const std::string picture = ReadFile(svg);
  EXPECT_TRUE(picture.starts_with("<svg ")) << picture;
  EXPECT_TRUE(picture.ends_with("</svg>\n"));
  for (const char* part : {"sim:0", "kv.full", "budget"}) {
    EXPECT_NE(picture.find(part), std::string::npos) << part;
  }
  // Passed on as it is.
  const Outcome piped = RunShell("cat " + Quote(plan) + " | " + kPlace + "show -");
  EXPECT_EQ(piped.out, ReadFile(plan));
}

TEST(PlaceShow, PlansThatAreRefused) {
  const std::string plan = PlanFile(Tiny() + " --device cpu");
  const std::string text = ReadFile(plan);
  const auto changed = [&](const std::function<void(json&)>& change) {
    json document = json::parse(text);
    change(document);
    return Quote(WriteTemp("changed.json", document.dump()));
  };
  EXPECT_EQ(Failure("show " + changed([](json& j) { j["schema"] = "vt.plan/2"; })),
            "2 invalid /schema");
  EXPECT_EQ(Failure("show " + changed([](json& j) { j["settings"]["context"] = 9; })),
            "2 invalid /hash");
  EXPECT_EQ(Failure("explain --tensor x " +
                    changed([](json& j) { j["tensors"][0]["device"] = "hip:4"; })),
            "2 invalid /tensors/0/device");
  EXPECT_EQ(Failure("diff " + Quote(plan) + " /no/such.json"), "2 not_found ");
  EXPECT_EQ(Failure("show " + Quote(TinyPath("llama-dense.gguf"))).substr(0, 9), "2 invalid");
}

// What vt-place and vt-fit say of the context that they chose, and what holds of it.
TEST(PlaceContext, AutoIsTheLargestThatFits) {
  const std::string asked = Tiny() + WithSim() + WithSim() +
                            " --device sim:0,sim:1 --budget sim:0=215KiB,sim:1=215KiB --ubatch 16";
  const Outcome outcome = Place("--json --model " + asked + " --ctx auto");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, Place("--json --model " + asked + " --ctx auto").out);
  const json plan = json::parse(outcome.out);
  EXPECT_EQ(SchemaErrors(plan, kSchema), "");
  const json chosen = plan["chosen_context"];
  const std::uint64_t to = chosen["to"];
  EXPECT_EQ(chosen["from"], 256);
  EXPECT_EQ(plan["settings"]["context"], to);
  EXPECT_LT(to, 256u);
  EXPECT_EQ(to % 64, 0u);
  const std::string why = chosen["why"];
  EXPECT_TRUE(why.starts_with("at 256 the nearest placement needs ")) << why;
  const std::string told = "context reduced from 256 to " + std::to_string(to) + ": " + why;
  EXPECT_EQ(outcome.err, "vt-place: note: " + told + "\n");
  EXPECT_EQ(Place("--quiet --json --model " + asked + " --ctx auto").err, "");

  // The plan of that number, which says nothing of a choice.
  json same = Plan(asked + " --ctx " + std::to_string(to));
  EXPECT_TRUE(same["chosen_context"].is_null());
  for (const auto& [key, value] : same.items()) {
    if (key == "hash" || key == "chosen_context") continue;
    EXPECT_EQ(value, plan[key]) << key;
  }
  // vt-fit lets it through; a block more has no plan.
  const Outcome passed = RunShell(kPlace + ("--model " + asked) + " --ctx auto --quiet" +
                                  " | \"$(dirname \"$VT\")/vt-fit\" - --json");
  EXPECT_EQ(passed.exit_code, 0) << passed.err;
  const json judged = json::parse(passed.out);
  EXPECT_EQ(judged["fit"]["verdict"], "fits");
  EXPECT_EQ(judged["chosen_context"], chosen);
  EXPECT_EQ(Failure("--model " + asked + " --ctx " + std::to_string(to + 64)), "1 no ");

  const Outcome table = Place("--table --model " + asked + " --ctx auto");
  EXPECT_EQ(table.err, "");
  EXPECT_NE(table.out.find("context reduced from 256 to " + std::to_string(to)), std::string::npos)
      << table.out;
  ExpectNarrow(table.out);
}

TEST(PlaceContext, AutoTakesTheTrainedContextWhereItFits) {
  const json plan = Plan(Tiny() + " --device cpu --budget cpu=1GiB --ctx auto");
  EXPECT_EQ(plan["chosen_context"], json({{"from", 256}, {"to", 256}, {"why", nullptr}}));
  EXPECT_EQ(plan["settings"]["context"], 256);
}

TEST(PlaceContext, AutoIsRefusedWhereNothingFits) {
  std::string message, of_one_block;
  const std::string asked = "--model " + Tiny() + " --device cpu --budget cpu=1KiB --ctx ";
  EXPECT_EQ(Failure(asked + "auto", &message), "1 no ");
  EXPECT_EQ(Failure(asked + "64", &of_one_block), "1 no ");
  EXPECT_EQ(message, of_one_block);
  EXPECT_EQ(Failure("--model " + Tiny() + " --ctx automatic"), "2 invalid ");
}

TEST(Place, ATableAtATerminal) {
  Command command;
  command.program = std::string(VT_RUN_BINARY);
  command.program.replace(command.program.rfind("vt-run"), 6, "vt-place");
  command.args = {"--model", TinyPath("gpt-oss-moe.gguf"),
                  "--sim",   DataPath("../../profiles/sim-small.json"),
                  "--pin",   "ffn_.*_exps=sim:0"};
  command.terminal = true;
  command.stdout_terminal = true;
  const Outcome outcome = RunVt(command);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("in all"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("\"schema\""), std::string::npos);
  ExpectNarrow(outcome.err);
}

TEST(Place, AReaderThatGoesAwayIsNoError) {
  const Outcome outcome =
      RunShell("( " + std::string(kPlace) + "--json --model " + Tiny() +
               " --device cpu; echo $? > code ) | head -c 20 > /dev/null; cat code");
  EXPECT_EQ(outcome.out, "0\n") << outcome.err;
  EXPECT_EQ(outcome.err, "");
}

TEST(Place, ThePlanGoesToAFileWhole) {
  const std::string folder = TempDir();
  const Outcome outcome =
      Place("--model " + Tiny() + " --device cpu --json -o " + Quote(folder + "/plan.json"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, ReadFile(folder + "/plan.json"));
  EXPECT_EQ(Failure("--model " + Tiny() + " -o /no/such/folder/plan.json").substr(0, 2), "2 ");
}

TEST(Place, HelpAndVersion) {
  const Outcome help = Place("--help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* part : {"explain", "diff", "show", "--pin", "--objective"}) {
    EXPECT_NE(help.out.find(part), std::string::npos) << part;
  }
  ExpectNarrow(help.out);
  EXPECT_EQ(Place("explain --help").out, help.out);
  EXPECT_TRUE(Place("--version").out.starts_with("vt-place "));
}

TEST(PlaceDocs, TheExamplesOfThePagesRun) {
  const auto replace = [](std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
    return text;
  };
  int examples = 0;
  for (const char* name : {"vt.plan.md", "vt.plan-diff.md"}) {
    bool inside = false;
    for (std::string line : Lines(ReadFile(DataPath(std::string("../../docs/json/") + name)))) {
      if (line.starts_with("```")) {
        inside = line == "```sh";
        continue;
      }
      if (!inside) continue;
      ++examples;
      line = replace(line, "vt-place ", kPlace);
      line = replace(line, "model.gguf", Tiny());
      const Outcome outcome = RunShell(line);
      EXPECT_EQ(outcome.exit_code, 0) << line << "\n" << outcome.err;
      const std::vector<std::string> lines = Lines(outcome.out);
      ASSERT_FALSE(lines.empty()) << line;
      const json document = json::parse(lines.back(), nullptr, false);
      ASSERT_FALSE(document.is_discarded()) << outcome.out;
      std::string schema = document["schema"];
      schema = schema.substr(0, schema.find('/')) + ".schema.json";
      EXPECT_EQ(SchemaErrors(document, schema), "") << line;
    }
  }
  EXPECT_EQ(examples, 7);
}

TEST(PlaceDocs, ThePagesNameEveryKey) {
  for (const auto& [page, schema] : {std::pair("vt.plan.md", "vt.plan.schema.json"),
                                     {"vt.plan.md", "vt.plan-tensor.schema.json"},
                                     {"vt.plan-diff.md", "vt.plan-diff.schema.json"}}) {
    const std::string text = ReadFile(DataPath(std::string("../../docs/json/") + page));
    const json root = json::parse(ReadFile(DataPath(std::string("../../docs/json/") + schema)));
    const std::function<void(const json&)> visit = [&](const json& part) {
      if (part.is_object() && part.contains("properties")) {
        for (const auto& [key, unused] : part["properties"].items()) {
          EXPECT_NE(text.find(key), std::string::npos) << page << " does not name " << key;
        }
      }
      if (part.is_structured()) {
        for (const json& member : part) visit(member);
      }
    };
    visit(root);
  }
}

}  // namespace
}  // namespace vt::test
