#include "bench/kernel_rates.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "bench/op_speed.h"
#include "bench/statistics.h"
#include "ops/cases/bound_call.h"
#include "ops/matmul_policy.h"
#include "ops/resolve.h"
#include "place/op_work.h"

namespace vt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kSeed = 20240229;
// As large as the matrices of a small model together, and more than the caches of most machines.
constexpr std::uint64_t kBuffer = std::uint64_t{256} << 20;
// Of a run, which is long enough for the clock.
constexpr std::uint64_t kRunBytes = std::uint64_t{16} << 20;
constexpr double kBudgetSeconds = 0.08;
// All is measured so often, and the median counts: what disturbs a machine lasts seconds.
constexpr int kRounds = 3;
constexpr std::size_t kMostRuns = 1000;
constexpr std::int64_t kRows = 1024, kCols = kRateCols, kBatch = 256;

double Seconds(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Runs a call as the engine does: resolved, then on the pool.
template <class Args>
Status RunCall(const DeviceInfo& device, ThreadPool& pool, const Args& args) {
  VT_ASSIGN_OR_RETURN(const auto* kernel, Resolve(BuiltinKernels(), device, args));
  if (!kernel->run) return UnsupportedError(kernel->name + ": runs no threads");
  const int most = kernel->max_parts ? kernel->max_parts(args) : pool.threads();
  pool.Run(std::clamp(most, 1, pool.threads()), [&](Part part) { kernel->run(args, part); });
  return {};
}

OpCase ProductCase(const DeviceInfo& device, DType type, std::int64_t rows) {
  MatmulArgs args;
  args.w = {.type = type, .rows = kRows, .cols = kCols};
  args.act = MatmulActType(type, kCols, false, device.kind);
  args.m = rows;
  OpCase one;
  one.call = args;
  one.optional = false;
  return one;
}

struct Unmap {
  void operator()(std::byte* bytes) const { ::munmap(bytes, kBuffer); }
};

// In small pages, as files are mapped: the way to the page tables is part of what a matrix costs.
std::byte* MapBuffer() {
  void* buffer =
      ::mmap(nullptr, kBuffer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer == MAP_FAILED) return nullptr;
  static_cast<void>(::madvise(buffer, kBuffer, MADV_NOHUGEPAGE));
  return static_cast<std::byte*>(buffer);
}

class Meter {
 public:
  Meter(const DeviceInfo& device, ThreadPool& pool, const std::atomic<bool>* cancel)
      : device_(device), pool_(pool), cancel_(cancel), buffer_(MapBuffer()) {}

  // One row times matrix after matrix of the buffer.
  Result<double> BytesPerSecond(DType type) {
    if (!buffer_) return NoMemoryError("calibrate: no room for 256 MiB of weights");
    VT_ASSIGN_OR_RETURN(const auto memory, OpenDeviceMemory(device_));
    VT_ASSIGN_OR_RETURN(const auto bound, BoundCall::Make(ProductCase(device_, type, 1), *memory,
                                                          kSeed, pool_.threads()));
    MatmulArgs args = std::get<MatmulArgs>(bound->call());
    const std::uint64_t bytes = RowBytes(type, kCols) * kRows;
    const std::uint64_t matrices = kBuffer / bytes;
    for (std::uint64_t i = 0; i < matrices; ++i) {
      std::memcpy(buffer_.get() + i * bytes, args.w.data, bytes);
    }
    const std::uint64_t per_run = std::max<std::uint64_t>(1, kRunBytes / bytes);
    std::vector<double> runs;
    std::uint64_t next = 0;
    const Clock::time_point begin = Clock::now();
    for (int run = 0; run < 3 || Seconds(begin) < kBudgetSeconds; ++run) {
      const Clock::time_point start = Clock::now();
      for (std::uint64_t i = 0; i < per_run; ++i, next = (next + 1) % matrices) {
        args.w.data = buffer_.get() + next * bytes;
        VT_RETURN_IF_ERROR(RunCall(device_, pool_, args));
      }
      runs.push_back(Seconds(start));
      if (cancel_ && *cancel_) return Status(Code::kInterrupted, "interrupted");
    }
    return static_cast<double>(bytes * per_run) / Median(runs);
  }

  // The seconds of a case.
  Result<double> SecondsOf(const OpCase& one) {
    VT_ASSIGN_OR_RETURN(const auto memory, OpenDeviceMemory(device_));
    VT_ASSIGN_OR_RETURN(const auto bound, BoundCall::Make(one, *memory, kSeed, pool_.threads()));
    AnyArgs call = bound->call();
    std::vector<AttentionRow> rows;
    if (auto* attention = std::get_if<AttentionArgs>(&call)) {
      // The last rows of a sequence, each of which sees what is before it.
      for (std::int64_t r = 0; r < attention->rows; ++r) {
        rows.push_back({attention->row[0].pages, 0,
                        static_cast<std::int32_t>(one.positions - attention->rows + r)});
      }
      attention->row = rows.data();
    }
    std::vector<double> runs;
    const Clock::time_point begin = Clock::now();
    while (runs.size() < 3 || (Seconds(begin) < kBudgetSeconds && runs.size() < kMostRuns)) {
      const Clock::time_point start = Clock::now();
      VT_RETURN_IF_ERROR(
          std::visit([&](const auto& args) { return RunCall(device_, pool_, args); }, call));
      runs.push_back(Seconds(start));
      if (cancel_ && *cancel_) return Status(Code::kInterrupted, "interrupted");
    }
    return Median(runs);
  }

 private:
  const DeviceInfo& device_;
  ThreadPool& pool_;
  const std::atomic<bool>* cancel_;
  std::unique_ptr<std::byte, Unmap> buffer_;
};

Status AddProducts(const DeviceInfo& cpu, Meter& meter, DType type, KernelRates& rates) {
  const OpCase batch = ProductCase(cpu, type, kBatch);
  const Verdict verdict = ResolveAny(BuiltinKernels(), cpu, batch.call, {});
  if (verdict.refusal != Refusal::kNone || verdict.tier == Tier::kReference) return {};
  VT_ASSIGN_OR_RETURN(const double bytes, meter.BytesPerSecond(type));
  VT_ASSIGN_OR_RETURN(const double seconds, meter.SecondsOf(batch));
  rates.kernels.push_back({std::string(NameOf(type)), bytes * 1e-9,
                           *FlopsOf(batch) / seconds * 1e-12,
                           "one row times matrices of 256 MiB, " + verdict.kernel,
                           "matmul " + LabelOf(batch) + ", " + verdict.kernel});
  return {};
}

// Few rows and many; heads of the sizes that small and large models have, which share keys.
Status AddAttention(Meter& meter, KernelRates& rates) {
  constexpr std::int64_t kDims[] = {64, 128};
  constexpr std::int64_t kManyRows = 128, kManyPositions = 512, kDecodePositions = 2048;
  std::string bytes_of, products_of;
  double bytes = 0, bytes_s = 0, operations = 0, operations_s = 0;
  for (const std::int64_t dim : kDims) {
    OpCase one = SpeedCasesOf("attention").front();
    one.optional = false;
    auto& args = std::get<AttentionArgs>(one.call);
    args.key_dim = args.value_dim = dim;
    args.softcap = 0;
    args.rows = 1;
    one.positions = kDecodePositions;
    VT_ASSIGN_OR_RETURN(const double row_s, meter.SecondsOf(one));
    bytes += WorkOf(one.call, kDecodePositions).cell_bytes;
    bytes_s += row_s;
    bytes_of += (bytes_of.empty() ? "attention " : "; ") + LabelOf(one);
    args.rows = kManyRows;
    one.positions = kManyPositions;
    VT_ASSIGN_OR_RETURN(const double rows_s, meter.SecondsOf(one));
    operations += WorkOf(one.call, kManyPositions - 0.5 * kManyRows).operations;
    operations_s += rows_s;
    products_of += (products_of.empty() ? "attention " : "; ") + LabelOf(one);
  }
  rates.kernels.push_back({std::string(kAttentionRate), bytes / bytes_s * 1e-9,
                           operations / operations_s * 1e-12, bytes_of, products_of});
  return {};
}

// A product so small that what is timed is its way to the kernel and back.
Status AddLaunch(const DeviceInfo& cpu, Meter& meter, KernelRates& rates) {
  OpCase tiny = ProductCase(cpu, DType::kQ8_0, 1);
  std::get<MatmulArgs>(tiny.call).w.rows = 16;
  std::get<MatmulArgs>(tiny.call).w.cols = 32;
  OpCase sum;
  sum.call = AddArgs{.count = 64};
  VT_ASSIGN_OR_RETURN(const double product_s, meter.SecondsOf(tiny));
  VT_ASSIGN_OR_RETURN(const double sum_s, meter.SecondsOf(sum));
  rates.launch_us = (product_s + sum_s) / 2 * 1e6;
  rates.launch_of = "the mean of a matmul of 16x32 and an add of 64 values";
  return {};
}

}  // namespace

Result<KernelRates> MeasureKernelRates(
    const DeviceInfo& cpu, ThreadPool& pool, const std::atomic<bool>* cancel,
    const std::function<void(std::size_t, std::size_t)>& progress) {
  std::vector<KernelRates> rounds;
  Meter meter(cpu, pool, cancel);
  const auto types = AllDTypes();
  for (std::size_t round = 0; round < kRounds; ++round) {
    KernelRates& rates = rounds.emplace_back();
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (progress) progress(round * types.size() + i, kRounds * types.size());
      VT_RETURN_IF_ERROR(AddProducts(cpu, meter, types[i].type, rates));
    }
    VT_RETURN_IF_ERROR(AddAttention(meter, rates));
    VT_RETURN_IF_ERROR(AddLaunch(cpu, meter, rates));
  }
  const auto median = [&](auto value) {
    std::vector<double> values;
    values.reserve(rounds.size());
    for (const KernelRates& rates : rounds) values.push_back(value(rates));
    return Median(values);
  };
  KernelRates typical = rounds.front();
  typical.launch_us = median([](const KernelRates& r) { return r.launch_us; });
  for (std::size_t i = 0; i < typical.kernels.size(); ++i) {
    typical.kernels[i].gb_per_s =
        median([&](const KernelRates& r) { return r.kernels[i].gb_per_s; });
    typical.kernels[i].tflops = median([&](const KernelRates& r) { return r.kernels[i].tflops; });
  }
  return typical;
}

}  // namespace vt
