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
    // Told of every wait for the queue: all that was launched is done, or (false) nobody knows.
    std::function<void(bool done)> on_wait = nullptr;
  };
  explicit OpRunner(Setup setup) : setup_(std::move(setup)), kind_(setup_->device.kind) {}

  // Runs nothing: every op is written down, so that the forward pass itself tells what it needs.
  OpRunner(DeviceKind kind, int device, std::int64_t tokens, std::vector<NeededOp>* record)
      : kind_(kind), dry_device_(device), dry_tokens_(tokens), record_(record) {}

  // Where the ops that follow stand in the model, for messages: layer -1 is outside the layers.
  void At(int layer, const char* place) {
    layer_ = layer;
    place_ = place;
  }
  void set_cancel(const std::atomic<bool>* cancel) { cancel_ = cancel; }
  int layer() const { return layer_; }
  const char* place() const { return place_; }
  bool dry() const { return record_ != nullptr; }
  DeviceKind device_kind() const { return kind_; }

  // kUnsupported: what Resolve says. kInterrupted: the cancel flag is set. Compiled once, for every
  // op of the list.
  template <class Args>
  Status Run(const Args& args);

  // The layer is done, and `stream`, [rows, cols], is what it leaves: tells whoever watches the
  // ops.
  Status EndLayer(int layer, const float* stream, std::int64_t rows, std::int64_t cols);

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
  Status Execute(const Kernel<Args>& kernel, const Args& args);

  Status RunParts(const std::vector<AnyArgs>& parts);
  std::string Place() const;
  Status Interrupted() const;
  Status Inspect(const float* values, std::int64_t count, std::string_view op,
                 std::string_view kernel) const;
  template <class Args>
  Status CheckOutput(const Args& args, std::string_view kernel);

  std::optional<Setup> setup_;
  DeviceKind kind_;
  int dry_device_ = 0;
  std::int64_t dry_tokens_ = 0;
  std::vector<NeededOp>* record_ = nullptr;
  const std::atomic<bool>* cancel_ = nullptr;
  int layer_ = -1;
  const char* place_ = "";
  std::unordered_map<const void*, Launch> launches_;
};

#define VT_DECLARE_RUN(Op) extern template Status OpRunner::Run(const Op##Args&);
VT_OPS(VT_DECLARE_RUN)
#undef VT_DECLARE_RUN

}  // namespace vt
