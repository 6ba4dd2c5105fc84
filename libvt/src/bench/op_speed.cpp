#include "bench/op_speed.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <type_traits>

#include "bench/statistics.h"
#include "gpu/stream.h"
#include "ops/cases/bound_call.h"
#include "ops/resolve.h"

namespace vt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kSeed = 20240229;
constexpr std::size_t kLeastCalls = 3, kMostCalls = 1000;
constexpr double kSlowBudgets = 10;  // a call that takes as many budgets is timed once

double Product(std::int64_t a, std::int64_t b, std::int64_t c) {
  return 2.0 * static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

// Runs kernels as the engine does: host kernels on the pool, composed ones as their parts.
class PoolRunner {
 public:
  PoolRunner(const DeviceInfo& device, ThreadPool& pool) : device_(device), pool_(pool) {}

  template <class Args>
  Status Run(const Kernel<Args>& kernel, const Args& args) {
    if (kernel.run) {
      const int most = kernel.max_parts ? kernel.max_parts(args) : pool_.threads();
      pool_.Run(std::clamp(most, 1, pool_.threads()), [&](Part part) { kernel.run(args, part); });
      return {};
    }
    if (kernel.launch) {
      if (!stream_) {
        VT_ASSIGN_OR_RETURN(stream_, OpenGpuStream(device_));
      }
      VT_RETURN_IF_ERROR(kernel.launch(args, *stream_));
      return stream_->Synchronize();
    }
    if (!kernel.compose) return UnsupportedError(kernel.name + ": compiled out of this build");
    return RunParts(kernel.compose(args));
  }

 private:
  Status RunParts(const std::vector<AnyArgs>& parts);

  const DeviceInfo& device_;
  ThreadPool& pool_;
  std::unique_ptr<GpuStream> stream_;
};

Status PoolRunner::RunParts(const std::vector<AnyArgs>& parts) {
  for (const AnyArgs& call : parts) {
    VT_RETURN_IF_ERROR(std::visit(
        [&](const auto& part) -> Status {
          const auto chosen = Resolve(BuiltinKernels(), device_, part);
          return chosen.ok() ? Run(**chosen, part) : chosen.status();
        },
        call));
  }
  return {};
}

template <class Args>
Result<OpSpeed> Measure(const Kernel<Args>& kernel, const OpCase& one, DeviceMemory& memory,
                        PoolRunner& runner, int threads, double budget_s) {
  OpSpeed speed{.op = Args::kOp,
                .kernel = kernel.name,
                .tier = std::string(NameOf(kernel.tier)),
                .type = TypeOf(one.call),
                .activations = std::string(ActivationsOf(one.call)),
                .shape = LabelOf(one),
                .rows = std::nullopt,
                .bytes = 0,
                .flops = FlopsOf(one)};
  VT_ASSIGN_OR_RETURN(const auto bound, BoundCall::Make(one, memory, kSeed, threads));
  speed.bytes = bound->bytes();
  const Args& args = std::get<Args>(bound->call());
  if constexpr (std::is_same_v<Args, MatmulArgs>) speed.rows = args.m;
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  Clock::time_point begin = Clock::now();
  VT_RETURN_IF_ERROR(runner.Run(kernel, args));  // warms caches up
  const std::size_t least = seconds_since(begin) > kSlowBudgets * budget_s ? 1 : kLeastCalls;
  std::vector<double> samples;
  begin = Clock::now();
  while (samples.size() < kMostCalls &&
         (samples.size() < least || seconds_since(begin) < budget_s)) {
    const Clock::time_point start = Clock::now();
    VT_RETURN_IF_ERROR(runner.Run(kernel, args));
    samples.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  speed.median_ns = Median(samples);
  speed.calls = static_cast<std::int64_t>(samples.size());
  return speed;
}

// What a kernel is timed on: the op's own cases, those of matmul with each number of rows.
std::vector<OpCase> SpeedCases(std::string_view op, const std::vector<std::int64_t>& rows) {
  std::vector<OpCase> cases;
  for (OpCase& one : SpeedCasesOf(op)) {
    auto* matmul = std::get_if<MatmulArgs>(&one.call);
    if (!matmul) {
      cases.push_back(one);
      continue;
    }
    for (const std::int64_t m : rows) {
      matmul->m = m;
      cases.push_back(one);
    }
  }
  return cases;
}

std::string KindOf(const AnyArgs& call) {
  std::string kind = TypeOf(call) + " " + std::string(ActivationsOf(call));
  if (const auto* matmul = std::get_if<MatmulArgs>(&call)) kind += " " + std::to_string(matmul->m);
  return kind;
}

bool Wanted(const std::vector<std::string>& names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::optional<double> FlopsOf(const OpCase& op_case) {
  const AnyArgs& call = op_case.call;
  if (const auto* a = std::get_if<MatmulArgs>(&call)) return Product(a->m, a->w.rows, a->w.cols);
  if (const auto* a = std::get_if<MatmulAlphaBetaArgs>(&call)) {
    return Product(a->m, a->b.rows, a->b.cols);
  }
  if (const auto* a = std::get_if<MatmulFp8Args>(&call)) {
    return Product(a->m, a->w.rows, a->w.cols);
  }
  if (const auto* a = std::get_if<ExpertMatmulArgs>(&call); a && a->experts > 0) {
    return Product(a->rows, ExpertOutputs(*a), a->w.cols);
  }
  if (const auto* a = std::get_if<ExpertGegluArgs>(&call); a && a->experts > 0) {
    return 2 * Product(a->rows, a->gate.rows / a->experts, a->gate.cols);
  }
  if (const auto* a = std::get_if<HeadMatmulArgs>(&call)) {
    return Product(a->rows, a->w.rows, a->w.cols);
  }
  if (const auto* a = std::get_if<AttentionArgs>(&call)) {
    return Product(a->rows * a->heads, op_case.positions, a->key_dim + a->value_dim);
  }
  if (const auto* a = std::get_if<AddArgs>(&call)) return static_cast<double>(a->count);
  if (const auto* a = std::get_if<MulArgs>(&call)) {
    return static_cast<double>(a->rows) * static_cast<double>(a->cols);
  }
  return std::nullopt;
}

Result<std::vector<OpSpeed>> MeasureOps(const DeviceInfo& device, ThreadPool& pool,
                                        const OpSpeedOptions& options) {
  const Registry& registry = BuiltinKernels();
  VT_ASSIGN_OR_RETURN(const auto memory, OpenDeviceMemory(device));
  PoolRunner runner(device, pool);
  std::vector<OpSpeed> speeds;
  std::size_t total = 0, done = 0;
  registry.ForEach([&](std::string_view, const auto&) { ++total; });
  Status status;
  registry.ForEach([&]<class Args>(std::string_view op, const Kernel<Args>& kernel) {
    if (options.progress) options.progress(done, total);
    ++done;
    if (!status.ok() || !Wanted(options.ops, op) || kernel.device != device.kind) return;
    if (!RowMayRun(ViewOf(kernel), device, {})) return;
    std::set<std::string> seen;
    // Plain code takes seconds for many rows and is as fast on each of them.
    const bool plain = kernel.tier == Tier::kReference && !options.rows.empty();
    const std::vector<std::int64_t> rows = plain ? std::vector{options.rows.front()} : options.rows;
    for (const OpCase& one : SpeedCases(op, rows)) {
      if (options.cancel && *options.cancel) {
        status = Status(Code::kInterrupted, "interrupted while measuring ops");
        return;
      }
      const Args& args = std::get<Args>(one.call);
      if (one.refused || !Wanted(options.types, TypeOf(one.call))) continue;
      if (AskKernel(registry, device, kernel, args, {}).refusal != Refusal::kNone) continue;
      if (options.best_only && ResolveAny(registry, device, one.call, {}).kernel != kernel.name) {
        continue;
      }
      // Where operations are not counted, once; others once a type, form and number of rows.
      if (!seen.insert(FlopsOf(one) ? KindOf(one.call) : "").second) continue;
      Result<OpSpeed> speed =
          Measure(kernel, one, *memory, runner, pool.threads(), options.budget_s);
      if (speed.ok()) {
        speeds.push_back(std::move(*speed));
      } else if (speed.status().code() != Code::kNoMemory) {
        status = speed.status();
        return;
      }
    }
  });
  VT_RETURN_IF_ERROR(status);
  return speeds;
}

Result<OpSpeed> MeasureCase(const DeviceInfo& device, ThreadPool& pool, const OpCase& op_case,
                            double budget_s) {
  VT_ASSIGN_OR_RETURN(const auto memory, OpenDeviceMemory(device));
  PoolRunner runner(device, pool);
  return std::visit(
      [&](const auto& args) -> Result<OpSpeed> {
        VT_ASSIGN_OR_RETURN(const auto* kernel, Resolve(BuiltinKernels(), device, args));
        return Measure(*kernel, op_case, *memory, runner, pool.threads(), budget_s);
      },
      op_case.call);
}

}  // namespace vt
