// Searches that the encoders of sub-block formats share: where a format stores a small integer per
// sub-block, its scale is that integer times the block's f16.
#pragma once

#include <cstdint>

namespace vt {

// To the nearest whole number, ties to even; |value| below 2^22.
inline float RoundSmall(float value) { return value + 0x1.8p23f - 0x1.8p23f; }

// The best real scale of one sub-block, and how the squared error grows away from it.
struct SubScale {
  double scale = 0;
  double weight = 0;  // error added by an offset of e: weight e^2
};

// The f16 (as f32) of which whole multiples low..high are nearest to the scales, weighted: each
// scale is tried as a small multiple, the farthest also as those of the outer halves of the range.
// 0 where all scales are.
float CommonScale(const SubScale* subs, int count, int low, int high);

// round(scale / common), held to low..high; 0 where common is 0.
int Multiple(double scale, float common, int low, int high);

}  // namespace vt
