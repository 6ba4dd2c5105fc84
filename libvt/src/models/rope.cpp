#include "models/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vt {
namespace {

// The pair whose wave turns `turns` times over the original context.
double CorrectionPair(const RopeSpec& rope, double turns) {
  const double context = static_cast<double>(rope.original_context);
  return static_cast<double>(rope.dims) * std::log(context / (turns * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(rope.base));
}

double MagnitudeScale(double factor, double weight) {
  return factor <= 1.0 ? 1.0 : 0.1 * weight * std::log(factor) + 1.0;
}

}  // namespace

const WeightRef& RopeFactors(const RopeSpec& rope, std::uint64_t context) {
  if (rope.factors) return rope.factors;
  return context > rope.original_context ? rope.factors_long : rope.factors_short;
}

double RopeMagnitude(const RopeSpec& rope) {
  if (rope.scaling != RopeSpec::Scaling::kYarn) return rope.attention_factor;
  const double scale = MagnitudeScale(rope.factor, 1.0);
  if (rope.log_multiplier == 0.0) return rope.attention_factor * scale;
  return rope.attention_factor * scale / MagnitudeScale(rope.factor, rope.log_multiplier);
}

RopeFrequencies ComputeRope(const RopeSpec& rope, const float* factors) {
  RopeFrequencies result;
  const auto pairs = static_cast<std::size_t>(rope.dims / 2);
  result.inv_freq.resize(pairs);
  result.magnitude = RopeMagnitude(rope);
  const bool yarn = rope.scaling == RopeSpec::Scaling::kYarn;
  double low = 0;
  double high = 0;
  if (yarn) {
    low = std::max(0.0, std::floor(CorrectionPair(rope, rope.beta_fast)));
    high = std::min(static_cast<double>(rope.dims - 1),
                    std::ceil(CorrectionPair(rope, rope.beta_slow)));
  }
  for (std::size_t i = 0; i < pairs; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(rope.dims);
    const double extrapolated =
        std::pow(rope.base, exponent) / (factors ? static_cast<double>(factors[i]) : 1.0);
    const double interpolated = extrapolated / rope.factor;
    double keep = 0.0;  // share of the unscaled frequency
    if (yarn) {
      keep =
          1.0 - std::clamp((static_cast<double>(i) - low) / std::max(0.001, high - low), 0.0, 1.0);
    }
    result.inv_freq[i] = interpolated * (1.0 - keep) + extrapolated * keep;
  }
  return result;
}

}  // namespace vt
