// The sampler under a mask: only tokens that are allowed, chosen as if there were no others.
#include <gtest/gtest.h>

#include <cmath>

#include "vt/sampler.h"

namespace vt::test {
namespace {

std::vector<std::uint64_t> MaskOf(std::initializer_list<TokenId> ids, std::size_t words) {
  std::vector<std::uint64_t> mask(words, 0);
  for (const TokenId id : ids) {
    mask[static_cast<std::size_t>(id) / 64] |= std::uint64_t{1} << (static_cast<unsigned>(id) % 64);
  }
  return mask;
}

std::vector<float> Logits() {
  std::vector<float> logits(200);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = std::sin(static_cast<float>(i) * 1.7f) * 3;
  }
  return logits;
}

TEST(SamplerMask, GreedyTakesTheBestThatIsAllowed) {
  std::vector<float> logits = Logits();
  logits[5] = 50;
  logits[66] = 40;
  logits[7] = 40;
  logits[131] = 60;
  SamplerOptions greedy;
  greedy.temperature = 0;
  Sampler sampler(greedy);
  EXPECT_EQ(sampler.Sample(logits, {}), 131);
  EXPECT_EQ(sampler.Sample(logits, {}, MaskOf({5, 7, 66}, 4)), 5);
  EXPECT_EQ(sampler.Sample(logits, {}, MaskOf({7, 66}, 4)), 7);
  EXPECT_EQ(sampler.Sample(logits, {}, MaskOf({66}, 4)), 66);
  // Tokens beyond the mask are not allowed.
  EXPECT_EQ(sampler.Sample(logits, {}, MaskOf({66}, 2)), 66);
}

TEST(SamplerMask, DrawsAreThoseOfTheAllowedTokensAlone) {
  const std::vector<float> logits = Logits();
  const std::initializer_list<TokenId> ids = {3, 17, 64, 99, 128, 199};
  const std::vector<std::uint64_t> mask = MaskOf(ids, 4);
  std::vector<float> only(logits.size(), -INFINITY);
  for (const TokenId id : ids) {
    only[static_cast<std::size_t>(id)] = logits[static_cast<std::size_t>(id)];
  }
  SamplerOptions options;
  options.seed = 9;
  options.temperature = 1.5f;
  options.top_k = 4;
  options.top_p = 0.9f;
  Sampler masked(options), plain(options);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(masked.Sample(logits, {}, mask), plain.Sample(only, {})) << i;
  }
}

TEST(SamplerMask, NoTokenWhereNoneIsLeft) {
  const std::vector<float> logits = Logits();
  for (const float temperature : {0.0f, 1.0f}) {
    Sampler sampler({.temperature = temperature, .logit_bias = {{3, -INFINITY}, {64, -INFINITY}}});
    EXPECT_EQ(sampler.Sample(logits, {}, MaskOf({}, 4)), kNoToken);
    EXPECT_EQ(sampler.Sample(logits, {}, MaskOf({3, 64}, 4)), kNoToken);
    EXPECT_EQ(sampler.Sample(logits, {}, MaskOf({3, 64, 70}, 4)), 70);
  }
}

}  // namespace
}  // namespace vt::test
