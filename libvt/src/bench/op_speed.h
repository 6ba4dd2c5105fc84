// How fast each kernel is on shapes that models have.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "ops/cases/op_cases.h"
#include "vt/device.h"

namespace vt {

struct OpSpeed {
  std::string op, kernel, tier, type, activations, shape;
  std::optional<std::int64_t> rows;  // of activations, in matmul
  std::uint64_t bytes = 0;           // inputs and outputs, each once
  std::optional<double> flops;       // of a call, as FlopsOf counts
  double median_ns = 0;
  std::int64_t calls = 0;  // that were timed
  double gb_per_s() const { return median_ns > 0 ? static_cast<double>(bytes) / median_ns : 0; }
  std::optional<double> gflops() const {
    return flops && median_ns > 0 ? std::optional(*flops / median_ns) : std::nullopt;
  }
  // Arithmetic intensity: operations for each byte that must move.
  std::optional<double> flops_per_byte() const {
    return flops && bytes > 0 ? std::optional(*flops / static_cast<double>(bytes)) : std::nullopt;
  }
};

struct OpSpeedOptions {
  std::vector<std::string> ops;          // empty: all
  std::vector<std::string> types;        // empty: all
  bool best_only = false;                // only the kernel that the table would choose
  std::vector<std::int64_t> rows = {1};  // of activations in matmul, each timed
  double budget_s = 0.03;                // of timed calls for each row
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(std::size_t done, std::size_t total)> progress;
};

// Operations of a call that is products and sums alone: two for each weight and row that are
// multiplied, and in attention for each value of a key and of a cell of values; of add and mul one
// for each value. None of others.
std::optional<double> FlopsOf(const OpCase& op_case);

// Every kernel that this device can run, on the cases of SpeedCasesOf that it takes: of ops with a
// weight one for each type, of others the first. kInterrupted.
Result<std::vector<OpSpeed>> MeasureOps(const DeviceInfo& device, ThreadPool& pool,
                                        const OpSpeedOptions& options);

// One case with the kernel that the table chooses for it. kUnsupported: none.
Result<OpSpeed> MeasureCase(const DeviceInfo& device, ThreadPool& pool, const OpCase& op_case,
                            double budget_s);

}  // namespace vt
