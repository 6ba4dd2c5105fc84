// The three real models, against the exact answer (their weights dequantised, f32 throughout) and
// against how far another runtime's quantised run is from it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/golden.h"
#include "support/model_run.h"
#include "support/test_files.h"

namespace vt {
namespace {

struct RealModel {
  const char* file;
  const char* golden;
};

class RealGolden : public testing::TestWithParam<RealModel> {};

EngineOptions Options(bool exact) {
  EngineOptions options;
  options.context = 1024;
  options.threads = 2;
  options.ubatch = 128;
  options.logit_rows = 8;
  options.exact = exact;
  if (exact) options.kv_type = DType::kF32;
  return options;
}

double LogSumExp(const std::vector<float>& row) {
  const double top = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float v : row) sum += std::exp(static_cast<double>(v) - top);
  return top + std::log(sum);
}

// KL(golden || row) over the golden's highest logits and everything else as one outcome. (The
// peer's recorded figures leave everything else out, so they scatter about their true value, below
// 0 too.)
double Divergence(const test::GoldenCase::TopRow& golden, const std::vector<float>& row) {
  const double total = LogSumExp(row);
  double kl = 0;
  double golden_rest = 1;
  double rest = 1;
  for (const auto& [id, logit] : golden.top) {
    const double log_p = logit - golden.log_sum_exp;
    const double log_q = static_cast<double>(row[static_cast<std::size_t>(id)]) - total;
    kl += std::exp(log_p) * (log_p - log_q);
    golden_rest -= std::exp(log_p);
    rest -= std::exp(log_q);
  }
  // The files carry six digits: below that the rest is their rounding.
  if (golden_rest > 1e-5 && rest > 1e-5) kl += golden_rest * std::log(golden_rest / rest);
  return kl;
}

double MeanDivergence(const test::GoldenCase& golden, const test::LogitTable& rows) {
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) sum += Divergence(golden.top[i], rows[i]);
  return sum / static_cast<double>(rows.size());
}

TEST_P(RealGolden, ExactRunIsTheExactAnswer) {
  const auto path = test::ModelPath(GetParam().file);
  if (!path) VT_NOT_RUN(GetParam().file);
  test::LoadedModel model = test::LoadModel(*path, Options(true));
  ASSERT_TRUE(model.engine);
  for (const test::GoldenCase& golden : test::ReadGolden(test::DataPath(GetParam().golden))) {
    const test::LogitTable rows = test::PromptLogits(*model.engine, golden.prompt, 128);
    ASSERT_EQ(rows.size(), golden.top.size());
    double worst = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (const auto& [id, logit] : golden.top[i].top) {
        worst = std::max(
            worst, std::abs(static_cast<double>(rows[i][static_cast<std::size_t>(id)]) - logit));
      }
    }
    const double kl = MeanDivergence(golden, rows);
    std::printf("%s %s exact: worst logit error %.2e, mean KL %.2e\n", GetParam().file,
                golden.name.c_str(), worst, kl);
    EXPECT_LE(worst, 2e-3) << golden.name;
    EXPECT_LE(kl, 2e-5) << golden.name;
    const auto tie = std::find_if(golden.margins.begin(), golden.margins.end(),
                                  [](double margin) { return margin < 0.01; });
    const auto certain = static_cast<std::size_t>(tie - golden.margins.begin());
    const test::Greedy greedy = test::RunGreedy(*model.engine, golden.prompt, certain);
    for (std::size_t i = 0; i < certain; ++i) {
      ASSERT_EQ(greedy.tokens[i], golden.generated[i]) << golden.name << " step " << i;
    }
  }
}

TEST_P(RealGolden, DefaultRunIsNoFurtherOffThanThePeer) {
  const auto path = test::ModelPath(GetParam().file);
  if (!path) VT_NOT_RUN(GetParam().file);
  test::LoadedModel model = test::LoadModel(*path, Options(false));
  ASSERT_TRUE(model.engine);
  for (const test::GoldenCase& golden : test::ReadGolden(test::DataPath(GetParam().golden))) {
    const test::LogitTable rows = test::PromptLogits(*model.engine, golden.prompt, 128);
    ASSERT_EQ(rows.size(), golden.top.size());
    const double kl = MeanDivergence(golden, rows);
    std::printf("%s %s default: mean KL %.3e, peer %.3e\n", GetParam().file, golden.name.c_str(),
                kl, golden.peer_mean_kl);
    EXPECT_LE(kl, golden.peer_mean_kl * 1.1 + 1e-4) << golden.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RealGolden,
                         testing::Values(RealModel{"SmolLM2-135M-Instruct.Q4_1.gguf",
                                                   "real/smollm2-135m-instruct-q4_1.json"},
                                         RealModel{"gemma-3-270m-q4_k_m.gguf",
                                                   "real/gemma-3-270m-q4_k_m.json"},
                                         RealModel{"qwen2.5-coder-0.5b-q4_k_m.gguf",
                                                   "real/qwen2.5-coder-0.5b-q4_k_m.json"}),
                         [](const auto& param) {
                           return std::string(param.param.file).substr(0, 5) == "gemma" ? "gemma3"
                                  : std::string(param.param.file).substr(0, 4) == "qwen"
                                      ? "qwen25"
                                      : "smollm2";
                         });

}  // namespace
}  // namespace vt
