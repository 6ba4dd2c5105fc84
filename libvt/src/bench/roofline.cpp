#include "bench/roofline.h"

#include <algorithm>

namespace vt {

double ArithmeticPeak(const MachinePeaks& peaks, std::string_view activations) {
  constexpr double kDigits = 2;  // bytes of a 15-bit activation
  if (activations != "q15" || !peaks.int8_gops) return peaks.f32_gflops;
  return std::max(peaks.f32_gflops, *peaks.int8_gops / kDigits);
}

Roof RoofOf(const OpSpeed& speed, const MachinePeaks& peaks) {
  Roof roof;
  roof.gb_per_s = ReadRateAt(peaks, speed.bytes);
  const auto intensity = speed.flops_per_byte();
  if (!intensity) {
    roof.share = roof.gb_per_s > 0 ? speed.gb_per_s() / roof.gb_per_s : 0;
    return roof;
  }
  const double peak = ArithmeticPeak(peaks, speed.activations);
  const double by_memory = roof.gb_per_s * *intensity;
  roof.by_memory = by_memory < peak;
  roof.gflops = std::min(peak, by_memory);
  roof.share = *roof.gflops > 0 ? speed.gflops().value_or(0) / *roof.gflops : 0;
  return roof;
}

}  // namespace vt
