// Memory of one device: where its weights, caches and buffers are allocated, and nowhere else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/arena.h"
#include "vt/device.h"
#include "vt/status.h"

namespace vt {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  // Zeroed memory, aligned to 64 bytes, until Free. kNoMemory: names the device, the bytes asked
  // for and those in use.
  virtual Result<void*> Allocate(std::uint64_t bytes) = 0;
  virtual void Free(void* memory) = 0;

  // Copies between the host and this device's memory; done when they return.
  virtual Status Upload(void* to, const void* from, std::uint64_t bytes) = 0;
  virtual Status Download(void* to, const void* from, std::uint64_t bytes) = 0;

  virtual std::uint64_t bytes_in_use() const = 0;
};

// Of a probed device. cpu: pages of the host. sim: host pages that never exceed the simulated total
// or ceiling, and fail where its profile says. cuda, hip: the driver's.
Result<std::unique_ptr<DeviceMemory>> OpenDeviceMemory(const DeviceInfo& device);

// An arena of exactly `bytes` of `memory`, which must outlive it; nothing is allocated for 0.
Result<Arena> MakeArena(DeviceMemory& memory, std::uint64_t bytes);

}  // namespace vt
