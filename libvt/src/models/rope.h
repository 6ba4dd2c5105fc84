// Rotary frequencies of a RopeSpec.
//
// Unscaled: f_i = base^(-2i / dims) / factors_i. Linear and LongRoPE: f_i / factor. YaRN (Peng et
// al. 2023, arXiv 2309.00071): between f_i / factor and f_i by a ramp over the pairs, and the
// rotation's magnitude grows with ln(factor).
#pragma once

#include <cstdint>
#include <vector>

#include "vt/model_spec.h"

namespace vt {

struct RopeFrequencies {
  std::vector<double> inv_freq;  // [dims / 2]
  double magnitude = 1.0;        // multiplies cos and sin
};

// `factors`: [dims / 2] values of the tensor that divides the frequencies, or null.
RopeFrequencies ComputeRope(const RopeSpec& rope, const float* factors);

// The magnitude alone.
double RopeMagnitude(const RopeSpec& rope);

// Which of the three factor tensors applies to contexts of `context` positions; empty: none.
const WeightRef& RopeFactors(const RopeSpec& rope, std::uint64_t context);

}  // namespace vt
