// Two arms against each other: legs by turns, ratios per pair, and a verdict that knows its noise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/host_state.h"
#include "bench/rates_document.h"
#include "bench/statistics.h"

namespace vt {

enum class SpeedVerdict { kFaster, kSlower, kWithinNoise };
std::string_view NameOf(SpeedVerdict verdict);  // "faster", "slower", "within noise"

// Which arm has the turn: pairs in the order A B, B A, A B, ..: what drifts falls on both alike.
char ArmOfTurn(int turn);

struct Leg {
  char arm = 'a';
  int pair = 0;
  std::uint64_t wall_ns = 0;
  RatesDocument rates;
  HostChange host = {};
  bool counts = true;  // false: its pair was measured again
};

struct AxisComparison {
  std::string axis, kind;
  std::vector<double> a, b;    // the median rate of each leg, or (records) each sample
  std::vector<double> ratios;  // b / a of each whole pair; records have none
  Interval ratio;              // of the median: over 1 means B is faster
  SpeedVerdict verdict = SpeedVerdict::kWithinNoise;
};

// With fewer pairs no verdict but "within noise" is possible.
inline constexpr std::size_t kFewestPairs = kFewestForInterval;

// "faster" (B is) when the whole interval is above 1 and the median at least `noise` above it;
// "slower" the other way round.
SpeedVerdict JudgeRatio(const Interval& ratio, double noise);

// Of all axes that both arms measured in at least one whole pair that counts, in the first leg's
// order.
std::vector<AxisComparison> CompareLegs(const std::vector<Leg>& legs, double noise,
                                        std::uint64_t seed);
// Of two records: their samples are not paired, which is weaker, as nothing ties them in time.
std::vector<AxisComparison> CompareRecords(const RatesDocument& a, const RatesDocument& b,
                                           double noise, std::uint64_t seed);

// Half the interval's width: a difference below it may go unseen.
double Resolution(const AxisComparison& axis);
// Whether every axis has enough pairs and an interval of at most +-`noise`. When to stop depends on
// widths alone, never on a verdict, so looking after each pair favours neither.
bool Resolved(const std::vector<AxisComparison>& axes, double noise);

// Whether two arms that claim to run different kernels did. An arm that does not tell its kernels
// cannot show it.
struct ArmCheck {
  bool passed = false;
  std::string message;
};
ArmCheck CheckArms(const RatesDocument& a, const RatesDocument& b);

// What makes a comparison doubtful without forbidding it: other models, other machines, void or
// partial records. A sentence each.
std::vector<std::string> Doubts(const RatesDocument& a, const RatesDocument& b);
// Of the legs: disturbed pairs that count, too few pairs, intervals that hide more than `noise`.
std::vector<std::string> DoubtsOfLegs(const std::vector<Leg>& legs,
                                      const std::vector<AxisComparison>& axes, double noise);

}  // namespace vt
