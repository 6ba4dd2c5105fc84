// Every tiny model of the families that vt runs, against somebody else's logits.
#include <gtest/gtest.h>

#include "support/golden.h"
#include "support/model_run.h"
#include "support/test_files.h"

namespace vt {
namespace {

class TinyGolden : public testing::TestWithParam<const char*> {};

EngineOptions Options(const std::string& name) {
  EngineOptions options;
  // The oracle ran with room for 512 positions, which for phi3 selects its long-context factors.
  options.context = name == "phi3-dense" ? 512 : 256;
  options.kv_type = DType::kF32;
  options.threads = 2;
  options.logit_rows = 16;
  return options;
}

TEST_P(TinyGolden, MatchesInPromptAndInOneTokenSteps) {
  const std::string name = GetParam();
  test::LoadedModel model = test::LoadModel(test::TinyPath(name + ".gguf"), Options(name));
  ASSERT_TRUE(model.engine);
  const auto cases = test::ReadGolden(test::TinyPath(name + ".json"));
  ASSERT_EQ(cases.size(), 2u);
  for (const test::GoldenCase& golden : cases) {
    for (const std::size_t chunk : {golden.prompt.size(), std::size_t{7}, std::size_t{1}}) {
      const test::LogitTable rows = test::PromptLogits(*model.engine, golden.prompt, chunk);
      ASSERT_EQ(rows.size(), golden.dense.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        ASSERT_EQ(rows[i].size(), golden.dense[i].size());
        ASSERT_LE(test::Nmse(rows[i], golden.dense[i]), 1e-6)
            << golden.name << " position " << i << " chunk " << chunk;
      }
    }
    const test::Greedy greedy =
        test::RunGreedy(*model.engine, golden.prompt, golden.generated.size());
    ASSERT_EQ(greedy.tokens.size(), golden.generated.size());
    for (std::size_t i = 0; i < golden.generated.size(); ++i) {
      if (golden.margins[i] <= 1e-3 && greedy.tokens[i] != golden.generated[i])
        break;  // a near-tie: texts part
      ASSERT_EQ(greedy.tokens[i], golden.generated[i])
          << golden.name << " step " << i << " margin " << golden.margins[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, TinyGolden,
                         testing::Values("llama-dense", "llama-rope-freqs", "llama-rope-linear",
                                         "qwen2-dense", "qwen2-yarn", "qwen3-dense", "gemma-dense",
                                         "gemma2-dense", "gemma3-dense", "gemma3-rope-linear",
                                         "phi3-dense", "mistral3-dense", "smollm3-dense",
                                         "olmo2-dense", "granite-dense", "stablelm-dense",
                                         "starcoder2-dense", "gpt2-dense", "command-r-dense",
                                         "cohere2-dense", "exaone4-dense"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) {
                             if (c == '-') c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace vt
