// Every tiny model against somebody else's logits.
#include <gtest/gtest.h>

#include "support/golden.h"
#include "support/latent_folder.h"
#include "support/model_run.h"
#include "support/test_files.h"
#include "support/tiny_models.h"

namespace vt {
namespace {

class TinyGolden : public testing::TestWithParam<const char*> {};

EngineOptions Options(const std::string& name) {
  EngineOptions options;
  options.context = test::TinyContext(name);
  options.kv_type = DType::kF32;
  options.threads = 2;
  options.logit_rows = 16;
  return options;
}

void ExpectGolden(const std::string& path, const std::string& name) {
  test::LoadedModel model = test::LoadModel(path, Options(name));
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

TEST_P(TinyGolden, MatchesInPromptAndInOneTokenSteps) {
  const std::string name = GetParam();
  ExpectGolden(test::TinyPath(name + ".gguf"), name);
}

// Hugging Face folders of the same weights, in BF16 and in FP8 with a scale for each row.
TEST(FolderGolden, MatchesItsGgufTwin) {
  for (const std::string name : {"gemma4-26b", "gemma4-e4b"}) {
    ExpectGolden(test::TinyPath(name + "-hf"), name);
  }
}

// Folders of the DeepSeek family, made of the tiny models: their joint matrix of keys and values is
// split, and layers that predict ahead change nothing.
TEST(FolderGolden, LatentModelsMatchTheirGgufTwins) {
  for (const std::string name :
       {"deepseek2-moe", "deepseek2-yarn", "deepseek32-moe", "glm-dsa-moe"}) {
    const Result<GgufFile> twin = GgufFile::Open(test::TinyPath(name + ".gguf"));
    ASSERT_TRUE(twin.ok()) << twin.status().message();
    for (const int ahead : {0, 1}) {
      SCOPED_TRACE(name + ", " + std::to_string(ahead) + " layers ahead");
      const std::string folder = test::TempDir();
      test::LatentFolder(*twin).Write(folder, ahead);
      ExpectGolden(folder, name);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TinyGolden, testing::ValuesIn(test::kTinyModels),
                         [](const auto& param) { return test::TestName(param.param); });

}  // namespace
}  // namespace vt
