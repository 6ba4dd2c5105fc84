// The one way from the forward pass to kernels: resolve, run on the pool, count, check.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/thread_pool.h"
#include "ops/registry.h"
#include "vt/engine.h"
#include "vt/status.h"

namespace vt {

class OpRunner {
 public:
  // Without a pool nothing runs: Run only resolves, so that the forward pass itself is the guard
  // that is asked before anything is loaded.
  OpRunner(const Registry& registry, const DeviceInfo& device, ResolveOptions resolve,
           ThreadPool* pool, bool check)
      : registry_(registry),
        device_(device),
        resolve_(std::move(resolve)),
        pool_(pool),
        check_(check) {}

  // Where the ops that follow stand in the model, for messages: layer -1 is outside the layers.
  void At(int layer, const char* place) {
    layer_ = layer;
    place_ = place;
  }
  void set_cancel(const std::atomic<bool>* cancel) { cancel_ = cancel; }
  bool dry() const { return pool_ == nullptr; }

  template <class Args>
  Status Run(const Args& args) {
    Result<const Kernel<Args>*> found = Resolve(registry_, device_, args, resolve_);
    if (!found.ok()) return found.status().Annotate(Place());
    const Kernel<Args>& kernel = **found;
    if (dry()) {
      launches_.try_emplace(&kernel, Launch{Args::kOp, kernel.name, kernel.tier, 0});
      return {};
    }
    if (cancel_ && cancel_->load(std::memory_order_relaxed)) return Interrupted();
    int parts = pool_->threads();
    if (kernel.max_parts) parts = std::min(parts, kernel.max_parts(args));
    pool_->Run(parts, [&](Part part) { kernel.run(args, part); });
    Launch& launch = launches_.try_emplace(&kernel, Launch{Args::kOp, kernel.name, kernel.tier, 0})
                         .first->second;
    ++launch.count;
    if (check_) return CheckOutput(args, kernel.name);
    return {};
  }

  // Sorted by op and kernel.
  std::vector<KernelLaunches> Launches() const;

 private:
  struct Launch {
    const char* op;
    std::string kernel;
    Tier tier;
    std::uint64_t count;
  };

  std::string Place() const;
  Status Interrupted() const;
  Status ScanForNan(const float* values, std::int64_t count, std::string_view op,
                    std::string_view kernel) const;
  template <class Args>
  Status CheckOutput(const Args& args, std::string_view kernel) const;

  const Registry& registry_;
  const DeviceInfo& device_;
  ResolveOptions resolve_;
  ThreadPool* pool_;
  bool check_;
  const std::atomic<bool>* cancel_ = nullptr;
  int layer_ = -1;
  const char* place_ = "";
  std::unordered_map<const void*, Launch> launches_;
};

// The f32 result of an op: pointer and count.
struct OpOutput {
  const float* values = nullptr;
  std::int64_t count = 0;
};
inline OpOutput OutputOf(const EmbedArgs& a) { return {a.out, a.rows * a.table.cols}; }
inline OpOutput OutputOf(const RmsNormArgs& a) { return {a.out, a.rows * a.cols}; }
inline OpOutput OutputOf(const LayerNormArgs& a) { return {a.out, a.rows * a.cols}; }
inline OpOutput OutputOf(const QuantizeArgs& a) {
  return {a.out.scales, a.rows * (a.cols / kQ15Group)};
}
inline OpOutput OutputOf(const MatmulArgs& a) { return {a.out, a.m * a.w.rows}; }
inline OpOutput OutputOf(const RopeTableArgs& a) { return {a.table, a.rows * 2 * a.pairs}; }
inline OpOutput OutputOf(const RopeArgs& a) { return {a.x, a.rows * a.heads * a.head_dim}; }
inline OpOutput OutputOf(const KvStoreArgs& a) { return {a.x, a.rows * a.cols}; }
inline OpOutput OutputOf(const AttentionArgs& a) { return {a.out, a.rows * a.heads * a.value_dim}; }
inline OpOutput OutputOf(const ActivateArgs& a) { return {a.out, a.count}; }
inline OpOutput OutputOf(const AddArgs& a) { return {a.out, a.count}; }
inline OpOutput OutputOf(const ScaleCapArgs& a) { return {a.x, a.count}; }

template <class Args>
Status OpRunner::CheckOutput(const Args& args, std::string_view kernel) const {
  const OpOutput output = OutputOf(args);
  return ScanForNan(output.values, output.count, Args::kOp, kernel);
}

}  // namespace vt
