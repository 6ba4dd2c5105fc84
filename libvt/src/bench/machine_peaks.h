// What the processor itself can do: the roof that kernels are measured against.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/thread_pool.h"
#include "vt/device.h"
#include "vt/status.h"

namespace vt {

struct MachinePeaks {
  int threads = 1;
  double memory_gb_per_s = 0;      // reading a buffer that no cache holds, 10^9 bytes a second
  std::uint64_t memory_bytes = 0;  // of that buffer
  double f32_gflops = 0;           // fused multiply-adds of the widest vectors, two operations each
};

// The best of `repetitions` each, a few seconds in all. `buffer_bytes` 0: four times the largest
// cache, from 256 MiB to 2 GiB. kNoMemory: the buffer does not fit; kInterrupted.
Result<MachinePeaks> MeasurePeaks(const DeviceInfo& cpu, ThreadPool& pool,
                                  std::uint64_t buffer_bytes, int repetitions,
                                  const std::atomic<bool>* cancel);

}  // namespace vt
