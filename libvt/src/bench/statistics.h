// The statistics of measurements: pure functions of samples.
//
// Robust ones: a sample that the machine disturbed moves a median or a MAD by little.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace vt {

// Of an even number of samples the mean of the middle two; 0 of none.
double Median(std::span<const double> samples);

// Linear between the closest ranks: rank = q * (n - 1), q in 0..1; 0 of none.
double Quantile(std::span<const double> samples, double q);

struct Summary {
  std::int64_t count = 0;
  double median = 0, min = 0, max = 0;
  // 1.4826 * median(|x - median|) / median: the relative standard deviation of samples of a normal
  // distribution, whatever a few outliers do. Absent with fewer than 3 samples or a median of 0.
  std::optional<double> spread;
};
Summary Summarise(std::span<const double> samples);

// Whether rates fall steadily in the order they were measured, as on a machine that heats up or is
// throttled. Mann-Kendall's test with exact probabilities: of all orders of the samples, the share
// with at least as many falling pairs. `falls` when that is under 5 % and the median slope of all
// pairs (Theil-Sen) takes more than 2 % of the median off between the first and the last sample.
// Fewer than 4 samples can show no trend. Above 30 the probability is that of the normal
// approximation, and more than 200 samples are first gathered into 200 medians of neighbours.
struct Trend {
  bool falls = false;
  double p = 1;       // of the test
  double change = 0;  // over all samples, relative to the median; negative: falling
};
Trend FallingTrend(std::span<const double> rates);

// A median with a 95 % confidence interval.
struct Interval {
  double median = 0, low = 0, high = 0;
};

// The ranks, from 0, of the values that bound the median of a population with at least 95 %
// confidence, whatever its distribution: those of the sign test. Fewer than 6 values cannot: the
// least and the largest then, which hold it with probability 1 - 2^(1-count).
struct Ranks {
  std::size_t low = 0, high = 0;
};
Ranks MedianRanks(std::size_t count);  // count >= 1
inline constexpr std::size_t kFewestForInterval = 6;

// Percentile bootstrap (2000 times as many values drawn with replacement, from the seed), widened
// to the bounds of MedianRanks where it is narrower, as it is of few values.
Interval MedianInterval(std::span<const double> values, std::uint64_t seed);
// The percentile bootstrap alone.
Interval BootstrapMedian(std::span<const double> values, std::uint64_t seed);
// Of median(b) / median(a), both drawn anew each time.
Interval BootstrapRatio(std::span<const double> a, std::span<const double> b, std::uint64_t seed);

}  // namespace vt
