#include "cpu/quants/quantize_scales.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/generic/half.h"

namespace vt {
namespace {

constexpr int kSmall = 12;

}  // namespace

int Multiple(double scale, float common, int low, int high) {
  if (common == 0) return 0;
  const double multiple = std::nearbyint(scale / static_cast<double>(common));
  return static_cast<int>(
      std::clamp(multiple, static_cast<double>(low), static_cast<double>(high)));
}

float CommonScale(const SubScale* subs, int count, int low, int high) {
  double farthest = 0;
  for (int i = 0; i < count; ++i) {
    if (std::abs(subs[i].scale) > std::abs(farthest)) farthest = subs[i].scale;
  }
  if (farthest == 0) return 0;
  float best = 0;
  double least = std::numeric_limits<double>::infinity();
  const auto attempt = [&](double scale, int multiple) {
    const float common = F16ToF32(F32ToF16(static_cast<float>(scale / multiple)));
    if (common == 0 || !std::isfinite(common)) return;
    double error = 0;
    for (int i = 0; i < count && error < least; ++i) {
      const double off =
          subs[i].scale - static_cast<double>(common) * Multiple(subs[i].scale, common, low, high);
      error += subs[i].weight * off * off;
    }
    if (error >= least) return;
    least = error;
    best = common;
  };
  for (int multiple = high; multiple > high / 2; --multiple) attempt(farthest, multiple);
  for (int multiple = low; multiple < low / 2; ++multiple) attempt(farthest, multiple);
  for (int i = 0; i < count; ++i) {
    if (subs[i].scale == 0) continue;
    for (int multiple = 1; multiple <= std::min(high, kSmall); ++multiple) {
      attempt(subs[i].scale, multiple);
      if (low < 0) attempt(subs[i].scale, -multiple);
    }
  }
  return best;
}

}  // namespace vt
