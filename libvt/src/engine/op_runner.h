// The one way from the forward pass to kernels: resolve, run, count, check.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/thread_pool.h"
#include "engine/op_walk.h"
#include "gpu/stream.h"
#include "ops/op_facts.h"
#include "ops/resolve.h"
#include "vt/engine.h"
#include "vt/status.h"

namespace vt {

class OpRunner {
 public:
  struct Setup {
    const Registry& registry;
    const DeviceInfo& device;
    ResolveOptions resolve;
    ThreadPool* pool = nullptr;
    GpuStream* stream = nullptr;  // of a device that has one
    bool check = false;           // stop at the first op whose result has a NaN
    std::function<Status(const OpEvent&)> on_op = nullptr;
  };
  explicit OpRunner(Setup setup) : setup_(std::move(setup)), kind_(setup_->device.kind) {}

  // Runs nothing: every op is written down, so that the forward pass itself tells what it needs.
  OpRunner(DeviceKind kind, std::vector<NeededOp>* record) : kind_(kind), record_(record) {}

  // Where the ops that follow stand in the model, for messages: layer -1 is outside the layers.
  void At(int layer, const char* place) {
    layer_ = layer;
    place_ = place;
  }
  void set_cancel(const std::atomic<bool>* cancel) { cancel_ = cancel; }
  bool dry() const { return record_ != nullptr; }
  DeviceKind device_kind() const { return kind_; }

  // kUnsupported: what Resolve says. kInterrupted: the cancel flag is set.
  template <class Args>
  Status Run(const Args& args) {
    if (record_) {
      record_->push_back({layer_, place_, args});
      return {};
    }
    if (cancel_ && cancel_->load(std::memory_order_relaxed)) return Interrupted();
    Result<const Kernel<Args>*> found =
        Resolve(setup_->registry, setup_->device, args, setup_->resolve);
    if (!found.ok()) return found.status().Annotate(Place());
    const Kernel<Args>& kernel = **found;
    VT_RETURN_IF_ERROR(Execute(kernel, args));
    Launch& launch = launches_.try_emplace(&kernel, Launch{Args::kOp, kernel.name, kernel.tier, 0})
                         .first->second;
    ++launch.count;
    if (setup_->check || setup_->on_op) return CheckOutput(args, kernel.name);
    return {};
  }

  // Waits for what runs on the device's queue, so that the host may read results.
  Status Synchronize();

  // Sorted by op and kernel.
  std::vector<KernelLaunches> Launches() const;

 private:
  struct Launch {
    const char* op;
    std::string kernel;
    Tier tier;
    std::uint64_t count;
  };

  template <class Args>
  Status Execute(const Kernel<Args>& kernel, const Args& args) {
    if (kernel.compose) {
      for (const AnyArgs& part : kernel.compose(args)) {
        VT_RETURN_IF_ERROR(std::visit([&](const auto& call) { return Run(call); }, part));
      }
      return {};
    }
    if (kernel.launch) return kernel.launch(args, *setup_->stream);
    VT_RETURN_IF_ERROR(Synchronize());
    int parts = setup_->pool->threads();
    if (kernel.max_parts) parts = std::min(parts, kernel.max_parts(args));
    setup_->pool->Run(parts, [&](Part part) { kernel.run(args, part); });
    return {};
  }

  std::string Place() const;
  Status Interrupted() const;
  Status Inspect(const float* values, std::int64_t count, std::string_view op,
                 std::string_view kernel) const;
  template <class Args>
  Status CheckOutput(const Args& args, std::string_view kernel);

  std::optional<Setup> setup_;
  DeviceKind kind_;
  std::vector<NeededOp>* record_ = nullptr;
  const std::atomic<bool>* cancel_ = nullptr;
  int layer_ = -1;
  const char* place_ = "";
  std::unordered_map<const void*, Launch> launches_;
};

template <class Args>
Status OpRunner::CheckOutput(const Args& args, std::string_view kernel) {
  VT_RETURN_IF_ERROR(Synchronize());
  const OpOutput output = FactsOf<Args>().output(args);
  return Inspect(output.values, output.count, Args::kOp, kernel);
}

}  // namespace vt
