// vt-golden import of what other programs really answered (tests/data/golden-import), and vt's own
// answers to the same prompts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/json_schema.h"
#include "cli/program.h"
#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

constexpr const char* kSmol = "SmolLM2-135M-Instruct.Q4_1.gguf";

std::string Quote(const std::string& path) { return "'" + path + "'"; }
std::string Sample(const std::string& name) { return Quote(DataPath("golden-import/" + name)); }

Outcome Golden(const std::string& arguments) {
  return RunShell("\"$(dirname \"$VT\")/vt-golden\" " + arguments);
}

struct Checked {
  json golden, report;
};

// Imports a sample and checks the model's answers against it.
Checked ImportAndCheck(const std::string& form, const std::string& sample, const std::string& model,
                       const std::string& flags) {
  const std::string path = TempDir() + "/golden.json";
  const Outcome imported = Golden("import --quiet --from " + form + " " + Sample(sample) + " -m " +
                                  Quote(model) + " -o " + Quote(path));
  EXPECT_EQ(imported.exit_code, 0) << sample << "\n" << imported.err;
  if (imported.exit_code != 0) return {};
  Checked checked;
  checked.golden = json::parse(ReadFile(path));
  EXPECT_EQ(SchemaErrors(checked.golden, "vt.golden.schema.json"), "") << sample;
  const Outcome outcome = Golden("check --threads 2 --ctx 256 --json --golden " + Quote(path) +
                                 " -m " + Quote(model) + " " + flags);
  EXPECT_EQ(outcome.exit_code, 0) << sample << "\n" << outcome.err;
  checked.report = json::parse(outcome.out, nullptr, false);
  std::printf("%s: %s", sample.c_str(), outcome.err.c_str());
  return checked;
}

// Every token is vt's own.
void ExpectAllSame(const Checked& checked, std::size_t cases, int tokens) {
  ASSERT_TRUE(checked.report.is_object());
  EXPECT_EQ(checked.report["cases"].size(), cases);
  EXPECT_EQ(checked.report["counts"]["tokens"]["count"], tokens);
  EXPECT_EQ(checked.report["counts"]["tokens"]["same"], tokens);
}

TEST(GoldenImport, TransformersAnswersAsVtDoes) {
  const Checked checked =
      ImportAndCheck("hf", "hf.jsonl", TinyPath("llama-dense.gguf"), "--kv-type f32");
  ExpectAllSame(checked, 2, 8);
  for (const json& one : checked.report["cases"]) {
    EXPECT_LT(one["mean_kl"], 1e-10);
    EXPECT_EQ(one["top_k"]["agreement"], 1);
  }
}

TEST(GoldenImport, VllmAnswersAsVtDoes) {
  const auto model = ModelPath(kSmol);
  if (!model) VT_NOT_RUN(kSmol);
  const Checked checked = ImportAndCheck("vllm", "vllm.jsonl", *model, "");
  ExpectAllSame(checked, 7, 60);
  for (const json& one : checked.report["cases"]) {
    EXPECT_LT(one["mean_kl"], 1e-6) << one["name"];
    EXPECT_EQ(one["top_k"]["agreement"], 1) << one["name"];
  }
  const json& cases = checked.golden["cases"];
  // Ids, texts and an echo say the same.
  for (const int other : {1, 2}) {
    EXPECT_EQ(cases[other]["prompt_tokens"], cases[0]["prompt_tokens"]);
    EXPECT_EQ(cases[other]["generated_tokens"], cases[0]["generated_tokens"]);
    EXPECT_EQ(cases[other]["margins"], cases[0]["margins"]);
  }
  EXPECT_EQ(cases[0]["logits"]["rows"].size(), 5u);
  EXPECT_EQ(cases[2]["logits"]["rows"].size(), 5u);
  EXPECT_EQ(cases[6]["generated_tokens"].back(), 2) << "<|im_end|>, given as a text";

  ExpectAllSame(ImportAndCheck("vllm", "vllm-offline.json", *model, ""), 1, 8);
}

TEST(GoldenImport, AnotherModelsAnswersAreRefused) {
  const std::string tiny = " -m " + Quote(TinyPath("llama-dense.gguf"));
  const Outcome outside = Golden("import --from vllm " + Sample("vllm-offline.json") + tiny);
  EXPECT_EQ(outside.exit_code, 2);
  EXPECT_NE(outside.err.find("/cases/0/prompt_tokens/0"), std::string::npos) << outside.err;
}

}  // namespace
}  // namespace vt::test
