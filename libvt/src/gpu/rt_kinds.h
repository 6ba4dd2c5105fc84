// Which kinds of GPU this build drives, and by what.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/gpu_probe.h"
#include "gpu/kernel_table.h"
#include "gpu/stream.h"
#include "vt/device.h"

namespace vt {

// What a driver answers.
struct GpuBackend {
  std::vector<std::string> (*archs)();  // compiled for: "sm_90", "compute_120", "gfx1030"
  // Every device that the driver lists, usable or not; none: `reason` says why.
  std::vector<DeviceInfo> (*devices)(std::string& reason);
  // `device` is one of those; `number` is its place in the list.
  Result<std::unique_ptr<DeviceMemory>> (*open_memory)(const DeviceInfo& device, int number);
  Result<std::unique_ptr<GpuStream>> (*open_stream)(const DeviceInfo& device, int number);
};

struct GpuKind {
  DeviceKind kind = DeviceKind::kSim;
  const GpuKernels* kernels = nullptr;  // null: compiled out of this build
  const GpuBackend* backend = nullptr;  // null: compiled out, and of the emulator, which needs none
  std::string archs_option;             // "VT_HIP_ARCHS"
};

// kind is not kCpu.
GpuKind GpuKindOf(DeviceKind kind);

}  // namespace vt
