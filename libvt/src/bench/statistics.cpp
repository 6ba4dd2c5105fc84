#include "bench/statistics.h"

#include <algorithm>
#include <cmath>

#include "ops/cases/random_data.h"

namespace vt {
namespace {

constexpr int kDraws = 2000;
constexpr double kLowQuantile = 0.025, kHighQuantile = 0.975;
constexpr double kTrendProbability = 0.05;
constexpr double kTrendChange = 0.02;
constexpr std::size_t kMostExact = 30;     // samples of a test with exact probabilities
constexpr std::size_t kMostInTrend = 200;  // values whose pairs are looked at

std::vector<double> Sorted(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double QuantileOfSorted(std::span<const double> sorted, double q) {
  if (sorted.empty()) return 0;
  const double rank = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = rank - static_cast<double>(below);
  return sorted[below] + (sorted[above] - sorted[below]) * part;
}

// The share of all orders of n different values that have at least `falling` pairs of which the
// later is less. The number of orders with k such pairs: insert the values one by one, each adds
// 0..i-1 of them.
double ShareOfOrders(std::size_t n, std::size_t falling) {
  std::vector<double> share = {1};
  for (std::size_t i = 2; i <= n; ++i) {
    std::vector<double> next(share.size() + i - 1, 0.0);
    for (std::size_t k = 0; k < share.size(); ++k) {
      for (std::size_t add = 0; add < i; ++add) next[k + add] += share[k] / static_cast<double>(i);
    }
    share = std::move(next);
  }
  double sum = 0;
  for (std::size_t k = falling; k < share.size(); ++k) sum += share[k];
  return sum;
}

// The same for many values: the number of falling pairs is then nearly normal (Kendall), with
// mean n(n-1)/4 and variance n(n-1)(2n+5)/72.
double ShareByNormal(std::size_t n, std::size_t falling) {
  const double count = static_cast<double>(n);
  const double mean = count * (count - 1) / 4;
  const double variance = count * (count - 1) * (2 * count + 5) / 72;
  return 0.5 * std::erfc((static_cast<double>(falling) - 0.5 - mean) / std::sqrt(2 * variance));
}

// At most kMostInTrend values: the medians of as many runs of neighbours.
std::vector<double> Thinned(std::span<const double> rates) {
  if (rates.size() <= kMostInTrend) return {rates.begin(), rates.end()};
  std::vector<double> medians;
  for (std::size_t i = 0; i < kMostInTrend; ++i) {
    const std::size_t begin = i * rates.size() / kMostInTrend;
    const std::size_t end = (i + 1) * rates.size() / kMostInTrend;
    medians.push_back(Median(rates.subspan(begin, end - begin)));
  }
  return medians;
}

double MedianOfDraw(std::span<const double> values, RandomData& random, std::vector<double>& draw) {
  draw.resize(values.size());
  for (double& value : draw) value = values[random.Below(values.size())];
  const auto middle = draw.begin() + static_cast<std::ptrdiff_t>(draw.size() / 2);
  std::nth_element(draw.begin(), middle, draw.end());
  if (draw.size() % 2 == 1) return *middle;
  return (*std::max_element(draw.begin(), middle) + *middle) / 2;
}

}  // namespace

double Median(std::span<const double> samples) { return Quantile(samples, 0.5); }

double Quantile(std::span<const double> samples, double q) {
  return QuantileOfSorted(Sorted(samples), q);
}

Summary Summarise(std::span<const double> samples) {
  Summary summary;
  summary.count = static_cast<std::int64_t>(samples.size());
  if (samples.empty()) return summary;
  summary.median = Median(samples);
  summary.min = *std::min_element(samples.begin(), samples.end());
  summary.max = *std::max_element(samples.begin(), samples.end());
  if (samples.size() < 3 || summary.median == 0) return summary;
  std::vector<double> off;
  for (const double sample : samples) off.push_back(std::abs(sample - summary.median));
  summary.spread = 1.4826 * Median(off) / std::abs(summary.median);
  return summary;
}

Trend FallingTrend(std::span<const double> all) {
  const std::vector<double> rates = Thinned(all);
  Trend trend;
  const std::size_t n = rates.size();
  const double median = Median(rates);
  if (n < 2 || median == 0) return trend;
  std::size_t falling = 0;
  std::vector<double> slopes;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      if (rates[j] < rates[i]) ++falling;
      slopes.push_back((rates[j] - rates[i]) / static_cast<double>(j - i));
    }
  }
  trend.change = Median(slopes) * static_cast<double>(n - 1) / median;
  if (n < 4) return trend;
  trend.p = n <= kMostExact ? ShareOfOrders(n, falling) : ShareByNormal(n, falling);
  trend.falls = trend.p < kTrendProbability && trend.change < -kTrendChange;
  return trend;
}

Interval BootstrapMedian(std::span<const double> values, std::uint64_t seed) {
  if (values.empty()) return {};
  RandomData random(seed);
  std::vector<double> medians, draw;
  for (int i = 0; i < kDraws; ++i) medians.push_back(MedianOfDraw(values, random, draw));
  return {Median(values), Quantile(medians, kLowQuantile), Quantile(medians, kHighQuantile)};
}

Ranks MedianRanks(std::size_t count) {
  // Of as many fair coins, the probability of at most `low` heads is at most half of 5 %.
  double chance = std::pow(0.5, static_cast<double>(count)), sum = 0;
  Ranks ranks{0, count - 1};
  for (std::size_t heads = 0; 2 * heads < count; ++heads) {
    sum += chance;
    if (2 * sum > 1 - (kHighQuantile - kLowQuantile)) break;
    ranks = {heads, count - 1 - heads};
    chance *= static_cast<double>(count - heads) / static_cast<double>(heads + 1);
  }
  return ranks;
}

Interval MedianInterval(std::span<const double> values, std::uint64_t seed) {
  if (values.empty()) return {};
  Interval interval = BootstrapMedian(values, seed);
  const std::vector<double> sorted = Sorted(values);
  const Ranks ranks = MedianRanks(sorted.size());
  interval.low = std::min(interval.low, sorted[ranks.low]);
  interval.high = std::max(interval.high, sorted[ranks.high]);
  return interval;
}

Interval BootstrapRatio(std::span<const double> a, std::span<const double> b, std::uint64_t seed) {
  if (a.empty() || b.empty() || Median(a) == 0) return {};
  RandomData random(seed);
  std::vector<double> ratios, draw;
  for (int i = 0; i < kDraws; ++i) {
    const double of_a = MedianOfDraw(a, random, draw);
    const double of_b = MedianOfDraw(b, random, draw);
    if (of_a > 0) ratios.push_back(of_b / of_a);
  }
  return {Median(b) / Median(a), Quantile(ratios, kLowQuantile), Quantile(ratios, kHighQuantile)};
}

}  // namespace vt
