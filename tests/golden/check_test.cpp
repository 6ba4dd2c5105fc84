// Goldens that others made, checked against the tiny models they are of.
#include "golden/check.h"

#include <cstdio>

#include "golden/invariance.h"
#include "golden/record.h"
#include "golden/support.h"
#include "support/tiny_models.h"

namespace vt {
namespace {

std::vector<CaseReport> Check(const test::TinyModel& tiny, const Golden& golden) {
  const auto cases = CheckCases(golden, *tiny.model.engine, nullptr, CheckLimits(), {});
  EXPECT_TRUE(cases.ok()) << cases.status().message();
  return cases.ok() ? *cases : std::vector<CaseReport>();
}

// Whether all cases are as the oracle says, with a line in the log.
bool IsGreen(const std::string& name, const test::TinyModel& tiny) {
  bool green = true;
  for (const CaseReport& one : Check(tiny, tiny.golden)) {
    std::printf("%-20s %6zu %6zu %6zu  %-9.1e %-9.1e %-9.1e\n", name.c_str(), one.same, one.ties,
                one.wrong, one.mean_kl, one.kl.value, one.nmse.value);
    EXPECT_EQ(one.state, CaseState::kSame)
        << name << " " << one.name << ": " << (one.reasons.empty() ? "" : one.reasons[0]);
    EXPECT_EQ(one.same, one.tokens) << name;
    EXPECT_GE(one.tokens, 16u) << name;
    EXPECT_LE(one.nmse.value, 1e-6) << name;
    EXPECT_EQ(one.nan_count, 0u);
    green = green && one.state == CaseState::kSame;
  }
  return green;
}

TEST(Check, EveryTinyModelAndFolder) {
  std::printf("%-20s %6s %6s %6s  %-9s %-9s %-9s\n", "model", "same", "ties", "wrong", "mean KL",
              "max KL", "NMSE");
  std::size_t green = 0;
  std::size_t all = 0;
  std::size_t more_green = 0;
  std::size_t more = 0;
  for (const std::string name : test::kTinyModels) {
    const bool archived = all < test::kTinyArchived;
    ++(archived ? all : more);
    const test::TinyModel tiny = test::LoadTiny(name);
    ASSERT_TRUE(tiny.model.engine) << name;
    FileDigests digests(*tiny.model.file);
    const auto same = CompareDigests(tiny.golden.model, digests);
    ASSERT_EQ(same.size(), 1u);
    EXPECT_TRUE(same[0].same()) << name << " " << same[0].model;
    if (IsGreen(name, tiny)) ++(archived ? green : more_green);
  }
  // Folders of the same weights: files of their own, which only --any-digest lets through.
  for (const std::string name : {"gemma4-26b", "gemma4-e4b"}) {
    ++all;
    const test::TinyModel tiny = test::LoadTiny(name, test::LikeTheOracle(), name + "-hf");
    ASSERT_TRUE(tiny.model.engine) << name;
    FileDigests digests(*tiny.model.file);
    EXPECT_EQ(CheckDigests(tiny.golden.model, CompareDigests(tiny.golden.model, digests)).code(),
              Code::kInvalid);
    green += IsGreen(name + "-hf", tiny) ? 1 : 0;
  }
  std::printf("vt-golden check over 63 tiny models and 2 folders: %zu/%zu\n", green, all);
  std::printf("and over those of tests/data/tiny-more: %zu/%zu\n", more_green, more);
  EXPECT_EQ(all, 65u);
  EXPECT_EQ(all + more, std::size(test::kTinyModels) + 2);
  EXPECT_EQ(green, all);
  EXPECT_EQ(more_green, more);
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
