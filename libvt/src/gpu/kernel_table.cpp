// Compiled once for each kind of device in the build.
#include "gpu/kernel_table.h"

#include "gpu/launchers.h"

namespace vt::VT_GPU_NAMESPACE {

extern const GpuKernels kKernels;
#define VT_LAUNCHER(name, row, Op, Takes, Launcher) .name = Launcher,
const GpuKernels kKernels = {VT_GPU_KERNELS(VT_LAUNCHER)};
#undef VT_LAUNCHER

}  // namespace vt::VT_GPU_NAMESPACE
