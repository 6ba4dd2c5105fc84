// Sums and maxima over the threads of a block or of a group of lanes, in an order that depends on
// the block's size alone: not on the warp's size, nor on who comes first.
#pragma once

#include "gpu/rt.h"

namespace vt::VT_GPU_NAMESPACE {

inline constexpr int kMostGroups = kMostThreads / kGroup;

// Threads for a row of `cols` values, one block to a row: enough to hide the memory's latency on
// long rows; on short ones (heads, routers) few, or most would idle.
inline int RowThreads(std::int64_t cols) { return cols <= 512 ? 64 : 256; }

// Every lane of a group gets the sum of all 32.
VT_DEVICE float GroupSum(float value) {
  for (int mask = kGroup / 2; mask > 0; mask /= 2) value += ShuffleXor(value, mask);
  return value;
}
// The maxima take no NaN.
VT_DEVICE float GroupMax(float value) {
  for (int mask = kGroup / 2; mask > 0; mask /= 2) {
    const float other = ShuffleXor(value, mask);
    value = other > value ? other : value;
  }
  return value;
}

// Every thread gets the sum over the block; all of them must call it.
VT_DEVICE float BlockSum(float value) {
  VT_SHARED(float, groups, kMostGroups);
  value = GroupSum(value);
  Barrier();  // an earlier call may still be reading
  if (ThreadIndex() % kGroup == 0) groups[ThreadIndex() / kGroup] = value;
  Barrier();
  float sum = groups[0];
  for (int g = 1; g < ThreadCount() / kGroup; ++g) sum += groups[g];
  return sum;
}
VT_DEVICE float BlockMax(float value) {
  VT_SHARED(float, groups, kMostGroups);
  value = GroupMax(value);
  Barrier();
  if (ThreadIndex() % kGroup == 0) groups[ThreadIndex() / kGroup] = value;
  Barrier();
  float most = groups[0];
  for (int g = 1; g < ThreadCount() / kGroup; ++g) {
    const float other = groups[g];
    most = other > most ? other : most;
  }
  return most;
}

// 1 / sqrt(mean(x^2) + eps) over x[begin, begin + cols), for every thread of the block.
VT_DEVICE float InverseRms(const View<const float>& x, std::int64_t begin, std::int64_t cols,
                           float eps) {
  float sum = 0.0f;
  for (std::int64_t i = ThreadIndex(); i < cols; i += ThreadCount()) {
    const float v = x[begin + i];
    sum = Fma(v, v, sum);
  }
  return 1.0f / SquareRoot(BlockSum(sum) / static_cast<float>(cols) + eps);
}

}  // namespace vt::VT_GPU_NAMESPACE
