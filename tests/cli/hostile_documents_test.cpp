// Whatever stands in a document that a tool reads, it is read or refused with its place.
#include <functional>
#include <optional>
#include <sstream>

#include "bench/floors.h"
#include "bench/rates_document.h"
#include "caps/caps_document.h"
#include "cli/bench_program.h"
#include "device/profile.h"
#include "formats/model_document.h"
#include "golden/import.h"
#include "place/overhead.h"
#include "place/plan_document.h"
#include "support/json_damage.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::ordered_json;
using Read = std::function<Status(const std::string& text)>;

struct Tally {
  std::size_t read = 0, refused = 0;
};

// Each of the document's values spoilt by turns; of arrays the first `most` alone.
Tally Spoil(const std::string& document, std::size_t most, const Read& read) {
  Tally tally;
  const Status whole = read(document);
  EXPECT_TRUE(whole.ok()) << whole.message() << "\n" << document.substr(0, 2000);
  ForEachDamage(ordered_json::parse(document), most,
                [&](const std::string& where, const std::string& text) {
                  const Status status = read(text);
                  ++(status.ok() ? tally.read : tally.refused);
                  if (status.ok()) return;
                  EXPECT_EQ(status.code(), Code::kInvalid) << where << ": " << status.message();
                  EXPECT_FALSE(status.message().empty()) << where;
                });
  return tally;
}

std::string Printed(const std::string& command) {
  const Outcome outcome = RunShell("cd \"$(dirname \"$VT\")\" && ./" + command);
  EXPECT_EQ(outcome.exit_code, 0) << command << "\n" << outcome.err;
  return outcome.out;
}

std::string Tiny(const char* name) { return "'" + TinyPath(std::string(name) + ".gguf") + "'"; }

TEST(HostileDocuments, OfDevicesAreReadOrRefused) {
  const Tally profile = Spoil(ReadFile(DataPath("../../profiles/strix-halo-gfx1151.json")), 2,
                              [](const std::string& text) { return ParseProfile(text).status(); });
  EXPECT_GT(profile.refused, 100u);
  const Tally caps =
      Spoil(Printed("vt-caps --json --profile rtx-4090"), 1,
            [](const std::string& text) { return ParseCapsDocument(text).status(); });
  EXPECT_GT(caps.refused, 100u);
  const Tally calibration = Spoil(
      R"({"schema":"vt.calibration/1","devices":[{"id":"cpu","name":"x","runtime_bytes":1,"header_bytes":0}]})",
      1, [](const std::string& text) { return ReadCalibration(text, "f").status(); });
  EXPECT_GT(calibration.refused, 20u);
}

TEST(HostileDocuments, OfModelsAndPlansAreReadOrRefused) {
  for (const char* name : {"llama-dense", "deepseek2-moe"}) {
    const Tally model =
        Spoil(Printed("vt-run --describe -m " + Tiny(name)), 2,
              [](const std::string& text) { return ReadModelDocument(text).status(); });
    EXPECT_GT(model.refused, 30u) << name;
  }
  const Tally plan = Spoil(Printed("vt-place --json --ctx 64 -m " + Tiny("qwen3moe-moe")), 1,
                           [](const std::string& text) { return ReadPlanDocument(text).status(); });
  EXPECT_GT(plan.refused, 300u);
}

TEST(HostileDocuments, OfMeasurementsAreReadOrRefused) {
  const Outcome run = RunBenchProgram(QuickRun({}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  Spoil(run.out, 1, [](const std::string& text) { return ParseRates(text).status(); });
  const Tally floors = Spoil(
      R"({"schema":"vt.bench-floors/1","floors":[{"axis":"tg128","value":30,"tolerance":0.05,"machine":"x"}]})",
      1, [](const std::string& text) { return ParseFloors(text).status(); });
  EXPECT_GT(floors.refused, 10u);
}

// What it gives is a golden that the reader takes.
Status ReadBack(const Result<Golden>& golden) {
  if (!golden.ok()) return golden.status();
  JsonWriter json;
  json.BeginObject().Field("schema", kGoldenSchema);
  WriteGoldenBody(*golden, json);
  const Status again = ParseGolden(json.EndObject().Take()).status();
  EXPECT_TRUE(again.ok()) << again.message();
  return {};
}

struct Answers {
  const char* form;
  std::vector<const char*> files;
};

TEST(HostileDocuments, GoldensAndAnswersOfOtherProgramsAreReadOrRefused) {
  const Answers all[] = {{"llama-server", {"llama-server.jsonl"}},
                         {"openai-logprobs", {"llama-server-openai.jsonl"}},
                         {"vllm", {"vllm.jsonl", "vllm-offline.json"}},
                         {"hf", {"hf.jsonl"}}};
  std::optional<GgufFile> file;
  std::optional<Tokenizer> tokenizer;
  if (const auto path = ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf")) {
    file = GgufFile::Open(*path).value();
    tokenizer = Tokenizer::Load(*file).value();
  }
  for (const auto& [form, files] : all) {
    for (const char* name : files) {
      std::istringstream lines(ReadFile(DataPath(std::string("golden-import/") + name)));
      std::string line;
      std::getline(lines, line);
      const bool texts = line.find("prompt_token_ids") == std::string::npos && form[0] != 'h';
      if (texts && !tokenizer) continue;
      const Tally tally = Spoil(line, 1, [&](const std::string& text) {
        return ReadBack(ImportGolden(form, text, tokenizer ? &*tokenizer : nullptr));
      });
      EXPECT_GT(tally.refused, 50u) << name;
    }
  }
  const Tally golden = Spoil(ReadFile(DataPath("tiny-more/exaone-dense.json")), 1,
                             [](const std::string& text) { return ReadBack(ParseGolden(text)); });
  EXPECT_GT(golden.refused, 50u);
}

}  // namespace
}  // namespace vt::test
