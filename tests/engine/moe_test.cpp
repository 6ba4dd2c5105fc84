// A mixture of experts in steps of every width, and the scale of an expert.
#include <gtest/gtest.h>

#include <cstring>

#include "ops/expert_geglu.h"
#include "support/golden.h"
#include "support/model_run.h"
#include "support/test_files.h"

namespace vt {
namespace {

EngineOptions Options() {
  EngineOptions options;
  options.context = 160;
  options.kv_type = DType::kF32;
  options.threads = 2;
  options.logit_rows = 130;
  options.ubatch = 130;
  return options;
}

// Tokens of no meaning, the same each time.
std::vector<TokenId> Tokens(std::size_t count) {
  std::vector<TokenId> tokens(count);
  for (std::size_t i = 0; i < count; ++i)
    tokens[i] = static_cast<TokenId>(3 + (i * 37 + i / 5) % 120);
  return tokens;
}

void ExpectSameBits(const test::LogitTable& a, const test::LogitTable& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size());
    ASSERT_EQ(std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)), 0)
        << what << ", position " << i;
  }
}

// One path serves few rows, another many: what a token gets must not depend on which.
TEST(Moe, EveryWidthGivesTheSameBits) {
  for (const std::string name : {"qwen3moe-moe", "gemma4-26b", "llama4-moe", "gpt-oss-moe"}) {
    test::LoadedModel model = test::LoadModel(test::TinyPath(name + ".gguf"), Options());
    ASSERT_TRUE(model.engine) << name;
    const std::vector<TokenId> tokens = Tokens(130);
    const test::LogitTable one_by_one = test::PromptLogits(*model.engine, tokens, 1);
    for (const std::size_t width : {2, 62, 63, 64, 65, 130}) {
      ExpectSameBits(test::PromptLogits(*model.engine, tokens, width), one_by_one,
                     name + " in steps of " + std::to_string(width));
    }
  }
}

TEST(Moe, TheWidthsOfTheTwoPathsMeet) {
  EXPECT_EQ(kMostIndexedRows + 1, kFewestGroupedRows);
  EXPECT_EQ(kFewestGroupedRows, 64);
}

}  // namespace
}  // namespace vt
