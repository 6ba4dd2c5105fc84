#include "vt/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace vt {
namespace {

SamplerOptions Plain() {
  SamplerOptions options;
  options.temperature = 1;
  options.top_k = 0;
  options.top_p = 1;
  options.min_p = 0;
  return options;
}

std::map<TokenId, double> Frequencies(const SamplerOptions& options, std::span<const float> logits,
                                      std::span<const TokenId> history = {}) {
  Sampler sampler(options);
  std::map<TokenId, double> counts;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) counts[sampler.Sample(logits, history)] += 1.0 / kDraws;
  return counts;
}

const std::vector<float> kLogits = {std::log(0.5f), std::log(0.3f), std::log(0.15f),
                                    std::log(0.05f)};

TEST(Sampler, TemperatureZeroIsTheLowestHighest) {
  SamplerOptions options;
  options.temperature = 0;
  const std::vector<float> logits = {1, 5, 5, 2};
  EXPECT_EQ(Sampler(options).Sample(logits, {}), 1);
}

TEST(Sampler, DrawsFollowTheProbabilities) {
  const auto seen = Frequencies(Plain(), kLogits);
  EXPECT_NEAR(seen.at(0), 0.5, 0.02);
  EXPECT_NEAR(seen.at(1), 0.3, 0.02);
  EXPECT_NEAR(seen.at(2), 0.15, 0.02);
  EXPECT_NEAR(seen.at(3), 0.05, 0.01);
}

TEST(Sampler, TemperatureSharpens) {
  SamplerOptions options = Plain();
  options.temperature = 0.5f;
  const double total = 0.25 + 0.09 + 0.0225 + 0.0025;
  EXPECT_NEAR(Frequencies(options, kLogits).at(0), 0.25 / total, 0.02);
}

TEST(Sampler, TopKTopPMinPAndTypicalCut) {
  SamplerOptions options = Plain();
  options.top_k = 2;
  EXPECT_EQ(Frequencies(options, kLogits).size(), 2u);
  options = Plain();
  options.top_p = 0.7f;  // 0.5 is short of it, 0.8 is not
  EXPECT_EQ(Frequencies(options, kLogits).size(), 2u);
  options = Plain();
  options.min_p = 0.25f;  // of 0.5: 0.125
  EXPECT_EQ(Frequencies(options, kLogits).size(), 3u);
  options = Plain();
  options.typical_p = 0.29f;
  // Entropy 1.14 nats; information 0.69, 1.20, 1.90, 3.00: the second is nearest and holds 0.3.
  const auto seen = Frequencies(options, kLogits);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen.begin()->first, 1);
}

TEST(Sampler, PenaltiesActOnTheWindow) {
  SamplerOptions options;
  options.temperature = 0;
  const std::vector<float> logits = {2.0f, 1.5f, -1.0f};
  const std::vector<TokenId> history = {0, 0, 0, 2};
  options.repeat_penalty = 2;
  EXPECT_EQ(Sampler(options).Sample(logits, history), 1);
  options.penalty_window = 1;  // only the 2
  EXPECT_EQ(Sampler(options).Sample(logits, history), 0);
  options = SamplerOptions();
  options.temperature = 0;
  options.presence_penalty = 0.4f;
  EXPECT_EQ(Sampler(options).Sample(logits, history), 0);
  options.frequency_penalty = 0.1f;  // 0.4 + 3 * 0.1 = 0.7
  EXPECT_EQ(Sampler(options).Sample(logits, history), 1);
}

TEST(Sampler, BiasMovesAndForbids) {
  SamplerOptions options;
  options.temperature = 0;
  options.logit_bias = {{3, 10.0f}};
  EXPECT_EQ(Sampler(options).Sample(kLogits, {}), 3);
  options = Plain();
  options.logit_bias = {{0, -INFINITY}};
  EXPECT_EQ(Frequencies(options, kLogits).count(0), 0u);
}

TEST(Sampler, TheSeedDecides) {
  SamplerOptions options = Plain();
  options.seed = 7;
  Sampler a(options);
  Sampler b(options);
  options.seed = 8;
  Sampler c(options);
  int differs = 0;
  for (int i = 0; i < 50; ++i) {
    const TokenId id = a.Sample(kLogits, {});
    EXPECT_EQ(id, b.Sample(kLogits, {}));
    differs += id != c.Sample(kLogits, {});
  }
  EXPECT_GT(differs, 5);
}

TEST(Sampler, RefusesOptionsOutOfRange) {
  const auto refused = [](auto set, const char* name) {
    SamplerOptions options;
    set(options);
    const Status status = CheckSamplerOptions(options, 10);
    EXPECT_EQ(status.code(), Code::kInvalid) << name;
    EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
  };
  refused([](SamplerOptions& o) { o.temperature = -1; }, "temperature");
  refused([](SamplerOptions& o) { o.temperature = NAN; }, "temperature");
  refused([](SamplerOptions& o) { o.top_p = 1.5f; }, "top-p");
  refused([](SamplerOptions& o) { o.top_k = -2; }, "top-k");
  refused([](SamplerOptions& o) { o.repeat_penalty = 0; }, "repeat-penalty");
  refused([](SamplerOptions& o) { o.logit_bias = {{10, 1.0f}}; }, "token id 10");
  EXPECT_TRUE(CheckSamplerOptions(SamplerOptions(), 10).ok());
}

TEST(Logprobs, AreLogSoftmaxHighestFirst) {
  const auto top = TopLogprobs(kLogits, 2);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].id, 0);
  EXPECT_NEAR(top[0].logprob, std::log(0.5), 1e-6);
  EXPECT_NEAR(LogprobOf(kLogits, 3), std::log(0.05), 1e-6);
}

}  // namespace
}  // namespace vt
