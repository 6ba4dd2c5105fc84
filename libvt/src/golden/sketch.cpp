#include "golden/sketch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace vt {
namespace {

std::uint64_t SplitMix64(std::uint64_t index) {
  std::uint64_t z = (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

Sketch SketchOf(std::span<const float> x) {
  Sketch out;
  double power = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = static_cast<double>(x[i]);
    const std::uint64_t bits = SplitMix64(i);
    power += value * value;
    for (std::size_t k = 0; k < kSketchSums; ++k) {
      out.sums[k] += (bits >> k & 1) != 0 ? -value : value;
    }
  }
  out.norm = std::sqrt(power);
  return out;
}

double SketchError(const Sketch& x, const Sketch& y) {
  double power = 0;
  for (std::size_t k = 0; k < kSketchSums; ++k) {
    power += (x.sums[k] - y.sums[k]) * (x.sums[k] - y.sums[k]);
  }
  const double off = std::max(std::sqrt(power / kSketchSums), std::abs(x.norm - y.norm));
  if (!std::isfinite(power) || !std::isfinite(off)) return std::numeric_limits<double>::infinity();
  if (off == 0) return 0;
  return off / x.norm;
}

}  // namespace vt
