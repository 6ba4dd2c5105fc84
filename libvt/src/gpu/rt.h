// The runtime of all kernels: one vocabulary over CUDA, HIP and the emulator on the host. This file
// (with the rt_* sources) alone knows which of them a file is compiled for; each kind's code lives
// in a namespace of its own, so that all of them link into one program.
//
// A kernel is a function marked VT_KERNEL over plain values and Views, started by Launch. Blocks
// are one-dimensional. A warp may have 32 or 64 lanes: kernels work in groups of kGroup lanes,
// which every warp is a whole number of, so that results do not depend on the warp.
#pragma once

#include <cstdint>

#include "vt/status.h"

#if defined(VT_GPU_CUDA)
#include <cuda_runtime.h>
#define VT_GPU_NAMESPACE gpu_cuda
#define VT_GPU_API(name) cuda##name
#define VT_GPU_KIND DeviceKind::kCuda
#elif defined(VT_GPU_HIP)
#if defined(__HIP__)
#include <hip/hip_runtime.h>
#else
#include <hip/hip_runtime_api.h>
#endif
#define VT_GPU_NAMESPACE gpu_hip
#define VT_GPU_API(name) hip##name
#define VT_GPU_KIND DeviceKind::kHip
#else
#define VT_GPU_NAMESPACE gpu_sim
#endif

namespace vt {

class GpuStream;

namespace VT_GPU_NAMESPACE {

// Lanes that may exchange values by ShuffleXor with masks below it, whatever the warp's size.
inline constexpr int kGroup = 32;
inline constexpr int kMostThreads = 1024;  // of a block

struct LaunchShape {
  std::int64_t blocks = 0;  // below 2^31
  int threads = 0;          // of a block; a multiple of kGroup
  int shared_bytes = 0;     // dynamic shared memory
};

}  // namespace VT_GPU_NAMESPACE
}  // namespace vt

#if defined(VT_GPU_API)
#include "gpu/rt_native.h"
#else
#include "gpu/rt_emulated.h"
#endif
