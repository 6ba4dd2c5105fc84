// Damage that a check must notice.
#include "golden/self_test.h"

#include <algorithm>
#include <cstdio>

#include "golden/support.h"

namespace vt {
namespace {

TEST(SelfTest, NoticesEveryKindOfDamage) {
  const test::TinyModel tiny = test::LoadTiny("qwen2-dense");
  SelfTestOptions options;
  options.engine = tiny.model.engine->options();
  const auto rows = SelfTest(tiny.golden, *tiny.model.file, options, test::TempDir());
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  std::size_t of_model = 0;
  for (const SelfTestRow& row : *rows) {
    std::printf("  %-7s %s: %.60s\n", row.noticed ? "noticed" : "MISSED", row.what.c_str(),
                row.how.c_str());
    EXPECT_TRUE(row.noticed) << row.what;
    of_model += row.target == "model" ? 1 : 0;
  }
  EXPECT_GE(rows->size(), 25u);
  EXPECT_GE(of_model, 5u);
}

// Limits that let everything through are what a gate must not have; the self-test says so.
TEST(SelfTest, SaysWhatLooseLimitsMiss) {
  const test::TinyModel tiny = test::LoadTiny("qwen2-dense");
  SelfTestOptions options;
  options.engine = tiny.model.engine->options();
  options.limits = {.kl = 1e9, .logprob = 1e9, .margin = 1e9, .nmse = 1e9};
  const auto rows = SelfTest(tiny.golden, *tiny.model.file, options, test::TempDir());
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  const auto missed = std::count_if(rows->begin(), rows->end(),
                                    [](const SelfTestRow& row) { return !row.noticed; });
  EXPECT_GE(missed, 4);
}

TEST(SelfTest, ShowsNothingWithAGoldenThatFails) {
  test::TinyModel tiny = test::LoadTiny("qwen2-dense");
  tiny.golden.cases[0].generated[0] ^= 1;
  SelfTestOptions options;
  options.engine = tiny.model.engine->options();
  EXPECT_EQ(SelfTest(tiny.golden, *tiny.model.file, options, test::TempDir()).status().code(),
            Code::kInvalid);
}

// A model with a scale for each expert, and a golden that knows what its layers left.
TEST(SelfTest, SpoilsCheckpointsExpertsAndTheirScales) {
  const test::TinyModel tiny = test::LoadTiny("gemma4-26b");
  SelfTestOptions options;
  options.engine = tiny.model.engine->options();
  const Golden golden = test::RecordedWithCheckpoints("gemma4-26b", {2});
  const auto rows = SelfTest(golden, *tiny.model.file, options, test::TempDir());
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  std::size_t of_checkpoints = 0;
  std::size_t of_scales = 0;
  for (const SelfTestRow& row : *rows) {
    std::printf("  %-7s %s: %.90s\n", row.noticed ? "noticed" : "MISSED", row.what.c_str(),
                row.how.c_str());
    EXPECT_TRUE(row.noticed) << row.what;
    of_checkpoints += row.what.starts_with("checkpoint") ? 1 : 0;
    of_scales += row.what.find("ffn_down_exps.scale") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(of_checkpoints, 6u);
  // Layer 0 has no checkpoint, so what a norm hides there is not tried.
  EXPECT_EQ(of_scales, 2u);
}

TEST(SelfTest, TriplesTheScalesOfALayerWithACheckpoint) {
  const test::TinyModel tiny = test::LoadTiny("gemma4-26b");
  SelfTestOptions options;
  options.engine = tiny.model.engine->options();
  const Golden golden = test::RecordedWithCheckpoints("gemma4-26b", {0});
  const auto rows = SelfTest(golden, *tiny.model.file, options, test::TempDir());
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  const auto tripled = std::find_if(rows->begin(), rows->end(), [](const SelfTestRow& row) {
    return row.what.find("tripled") != std::string::npos;
  });
  ASSERT_NE(tripled, rows->end());
  EXPECT_TRUE(tripled->noticed);
  EXPECT_NE(tripled->how.find("the sum of experts of layer 0 is off by 2"), std::string::npos)
      << tripled->how;
}

// A folder is spoilt in its own files.
TEST(SelfTest, WorksOnAFolder) {
  const test::TinyModel tiny = test::LoadTiny("gemma4-26b", test::LikeTheOracle(), "gemma4-26b-hf");
  ASSERT_TRUE(tiny.model.engine);
  SelfTestOptions options;
  options.engine = tiny.model.engine->options();
  options.any_digest = true;
  const auto rows = SelfTest(tiny.golden, *tiny.model.file, options, test::TempDir());
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  std::size_t of_model = 0;
  for (const SelfTestRow& row : *rows) {
    EXPECT_TRUE(row.noticed) << row.what;
    of_model += row.target == "model" ? 1 : 0;
    if (row.target == "model") std::printf("  %s\n", row.what.c_str());
  }
  EXPECT_GE(of_model, 8u);
}

}  // namespace
}  // namespace vt
