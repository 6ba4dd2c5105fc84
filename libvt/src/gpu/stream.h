// The queue that kernels of one GPU, or of its emulator on the host, run on in order.
#pragma once

#include <memory>

#include "vt/device.h"
#include "vt/status.h"

namespace vt {

class GpuStream {
 public:
  virtual ~GpuStream() = default;
  // Waits for all that was launched; kDevice with what went wrong in any of it (of the emulator: an
  // access outside a buffer, with kernel, block and thread).
  virtual Status Synchronize() = 0;
};

// Of a probed cuda, hip or sim device.
Result<std::unique_ptr<GpuStream>> OpenGpuStream(const DeviceInfo& device);

}  // namespace vt
