// The launchers of one kind of device, for rows of the op table.
#pragma once

#include "gpu/kernel_list.h"
#include "ops/args.h"
#include "vt/status.h"

namespace vt {

class GpuStream;

struct GpuKernels {
#define VT_LAUNCHER(name, row, Op, Takes, Launcher) \
  Status (*name)(const Op##Args&, GpuStream&) = nullptr;
  VT_GPU_KERNELS(VT_LAUNCHER)
#undef VT_LAUNCHER
};

}  // namespace vt
