// The roofline model: what a kernel could reach at most on this machine, and how near it comes.
//
// Source: Williams, Waterman, Patterson: Roofline: An Insightful Visual Performance Model for
// Multicore Architectures (CACM 52, 2009).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/machine_peaks.h"
#include "bench/op_speed.h"

namespace vt {

// Bandwidth is that of reading as many bytes as the call touches: a call that is repeated on few
// bytes finds them in a cache. The arithmetic of 15-bit activations is products of bytes, two for
// each; of all others f32.
struct Roof {
  double gb_per_s = 0;           // of reading this many bytes
  std::optional<double> gflops;  // min(peak, bandwidth * intensity); absent: no operations counted
  bool by_memory = true;         // the bandwidth is the lower of the two, or the only one
  double share = 0;              // of the roof that is reached: of gflops, or of gb_per_s
};
Roof RoofOf(const OpSpeed& speed, const MachinePeaks& peaks);

// 10^9 operations a second that kernels with such activations ("f32", "q15") can do at most.
double ArithmeticPeak(const MachinePeaks& peaks, std::string_view activations);

// Both roofs and a numbered point for each kernel whose operations are counted, on logarithmic
// scales; below, a line for each number. Needs nothing else. Empty when there is no such kernel.
std::string RooflineSvg(const std::string& title, const std::vector<OpSpeed>& speeds,
                        const MachinePeaks& peaks);

}  // namespace vt
