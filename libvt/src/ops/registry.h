// The op table: every kernel of every device as one row, and the one answer to "what runs this?".
//
// Resolve is the guard before a load, the report of what a device can do and the dispatcher: a pure
// function of build, device and arguments. It picks the highest priority that supports the
// arguments, ties by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ops/args.h"
#include "ops/part.h"
#include "vt/device.h"
#include "vt/status.h"

namespace vt {

// How good a kernel is, worst first: plain scalar code; built from other ops of the same device;
// written for the device.
enum class Tier { kReference, kComposed, kNative };
std::string_view NameOf(Tier tier);
Result<Tier> ParseTier(std::string_view name);

// A kernel's answer for one set of arguments; reason is empty for yes. It looks at shapes and types
// only, so it may be asked before any memory exists.
struct Support {
  bool yes = true;
  std::string reason;
};

template <class Args>
struct Kernel {
  std::string name;  // "cpu.avx512vnni.q4_k"; unique within an op
  DeviceKind device = DeviceKind::kCpu;
  Tier tier = Tier::kReference;
  int priority = 0;
  std::uint32_t needs = 0;  // CpuFeature bits
  Support (*supports)(const Args&) = nullptr;
  void (*run)(const Args&, Part) = nullptr;
  // The most parts worth running; null means one part per row or item is fine.
  int (*max_parts)(const Args&) = nullptr;
};

template <class... Args>
struct OpList {
  using Rows = std::tuple<std::vector<Kernel<Args>>...>;
};
using AllOps =
    OpList<EmbedArgs, RmsNormArgs, LayerNormArgs, QuantizeArgs, MatmulArgs, RopeTableArgs, RopeArgs,
           KvStoreArgs, AttentionArgs, ActivateArgs, AddArgs, ScaleCapArgs>;

class Registry {
 public:
  template <class Args>
  void Add(Kernel<Args> kernel) {
    std::get<std::vector<Kernel<Args>>>(rows_).push_back(std::move(kernel));
  }
  template <class Args>
  const std::vector<Kernel<Args>>& Rows() const {
    return std::get<std::vector<Kernel<Args>>>(rows_);
  }
  // Calls visit(op name, kernel) for every row of every op, in the order of AllOps.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    std::apply([&](const auto&... lists) { (VisitRows(lists, visit), ...); }, rows_);
  }
  // kInternal when two rows of an op share a name or an op lacks a reference row.
  Status Check() const;

 private:
  template <class Args, class Visit>
  static void VisitRows(const std::vector<Kernel<Args>>& list, Visit&& visit) {
    for (const Kernel<Args>& kernel : list) visit(std::string_view(Args::kOp), kernel);
  }
  template <class Args>
  static const char* OpOf(const std::vector<Kernel<Args>>&) {
    return Args::kOp;
  }
  AllOps::Rows rows_;
};

// The registry of all kernels built into this library.
const Registry& BuiltinKernels();

struct ResolveOptions {
  Tier lowest = Tier::kReference;
  std::map<std::string, std::string, std::less<>> forced;  // op -> kernel name
};

// Why `kernel` cannot run here, or an empty string.
std::string WhyNot(std::string_view kernel_name, Tier tier, std::uint32_t needs,
                   const DeviceInfo& device, const ResolveOptions& options, std::string_view op);
// "op matmul on device cpu: no kernel runs it" with the reason of every row.
Status NoKernel(std::string_view op, const DeviceInfo& device,
                const std::vector<std::string>& reasons);

template <class Args>
Result<const Kernel<Args>*> Resolve(const Registry& registry, const DeviceInfo& device,
                                    const Args& args, const ResolveOptions& options = {}) {
  const Kernel<Args>* best = nullptr;
  for (const Kernel<Args>& kernel : registry.Rows<Args>()) {
    if (best && (kernel.priority < best->priority ||
                 (kernel.priority == best->priority && kernel.name >= best->name))) {
      continue;
    }
    if ((kernel.needs & ~device.features) != 0 || kernel.device != device.kind) continue;
    if (!options.forced.empty() || kernel.tier < options.lowest) {
      if (!WhyNot(kernel.name, kernel.tier, kernel.needs, device, options, Args::kOp).empty())
        continue;
    }
    if (!kernel.supports(args).yes) continue;
    best = &kernel;
  }
  if (best) return best;
  std::vector<std::string> reasons;
  for (const Kernel<Args>& kernel : registry.Rows<Args>()) {
    std::string why = WhyNot(kernel.name, kernel.tier, kernel.needs, device, options, Args::kOp);
    if (why.empty()) why = kernel.supports(args).reason;
    reasons.push_back(kernel.name + ": " + why);
  }
  return NoKernel(Args::kOp, device, reasons);
}

}  // namespace vt
