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
  ExpectAllSame(checked, 8, 63);
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
  EXPECT_EQ(cases[7]["generated_tokens"].back(), 2) << "<|im_end|>, given as a text";

  ExpectAllSame(ImportAndCheck("vllm", "vllm-offline.json", *model, ""), 1, 8);
}

// llama-server computes in eight bits. At one token it prefers " United" by 0.26, where vt prefers
// " answer" by 0.22, as vLLM does.
TEST(GoldenImport, LlamaServerAnswersAsVtDoesButForANearTie) {
  const auto model = ModelPath(kSmol);
  if (!model) VT_NOT_RUN(kSmol);
  const std::string eight_bits = "--limits kl=0.02,logprob=3,margin=1 --tie 0.5 --allow-ties";
  const Checked own = ImportAndCheck("llama-server", "llama-server.jsonl", *model, eight_bits);
  const Checked openai =
      ImportAndCheck("openai-logprobs", "llama-server-openai.jsonl", *model, eight_bits);
  std::size_t ties = 0;
  for (const Checked* checked : {&own, &openai}) {
    ASSERT_TRUE(checked->report.is_object());
    EXPECT_EQ(checked->report["counts"]["tokens"]["wrong"], 0);
    for (const json& one : checked->report["cases"]) {
      EXPECT_LT(one["mean_kl"], 0.004) << one["name"];
      for (const json& departure : one["departures"]) {
        ++ties;
        EXPECT_EQ(departure["index"], 5);
        EXPECT_EQ(departure["golden"]["text"], " United");
        EXPECT_EQ(departure["ours"]["text"], " answer");
      }
    }
  }
  EXPECT_EQ(ties, 3u) << "text, ids and completions are the same prompt";
  EXPECT_EQ(own.report["counts"]["tokens"]["count"], 42);
  EXPECT_EQ(openai.report["counts"]["tokens"]["count"], 28);

  const json& cases = own.golden["cases"];
  ASSERT_EQ(cases.size(), 6u);
  EXPECT_EQ(cases[0]["prompt_tokens"], cases[2]["prompt_tokens"]);
  EXPECT_EQ(cases[0]["generated_tokens"], cases[2]["generated_tokens"]);
  // A conversation and its text are the same prompt, to the end token.
  const json& chat = openai.golden["cases"][2];
  EXPECT_EQ(chat["prompt_tokens"], cases[1]["prompt_tokens"]);
  EXPECT_EQ(chat["generated_tokens"], cases[1]["generated_tokens"]);
  EXPECT_EQ(chat["generated_tokens"].back(), 2);
}

// Each case is of its own prompt: a conversation under another template has other tokens.
TEST(GoldenImport, AnotherTemplateIsNoticed) {
  const auto model = ModelPath(kSmol);
  if (!model) VT_NOT_RUN(kSmol);
  const std::string other =
      WriteTemp("other.jinja", "{% for m in messages %}{{ m.content }}{% endfor %}");
  const Outcome outcome =
      Golden("import --from openai-logprobs --chat-template " + Quote(other) + " -m " +
             Quote(*model) + " " + Sample("llama-server-openai.jsonl"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("the program counted 25 tokens in the prompt"), std::string::npos)
      << outcome.err;
}

TEST(GoldenImport, AnotherModelsAnswersAreRefused) {
  const std::string tiny = " -m " + Quote(TinyPath("llama-dense.gguf"));
  const Outcome outside = Golden("import --from vllm " + Sample("vllm-offline.json") + tiny);
  EXPECT_EQ(outside.exit_code, 2);
  EXPECT_NE(outside.err.find("/cases/0/prompt_tokens/0"), std::string::npos) << outside.err;
}

}  // namespace
}  // namespace vt::test
