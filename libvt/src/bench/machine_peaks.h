// What the processor itself can do: the roof that kernels are measured against.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "vt/device.h"
#include "vt/status.h"

namespace vt {

struct ReadRate {
  std::uint64_t bytes = 0;
  double gb_per_s = 0;
};

struct MachinePeaks {
  int threads = 1;
  double memory_gb_per_s = 0;      // reading a buffer that no cache holds, 10^9 bytes a second
  std::uint64_t memory_bytes = 0;  // of that buffer
  // Reading as many bytes over and over, each thread its share: what caches give. By size; the
  // last is the memory's.
  std::vector<ReadRate> reads;
  double f32_gflops = 0;  // fused multiply-adds of the widest vectors, two operations each
  std::optional<double> int8_gops;  // products of bytes added up in 32 bits, two operations each
};

// The best of `repetitions` each, a few seconds in all. `buffer_bytes` 0: four times the largest
// cache, from 256 MiB to 2 GiB. kNoMemory: the buffer does not fit; kInterrupted.
Result<MachinePeaks> MeasurePeaks(const DeviceInfo& cpu, ThreadPool& pool,
                                  std::uint64_t buffer_bytes, int repetitions,
                                  const std::atomic<bool>* cancel);

// Of reading `bytes`: between two sizes that were measured linear in their logarithms, beyond them
// the nearest. `peaks.reads` must not be empty.
double ReadRateAt(const MachinePeaks& peaks, std::uint64_t bytes);

}  // namespace vt
