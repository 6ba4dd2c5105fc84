// The functions that start the kernels of one kind of device, each in its own .cu file. They take
// arguments that the row's supports() has taken; pointers are the device's.
#pragma once

#include "gpu/kernel_list.h"
#include "gpu/rt.h"
#include "ops/args.h"

namespace vt::VT_GPU_NAMESPACE {

#define VT_DECLARE_LAUNCHER(name, row, Op, Takes, Launcher) \
  Status Launcher(const Op##Args& args, GpuStream& stream);
VT_GPU_KERNELS(VT_DECLARE_LAUNCHER)
#undef VT_DECLARE_LAUNCHER

}  // namespace vt::VT_GPU_NAMESPACE
