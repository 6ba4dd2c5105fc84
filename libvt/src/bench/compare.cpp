#include "bench/compare.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace vt {
namespace {

const AxisRates* FindAxis(const RatesDocument& document, const std::string& axis) {
  const auto it = std::find_if(document.axes.begin(), document.axes.end(),
                               [&](const AxisRates& one) { return one.axis == axis; });
  return it == document.axes.end() ? nullptr : &*it;
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

}  // namespace

std::string_view NameOf(SpeedVerdict verdict) {
  switch (verdict) {
    case SpeedVerdict::kFaster:
      return "faster";
    case SpeedVerdict::kSlower:
      return "slower";
    case SpeedVerdict::kWithinNoise:
      break;
  }
  return "within noise";
}

char ArmOfTurn(int turn) {
  const bool second = turn % 2 == 1, odd_pair = turn / 2 % 2 == 1;
  return second != odd_pair ? 'b' : 'a';
}

SpeedVerdict JudgeRatio(const Interval& ratio, double noise) {
  if (ratio.low > 1 && ratio.median >= 1 + noise) return SpeedVerdict::kFaster;
  if (ratio.high < 1 && ratio.median <= 1 - noise) return SpeedVerdict::kSlower;
  return SpeedVerdict::kWithinNoise;
}

std::vector<AxisComparison> CompareLegs(const std::vector<Leg>& legs, double noise,
                                        std::uint64_t seed) {
  std::vector<AxisComparison> axes;
  if (legs.empty()) return axes;
  for (const AxisRates& axis : legs.front().rates.axes) {
    AxisComparison one{axis.axis, axis.kind, {}, {}, {}, {}, SpeedVerdict::kWithinNoise};
    for (const Leg& a : legs) {
      if (a.arm != 'a' || !a.counts) continue;
      const auto b = std::find_if(legs.begin(), legs.end(), [&](const Leg& leg) {
        return leg.arm == 'b' && leg.pair == a.pair;
      });
      const AxisRates* of_a = FindAxis(a.rates, axis.axis);
      const AxisRates* of_b = b == legs.end() ? nullptr : FindAxis(b->rates, axis.axis);
      if (!of_a || !of_b) continue;
      one.a.push_back(of_a->median);
      one.b.push_back(of_b->median);
      one.ratios.push_back(of_b->median / of_a->median);
    }
    if (one.ratios.empty()) continue;
    one.ratio = MedianInterval(one.ratios, seed);
    if (one.ratios.size() >= kFewestPairs) one.verdict = JudgeRatio(one.ratio, noise);
    axes.push_back(std::move(one));
  }
  return axes;
}

std::vector<AxisComparison> CompareRecords(const RatesDocument& a, const RatesDocument& b,
                                           double noise, std::uint64_t seed) {
  std::vector<AxisComparison> axes;
  for (const AxisRates& axis : a.axes) {
    const AxisRates* other = FindAxis(b, axis.axis);
    if (!other) continue;
    AxisComparison one{
        axis.axis, axis.kind, axis.tok_per_s, other->tok_per_s, {}, {}, SpeedVerdict::kWithinNoise};
    one.ratio = BootstrapRatio(one.a, one.b, seed);
    if (one.a.size() > 1 && one.b.size() > 1) one.verdict = JudgeRatio(one.ratio, noise);
    axes.push_back(std::move(one));
  }
  return axes;
}

double Resolution(const AxisComparison& axis) { return (axis.ratio.high - axis.ratio.low) / 2; }

bool Resolved(const std::vector<AxisComparison>& axes, double noise) {
  return std::all_of(axes.begin(), axes.end(), [&](const AxisComparison& axis) {
    return axis.ratios.size() >= kFewestPairs && Resolution(axis) <= noise;
  });
}

ArmCheck CheckArms(const RatesDocument& a, const RatesDocument& b) {
  for (const auto& [arm, document] : {std::pair("A", &a), {"B", &b}}) {
    if (document->kernels.empty()) {
      return {false, std::string("arm ") + arm + " (" + document->program +
                         ") does not tell which kernels it launched"};
    }
  }
  std::vector<std::string> only_a, only_b;
  std::set_difference(a.kernels.begin(), a.kernels.end(), b.kernels.begin(), b.kernels.end(),
                      std::back_inserter(only_a));
  std::set_difference(b.kernels.begin(), b.kernels.end(), a.kernels.begin(), a.kernels.end(),
                      std::back_inserter(only_b));
  if (only_a.empty() && only_b.empty()) {
    return {false, "both arms launched the same kernels: " + Joined(a.kernels)};
  }
  return {true, "only A: " + (only_a.empty() ? "none" : Joined(only_a)) +
                    "; only B: " + (only_b.empty() ? "none" : Joined(only_b))};
}

std::vector<std::string> Doubts(const RatesDocument& a, const RatesDocument& b) {
  std::vector<std::string> doubts;
  const auto base = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  if (!a.digest.empty() && !b.digest.empty() ? a.digest != b.digest
                                             : base(a.model) != base(b.model)) {
    doubts.push_back("the arms measured different models: " + a.model + " and " + b.model);
  }
  if (!a.device.empty() && !b.device.empty() && a.device != b.device) {
    doubts.push_back("the arms ran on different devices: " + a.device + " and " + b.device);
  }
  for (const auto& [arm, document] : {std::pair("A", &a), {"B", &b}}) {
    if (document->partial) doubts.push_back(std::string("the record of ") + arm + " is partial");
    if (!document->voids.empty()) {
      doubts.push_back(std::string("the record of ") + arm +
                       " is void: " + Joined(document->voids));
    }
  }
  return doubts;
}

std::vector<std::string> DoubtsOfLegs(const std::vector<Leg>& legs,
                                      const std::vector<AxisComparison>& axes, double noise) {
  std::vector<std::string> doubts;
  std::size_t counted = 0, disturbed = 0;
  std::string reason;
  for (const Leg& leg : legs) {
    if (!leg.counts) continue;
    ++counted;
    if (leg.host.quiet) continue;
    ++disturbed;
    reason = leg.host.reason;
  }
  if (disturbed > 0) {
    doubts.push_back("the machine was disturbed in " + std::to_string(disturbed) + " of " +
                     std::to_string(counted) + " runs; in the last of them " + reason);
  }
  for (const AxisComparison& axis : axes) {
    if (axis.ratios.size() < kFewestPairs) {
      doubts.push_back(axis.axis + ": " + std::to_string(axis.ratios.size()) +
                       " pairs are too few for a verdict (at least " +
                       std::to_string(kFewestPairs) + ")");
    } else if (Resolution(axis) > noise) {
      char text[160];
      std::snprintf(text, sizeof text,
                    "%s: the interval is +-%.1f %% wide after %zu pairs: a smaller difference "
                    "would not be seen",
                    axis.axis.c_str(), 100 * Resolution(axis), axis.ratios.size());
      doubts.push_back(text);
    }
  }
  return doubts;
}

}  // namespace vt
