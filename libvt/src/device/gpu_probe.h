// What the device layer asks of the GPU backends; libvt/src/gpu answers.
#pragma once

#include <memory>
#include <vector>

#include "device/device_memory.h"
#include "vt/device.h"
#include "vt/status.h"

namespace vt {

struct GpuBackendProbe {
  BackendInfo info;                 // registered, or the reason why not
  std::vector<DeviceInfo> devices;  // "cuda:0", "cuda:1", ..; empty when not registered
};

// kind: kCuda or kHip. Never fails and, where the backend is not built or there is no driver, loads
// nothing.
GpuBackendProbe ProbeGpuBackend(DeviceKind kind);

// Of a probed device of kind kCuda or kHip. kUnsupported: its backend is not built.
Result<std::unique_ptr<DeviceMemory>> OpenGpuMemory(const DeviceInfo& device);

}  // namespace vt
