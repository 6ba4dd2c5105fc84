// What the kernels of this machine's cpu reach: the rates that predicted speeds are made of.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "vt/device.h"
#include "vt/status.h"

namespace vt {

struct MeasuredKernel {
  std::string name;  // a weight type, or kAttentionRate
  double gb_per_s = 0;
  double tflops = 0;
  std::string bytes_of, products_of;  // what was run
};

struct KernelRates {
  std::vector<MeasuredKernel> kernels;
  double launch_us = 0;
  std::string launch_of;
};

// Of every weight type that a matmul takes, with the kernel that the table chooses: one row times
// matrices that no cache holds, and many rows times one matrix. Medians of several runs, and of
// three such rounds; some 25 s in all. kInterrupted.
Result<KernelRates> MeasureKernelRates(
    const DeviceInfo& cpu, ThreadPool& pool, const std::atomic<bool>* cancel,
    const std::function<void(std::size_t, std::size_t)>& progress);

}  // namespace vt
