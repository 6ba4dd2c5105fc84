#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace vt {
namespace {

TEST(Statistics, QuantilesAreLinearBetweenRanks) {
  // numpy.percentile([15, 20, 35, 40, 50], [0, 40, 50, 90, 100]) = 15, 29, 35, 46, 50.
  const std::vector<double> values = {50, 15, 40, 20, 35};
  EXPECT_DOUBLE_EQ(Quantile(values, 0), 15);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.4), 29);
  EXPECT_DOUBLE_EQ(Median(values), 35);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.9), 46);
  EXPECT_DOUBLE_EQ(Quantile(values, 1), 50);
  EXPECT_DOUBLE_EQ(Median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(Median({}), 0);
}

TEST(Statistics, SpreadIsTheScaledMadOverTheMedian) {
  // scipy.stats.median_abs_deviation([1, 2, 3, 4, 100], scale=1/1.4826) = 1.4826.
  const Summary summary = Summarise(std::vector<double>{100, 1, 3, 2, 4});
  EXPECT_EQ(summary.count, 5);
  EXPECT_DOUBLE_EQ(summary.median, 3);
  EXPECT_DOUBLE_EQ(summary.min, 1);
  EXPECT_DOUBLE_EQ(summary.max, 100);
  ASSERT_TRUE(summary.spread);
  EXPECT_DOUBLE_EQ(*summary.spread, 1.4826 / 3);
  EXPECT_FALSE(Summarise(std::vector<double>{1, 2}).spread);
  EXPECT_EQ(Summarise({}).count, 0);
}

TEST(Statistics, MannKendallIsExact) {
  // Tables of Kendall's S: n = 4, S = 6: 1/24; n = 5, S = 8: 5/120; n = 5, S = 6: 14/120.
  EXPECT_NEAR(FallingTrend(std::vector<double>{104, 103, 102, 101}).p, 1.0 / 24, 1e-12);
  EXPECT_NEAR(FallingTrend(std::vector<double>{105, 104, 103, 101, 102}).p, 5.0 / 120, 1e-12);
  EXPECT_NEAR(FallingTrend(std::vector<double>{105, 104, 101, 102, 103}).p, 29.0 / 120, 1e-12);
  EXPECT_NEAR(FallingTrend(std::vector<double>{101, 102, 103, 104}).p, 1, 1e-12);
}

TEST(Statistics, AFallIsSteadyAndLargeEnough) {
  EXPECT_TRUE(FallingTrend(std::vector<double>{105, 104, 103, 102, 101}).falls);
  EXPECT_NEAR(FallingTrend(std::vector<double>{105, 104, 103, 102, 101}).change, -4.0 / 103, 1e-12);
  // Steady but tiny; falling and rising; too few to tell.
  EXPECT_FALSE(FallingTrend(std::vector<double>{100.4, 100.3, 100.2, 100.1, 100}).falls);
  EXPECT_FALSE(FallingTrend(std::vector<double>{105, 101, 104, 100, 106}).falls);
  EXPECT_FALSE(FallingTrend(std::vector<double>{120, 110, 100}).falls);
  EXPECT_FALSE(FallingTrend(std::vector<double>{100, 103, 106, 109, 112}).falls);
}

TEST(Statistics, TrendsOfManySamplesTakeNoTime) {
  std::vector<double> rates(20000);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    rates[i] = 100 + static_cast<double>(i * 7919 % 101) / 101;
  }
  EXPECT_FALSE(FallingTrend(rates).falls);
  EXPECT_GT(FallingTrend(rates).p, 0.001);
  for (std::size_t i = 0; i < rates.size(); ++i) rates[i] -= static_cast<double>(i) * 5e-4;
  EXPECT_TRUE(FallingTrend(rates).falls);
}

TEST(Statistics, BootstrapIsSeededAndCoversTheMedian) {
  const std::vector<double> ratios = {0.99, 1.0, 1.01, 1.02, 0.98, 1.0};
  const Interval a = BootstrapMedian(ratios, 7), b = BootstrapMedian(ratios, 7);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_DOUBLE_EQ(a.median, 1.0);
  EXPECT_LE(a.low, 1.0);
  EXPECT_GE(a.high, 1.0);
  EXPECT_GE(a.low, 0.98);
  EXPECT_LE(a.high, 1.02);
  const Interval ratio =
      BootstrapRatio(std::vector<double>{10, 10, 10}, std::vector<double>{12, 12, 12}, 1);
  EXPECT_DOUBLE_EQ(ratio.low, 1.2);
  EXPECT_DOUBLE_EQ(ratio.high, 1.2);
}

TEST(Statistics, MedianRanksAreThoseOfTheSignTest) {
  // Tables of the confidence interval of a median, two-sided 95 % (ranks from 1): n = 6: 1, 6;
  // 8: 1, 8; 9: 2, 8; 10: 2, 9; 15: 4, 12; 20: 6, 15; 25: 8, 18; 30: 10, 21; 40: 14, 27.
  constexpr std::size_t kTable[][3] = {{6, 1, 6},   {8, 1, 8},    {9, 2, 8},
                                       {10, 2, 9},  {15, 4, 12},  {20, 6, 15},
                                       {25, 8, 18}, {30, 10, 21}, {40, 14, 27}};
  for (const auto& [count, low, high] : kTable) {
    const Ranks ranks = MedianRanks(count);
    EXPECT_EQ(ranks.low + 1, low) << count;
    EXPECT_EQ(ranks.high + 1, high) << count;
  }
  EXPECT_EQ(MedianRanks(1).high, 0u);
  EXPECT_EQ(MedianRanks(3).high, 2u);
}

TEST(Statistics, MedianIntervalIsNeverNarrowerThanTheSignTests) {
  const std::vector<double> values = {1.00, 1.01, 1.02, 0.99, 0.98, 1.30};
  const Interval interval = MedianInterval(values, 1);
  EXPECT_DOUBLE_EQ(interval.median, 1.005);
  EXPECT_DOUBLE_EQ(interval.low, 0.98);
  EXPECT_DOUBLE_EQ(interval.high, 1.30);
}

}  // namespace
}  // namespace vt
