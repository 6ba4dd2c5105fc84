// Verdicts and distances, against numbers worked out by hand.
#include "golden/compare.h"

#include <cmath>
#include <limits>

#include "golden/diff.h"
#include "golden/report.h"
#include "golden/support.h"

namespace vt {
namespace {

GoldenRow Dense(std::vector<float> logits) {
  GoldenRow row;
  row.lse = LogSumExp(logits);
  row.dense = std::move(logits);
  return row;
}

TEST(CompareRow, DenseDistances) {
  // p = (1/2, 1/4, 1/4), q = (1/4, 1/2, 1/4): KL = 1/2 ln 2 - 1/4 ln 2.
  const auto ln = [](double p) { return static_cast<float>(std::log(p)); };
  const std::vector<float> q = {ln(0.25), ln(0.5), ln(0.25)};
  const RowDistance off = CompareRow(Dense({ln(0.5), ln(0.25), ln(0.25)}), q);
  EXPECT_NEAR(off.kl, 0.25 * std::log(2), 1e-6);
  EXPECT_NEAR(off.logprob, std::log(2), 1e-6);
  EXPECT_EQ(off.nans, 0u);
  EXPECT_EQ(off.top_k_hits, 3u);
  const double power = std::pow(std::log(0.5), 2) + 2 * std::pow(std::log(0.25), 2);
  EXPECT_NEAR(off.nmse, 2 * std::pow(std::log(2), 2) / power, 1e-6);
}

TEST(CompareRow, WhatTheListLeavesOutIsOneOutcome) {
  GoldenRow golden;
  golden.lse = 0;
  golden.top = {{2, std::log(0.6)}};
  const std::vector<float> q(4, 0.0f);  // a quarter each
  EXPECT_NEAR(CompareRow(golden, q).kl, 0.6 * std::log(0.6 / 0.25) + 0.4 * std::log(0.4 / 0.75),
              1e-9);
}

TEST(CompareRow, ShiftedLogitsAreTheSame) {
  GoldenRow golden = TopRow(std::vector<float>{1, 2, 3, 4}, 2);
  EXPECT_NEAR(CompareRow(golden, std::vector<float>{11, 12, 13, 14}).kl, 0, 1e-6);
}

TEST(CompareRow, ANanIsInfinitelyFar) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const RowDistance off = CompareRow(Dense({1, 2, 3}), std::vector<float>{1, nan, 3});
  EXPECT_EQ(off.nans, 1u);
  EXPECT_TRUE(std::isinf(off.kl));
}

// Rows of a model that answers `token` by `margin` over `second`.
std::vector<float> Answer(TokenId token, TokenId second, float margin) {
  std::vector<float> row(8, -5.0f);
  row[static_cast<std::size_t>(second)] = 2 - margin;
  row[static_cast<std::size_t>(token)] = 2;
  return row;
}

GoldenCase TokensOnly(std::vector<double> margins) {
  GoldenCase one;
  one.name = "c";
  one.prompt = {1};
  one.generated.assign(margins.size(), 3);
  one.margins = std::move(margins);
  return one;
}

CaseReport Judge(const GoldenCase& golden, const std::vector<std::vector<float>>& rows,
                 const CheckLimits& limits) {
  CaseChecker checker(golden, limits, nullptr);
  for (std::size_t i = 0; i < rows.size(); ++i) checker.Take(i, rows[i]);
  return checker.Finish();
}

TEST(Verdicts, OneFlipDoesNotHideTheRest) {
  CheckLimits limits;
  limits.margin = 100;
  const CaseReport report =
      Judge(TokensOnly({1, 1, 1, 1}),
            {Answer(3, 4, 1), Answer(4, 3, 0.5f), Answer(3, 4, 1), Answer(5, 3, 3)}, limits);
  EXPECT_EQ(report.same, 2u);
  EXPECT_EQ(report.wrong, 2u);
  ASSERT_EQ(report.departures.size(), 2u);
  EXPECT_EQ(report.departures[0].index, 1u);
  EXPECT_EQ(report.departures[0].ours, 4);
  EXPECT_FLOAT_EQ(static_cast<float>(report.departures[0].our_logit_of_golden), 1.5f);
  EXPECT_EQ(report.state, CaseState::kWrong);
}

TEST(Verdicts, NearTieNeedsTheMarginAndTheRunnerUp) {
  CheckLimits limits;
  limits.allow_ties = true;
  limits.margin = 100;
  // The golden does not say which token came second: ours must nearly tie too.
  EXPECT_EQ(Judge(TokensOnly({0.001}), {Answer(4, 3, 0.001f)}, limits).ties, 1u);
  EXPECT_EQ(Judge(TokensOnly({0.001}), {Answer(4, 3, 0.5f)}, limits).wrong, 1u);
  EXPECT_EQ(Judge(TokensOnly({0.5}), {Answer(4, 3, 0.001f)}, limits).wrong, 1u);
  EXPECT_EQ(Judge(TokensOnly({NAN}), {Answer(4, 3, 0.001f)}, limits).wrong, 1u);
  // It does: only that token will do.
  GoldenCase golden = TokensOnly({0.001});
  golden.rows.resize(1);
  golden.rows[0].lse = 2;
  golden.rows[0].top = {{3, 1}, {4, 0.999}};
  limits.kl = limits.logprob = 100;
  EXPECT_EQ(Judge(golden, {Answer(4, 3, 0.001f)}, limits).ties, 1u);
  EXPECT_EQ(Judge(golden, {Answer(5, 3, 0.001f)}, limits).wrong, 1u);
}

TEST(Verdicts, ANanIsWrongWhereverItStands) {
  std::vector<float> row = Answer(3, 4, 1);
  row[7] = std::numeric_limits<float>::quiet_NaN();
  const CaseReport report = Judge(TokensOnly({1}), {row}, CheckLimits());
  EXPECT_EQ(report.same, 1u);
  EXPECT_EQ(report.nan_count, 1u);
  EXPECT_EQ(report.state, CaseState::kWrong);
}

TEST(Verdicts, TiesCountOnlyWhereAllowed) {
  CheckLimits limits;
  limits.margin = 100;
  const GoldenCase golden = TokensOnly({0.001, 1});
  const std::vector<std::vector<float>> rows = {Answer(4, 3, 0.001f), Answer(3, 4, 1)};
  EXPECT_EQ(Judge(golden, rows, limits).state, CaseState::kWrong);
  limits.allow_ties = true;
  EXPECT_EQ(Judge(golden, rows, limits).state, CaseState::kNearTies);
}

TEST(Verdicts, NothingComparedIsSkipped) {
  GoldenReport report;
  EXPECT_EQ(VerdictOf(report), "nothing");
  EXPECT_EQ(ExitCodeOf(report), 1);
  report.cases.push_back(Judge(TokensOnly({}), {Answer(3, 4, 1)}, CheckLimits()));
  EXPECT_EQ(VerdictOf(report), "nothing");
  report.cases.push_back(Judge(TokensOnly({1}), {Answer(3, 4, 1)}, CheckLimits()));
  EXPECT_EQ(report.cases.back().state, CaseState::kSame);
  EXPECT_EQ(VerdictOf(report), "wrong") << "a skipped case is no pass";
  report.cases.erase(report.cases.begin());
  EXPECT_EQ(VerdictOf(report), "same");
  EXPECT_EQ(ExitCodeOf(report), 0);
  report.skipped = "no model";
  EXPECT_EQ(ExitCodeOf(report), 77);
}

TEST(Diff, FindsTokensRowsAndMissingCases) {
  const Golden a = test::MustParse(test::SmallGolden());
  CheckLimits limits;
  for (const CaseReport& one : DiffGoldens(a, a, limits)) {
    EXPECT_EQ(one.state, CaseState::kSame) << one.name;
  }
  Golden b = a;
  b.cases[0].generated[1] = 7;
  b.cases[0].margins[1] = 0.001;
  b.cases[1].rows[0].dense[7] = 9;
  b.cases[1].rows[0].lse = LogSumExp(b.cases[1].rows[0].dense);
  std::vector<CaseReport> found = DiffGoldens(a, b, limits);
  EXPECT_EQ(found[0].departures.at(0).index, 1u);
  EXPECT_EQ(found[0].departures.at(0).verdict, TokenVerdict::kNearTie);
  EXPECT_EQ(found[0].unchecked, 1u);
  EXPECT_EQ(found[1].state, CaseState::kWrong);
  EXPECT_GT(found[1].nmse.value, 0.01);
  b.cases.pop_back();
  EXPECT_EQ(DiffGoldens(a, b, limits)[1].state, CaseState::kSkipped);
  EXPECT_EQ(DiffGoldens(b, a, limits)[1].state, CaseState::kSkipped);
}

TEST(Report, TextsEscapeWhatTheirReadersWouldObey) {
  GoldenReport report;
  report.golden_file = "g.json";
  report.model_file = "dir/a<b>.gguf";
  CaseReport bad;
  bad.name = "x \"&\n::warning::";
  bad.state = CaseState::kWrong;
  bad.reasons = {"because\x1b[31m <&>"};
  report.cases.push_back(bad);
  const std::string junit = JUnitText(report);
  EXPECT_NE(junit.find("name=\"x &quot;&amp;\n::warning::\""), std::string::npos) << junit;
  EXPECT_EQ(junit.find('\x1b'), std::string::npos);
  EXPECT_NE(junit.find("tests=\"1\" failures=\"1\""), std::string::npos) << junit;
  const std::string github = GithubText(report);
  EXPECT_EQ(std::count(github.begin(), github.end(), '\n'), 1) << github;
  EXPECT_EQ(github.rfind("::error title=vt-golden a<b> x \"&%0A%3A%3Awarning", 0), 0u) << github;
}

}  // namespace
}  // namespace vt
