// What kernels with one thread to a value share.
#pragma once

#include "gpu/rt.h"

namespace vt::VT_GPU_NAMESPACE {

// A multiple of every warp; small enough that several blocks share a multiprocessor. Such kernels
// wait for memory and nothing else.
inline constexpr int kPointThreads = 256;

inline LaunchShape PointwiseShape(std::int64_t count) {
  return {.blocks = (count + kPointThreads - 1) / kPointThreads, .threads = kPointThreads};
}
VT_DEVICE std::int64_t PointIndex() { return BlockIndex() * kPointThreads + ThreadIndex(); }

}  // namespace vt::VT_GPU_NAMESPACE
