// Goldens that others made, checked against the tiny models they are of.
#include "golden/check.h"

#include <cstdio>

#include "golden/invariance.h"
#include "golden/locate.h"
#include "golden/record.h"
#include "golden/report.h"
#include "golden/self_test.h"
#include "golden/support.h"

namespace vt {
namespace {

std::vector<CaseReport> Check(const test::TinyModel& tiny, const Golden& golden) {
  const auto cases = CheckCases(golden, *tiny.model.engine, nullptr, CheckLimits(), {});
  EXPECT_TRUE(cases.ok()) << cases.status().message();
  return cases.ok() ? *cases : std::vector<CaseReport>();
}

TEST(Check, EveryTinyModelThatRuns) {
  std::printf("%-20s %6s %6s %6s  %-9s %-9s %-9s\n", "model", "same", "ties", "wrong", "mean KL",
              "max KL", "NMSE");
  for (const char* name :
       {"llama-dense",      "llama-rope-freqs",   "llama-rope-linear", "qwen2-dense",
        "qwen2-yarn",       "qwen3-dense",        "gemma-dense",       "gemma2-dense",
        "gemma3-dense",     "gemma3-rope-linear", "phi3-dense",        "mistral3-dense",
        "smollm3-dense",    "olmo2-dense",        "granite-dense",     "stablelm-dense",
        "starcoder2-dense", "gpt2-dense",         "command-r-dense",   "cohere2-dense",
        "exaone4-dense"}) {
    const test::TinyModel tiny = test::LoadTiny(name);
    ASSERT_TRUE(tiny.model.engine) << name;
    FileDigests digests(*tiny.model.file);
    const auto same = CompareDigests(tiny.golden.model, digests);
    ASSERT_EQ(same.size(), 1u);
    EXPECT_TRUE(same[0].same()) << name << " " << same[0].model;
    for (const CaseReport& one : Check(tiny, tiny.golden)) {
      std::printf("%-20s %6zu %6zu %6zu  %-9.1e %-9.1e %-9.1e\n", name, one.same, one.ties,
                  one.wrong, one.mean_kl, one.kl.value, one.nmse.value);
      EXPECT_EQ(one.state, CaseState::kSame)
          << name << " " << one.name << ": " << (one.reasons.empty() ? "" : one.reasons[0]);
      EXPECT_EQ(one.same, 16u) << name;
      EXPECT_LE(one.nmse.value, 1e-6) << name;
      EXPECT_EQ(one.nan_count, 0u);
    }
  }
}

TEST(Check, FindsAWrongTokenAndGoesOn) {
  test::TinyModel tiny = test::LoadTiny("qwen3-dense");
  GoldenCase& one = tiny.golden.cases[0];
  one.generated[5] = (one.generated[5] + 1) % 128;
  const std::vector<CaseReport> cases = Check(tiny, tiny.golden);
  EXPECT_EQ(cases[0].state, CaseState::kWrong);
  ASSERT_FALSE(cases[0].departures.empty());
  EXPECT_EQ(cases[0].departures[0].index, 5u);
  EXPECT_EQ(cases[0].departures[0].golden, one.generated[5]);
  EXPECT_EQ(cases[0].same + cases[0].ties + cases[0].wrong, 16u);
  EXPECT_EQ(cases[1].state, CaseState::kSame);
}

TEST(Check, RefusesIdsOutsideTheVocabulary) {
  test::TinyModel tiny = test::LoadTiny("llama-dense");
  tiny.golden.cases[1].prompt[3] = 128;
  const auto cases = CheckCases(tiny.golden, *tiny.model.engine, nullptr, CheckLimits(), {});
  ASSERT_FALSE(cases.ok());
  EXPECT_EQ(cases.status().at(), "/cases/1/prompt_tokens/3");
}

TEST(Check, RefusesAGoldenOfAnotherModel) {
  const test::TinyModel tiny = test::LoadTiny("llama-dense");
  const Golden other = test::MustParse(test::ReadFile(test::TinyPath("qwen2-dense.json")));
  FileDigests digests(*tiny.model.file);
  const Status status = CheckDigests(other.model, CompareDigests(other.model, digests));
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_EQ(status.at(), "/model/sha256");
}

TEST(Record, WhatItRecordsIsTheOraclesAnswer) {
  const test::TinyModel tiny = test::LoadTiny("gemma3-dense");
  std::vector<RecordPrompt> prompts;
  for (const GoldenCase& one : tiny.golden.cases) {
    prompts.push_back({one.name, std::nullopt, one.prompt, one.generated.size()});
  }
  RecordOptions options;
  options.top_k = 20;
  const auto cases = RecordCases(*tiny.model.engine, prompts, options, {});
  ASSERT_TRUE(cases.ok()) << cases.status().message();
  for (std::size_t i = 0; i < cases->size(); ++i) {
    const GoldenCase& got = (*cases)[i];
    const GoldenCase& want = tiny.golden.cases[i];
    EXPECT_EQ(got.generated, want.generated);
    EXPECT_EQ(got.rows.size(), want.prompt.size());
    EXPECT_EQ(got.rows[0].top.size(), 20u);
    EXPECT_EQ(got.generated_rows.size(), want.generated.size() - 1);
    for (std::size_t k = 0; k < want.margins.size(); ++k) {
      EXPECT_NEAR(got.margins[k], want.margins[k], 1e-3);
    }
  }
  Golden golden;
  golden.cases = *cases;
  const Golden again = test::MustParse(test::Written(golden));
  for (const CaseReport& one : Check(tiny, again)) EXPECT_EQ(one.state, CaseState::kSame);
  // An answer ends with its end token.
  options.end_tokens = {(*cases)[0].generated[3]};
  const auto ended = RecordCases(*tiny.model.engine, prompts, options, {});
  ASSERT_TRUE(ended.ok());
  EXPECT_LE((*ended)[0].generated.size(), 4u);
  EXPECT_EQ((*ended)[0].generated.back(), options.end_tokens[0]);
}

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

TEST(Locate, NamesTheFirstOpThatDiffers) {
  OpRecorder ours;
  OpRecorder same;
  OpRecorder other;
  EngineOptions options;
  options.on_op = ours.Hook();
  const test::TinyModel a = test::LoadTiny("llama-dense", options);
  options.on_op = same.Hook();
  options.isa = "scalar";
  const test::TinyModel b = test::LoadTiny("llama-dense", options);
  options.on_op = other.Hook();
  options.kv_type = DType::kBF16;
  const test::TinyModel c = test::LoadTiny("llama-dense", options);
  ASSERT_TRUE(a.model.engine && b.model.engine && c.model.engine);
  const std::vector<TokenId>& tokens = a.golden.cases[0].prompt;
  const auto identical = Locate({a.model.engine.get(), &ours}, {b.model.engine.get(), &same},
                                "short", tokens, 1e-3, {});
  ASSERT_TRUE(identical.ok()) << identical.status().message();
  EXPECT_GT(identical->compared, 100u);
  EXPECT_FALSE(identical->not_identical);
  // Keys and values of fewer bits first tell in the attention of the first layer.
  const auto found = Locate({a.model.engine.get(), &ours}, {c.model.engine.get(), &other}, "short",
                            tokens, 1e-4, {});
  ASSERT_TRUE(found.ok());
  ASSERT_TRUE(found->not_identical && found->above_tolerance);
  EXPECT_EQ(found->not_identical->layer, 0);
  EXPECT_EQ(found->not_identical->op, "attention");
  EXPECT_GT(found->above_tolerance->error, 1e-4);
  EXPECT_EQ(found->layers.size(), a.model.engine->spec().layers.size() + 1);
}

TEST(Invariance, HoldsForATinyModel) {
  const test::TinyModel tiny = test::LoadTiny("gemma2-dense");
  const EngineLoader load = [&](const EngineOptions& options) {
    return Engine::Load(*tiny.model.file, tiny.model.engine->spec(), options);
  };
  const auto report = CheckInvariance(tiny.golden, tiny.model.engine->options(), load, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->variants.size(), 7u);
  for (const VariantReport& one : report->variants) {
    EXPECT_EQ(one.different, 0u) << one.variant;
    EXPECT_GT(one.rows, 0u) << one.variant;
  }
  EXPECT_EQ(report->variants.back().variant, "prefix reuse of 64 positions");
}

// An engine that does depend on the number of threads is found out.
TEST(Invariance, SaysWhatDiffers) {
  const test::TinyModel tiny = test::LoadTiny("llama-dense");
  const EngineLoader load = [&](EngineOptions options) {
    if (options.threads == 1) options.kv_type = DType::kBF16;
    return Engine::Load(*tiny.model.file, tiny.model.engine->spec(), options);
  };
  EngineOptions options = tiny.model.engine->options();
  options.threads = 2;
  const auto report = CheckInvariance(tiny.golden, options, load, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_FALSE(report->same());
  EXPECT_EQ(report->variants[0].variant, "threads 1");
  EXPECT_GT(report->variants[0].different, 0u);
  ASSERT_TRUE(report->variants[0].first);
  EXPECT_NE(report->variants[0].first->expected, report->variants[0].first->got);
  EXPECT_EQ(report->variants[1].different, 0u);
}

}  // namespace
}  // namespace vt
