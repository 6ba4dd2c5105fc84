// A few numbers that stand for a long vector: small enough to be kept in a golden, and near enough
// to tell how far another vector is off.
//
// Of x: its norm, and its sums with fixed patterns of signs. For such sums of x and of y the mean
// square of their differences estimates |x - y|^2 without bias (Achlioptas, Database-friendly
// random projections, 2003), so a fault anywhere in x shows at its true size, give or take a third.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace vt {

inline constexpr std::size_t kSketchSums = 8;

struct Sketch {
  double norm = 0;
  std::array<double, kSketchSums> sums{};
};

// Sum k adds value i where bit k of output i of SplitMix64 (state 0 at first) is 0, and takes it
// off where the bit is 1. The same to the bit wherever `x` is.
Sketch SketchOf(std::span<const float> x);

// Estimates |x - y| / |x|; infinite where a number of either is not finite.
double SketchError(const Sketch& x, const Sketch& y);

}  // namespace vt
