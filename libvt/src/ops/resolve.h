// The one answer to "what runs this op here?": the guard before a load, the report of what a device
// can do, and the dispatcher all ask Resolve. A pure function of build, device and arguments: the
// highest priority that supports the arguments, ties by name, whatever the order of registration.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op_facts.h"
#include "ops/registry.h"

namespace vt {

struct ResolveOptions {
  Tier lowest = Tier::kReference;
  std::map<std::string, std::string, std::less<>> forced;  // op -> kernel name
};

// Why a kernel cannot run, from the farthest cause to the nearest.
enum class Refusal {
  kNone,
  kNotWritten,    // no kernel for this kind of device exists
  kNotBuilt,      // compiled out of this build
  kMachineLacks,  // built, but the machine lacks what it needs
  kForced,        // another kernel is forced
  kTier,          // below the lowest tier allowed
  kNotKept,       // the device does not hold weights of this type
  kNotTaken,      // this shape or type is not taken
};
std::string_view NameOf(Refusal refusal);  // "not_written", "not_built", ...

// What became of one row (or, with an empty kernel, of the whole op).
struct Verdict {
  std::string kernel = {};
  Tier tier = Tier::kReference;
  int priority = 0;
  Refusal refusal = Refusal::kNone;
  std::string reason = {};  // empty when it can run
};

// The nearest cause among verdicts that all refuse; of equals that of the best tier.
const Verdict& NearestCause(std::span<const Verdict> verdicts);

// "op matmul on device hip:0: no kernel runs it: …", the reason of every row, and what to do.
Status NoKernel(std::string_view op, const DeviceInfo& device, std::span<const Verdict> verdicts,
                const ResolveOptions& options);

// What depends on neither arguments nor shapes; kNone when the row may be asked for those.
struct RowView {
  std::string_view op;
  std::string_view name;
  DeviceKind device;
  Tier tier;
  std::uint32_t needs;
  bool built;
};
Verdict JudgeRow(const RowView& row, const DeviceInfo& device, const ResolveOptions& options);
bool RowMayRun(const RowView& row, const DeviceInfo& device, const ResolveOptions& options);

// Whether `device` holds weights of `type`; the reason when not.
Support Keeps(const DeviceInfo& device, DType type);

// The type of the weight that the device must hold for the op.
template <class Args>
std::optional<DType> WeightTypeOf(const Args& args) {
  const auto weight_type = FactsOf<Args>().weight_type;
  return weight_type ? std::optional<DType>(weight_type(args)) : std::nullopt;
}

// The verdict on any call, as Resolve would decide it: the chosen kernel, or the nearest cause.
Verdict ResolveAny(const Registry& registry, const DeviceInfo& device, const AnyArgs& call,
                   const ResolveOptions& options);

template <class Args>
RowView ViewOf(const Kernel<Args>& kernel) {
  return {Args::kOp, kernel.name, kernel.device, kernel.tier, kernel.needs, kernel.built()};
}

// What `kernel` answers for these arguments on a device of its kind that may run the row.
template <class Args>
Verdict AskKernel(const Registry& registry, const DeviceInfo& device, const Kernel<Args>& kernel,
                  const Args& args, const ResolveOptions& options) {
  Verdict verdict{kernel.name, kernel.tier, kernel.priority, Refusal::kNone, {}};
  if (const std::optional<DType> type = WeightTypeOf(args)) {
    if (Support kept = Keeps(device, *type); !kept.yes) {
      verdict.refusal = Refusal::kNotKept;
      verdict.reason = std::move(kept.reason);
      return verdict;
    }
  }
  if (Support support = kernel.supports(args); !support.yes) {
    verdict.refusal = Refusal::kNotTaken;
    verdict.reason = std::move(support.reason);
    return verdict;
  }
  if (!kernel.compose) return verdict;
  for (const AnyArgs& part : kernel.compose(args)) {
    const Verdict answer = ResolveAny(registry, device, part, options);
    if (answer.refusal == Refusal::kNone) continue;
    verdict.refusal = answer.refusal;
    verdict.reason = std::string("its part ").append(OpOf(part)).append(": ").append(answer.reason);
    return verdict;
  }
  return verdict;
}

// Every row of the device's kind with its verdict, in name order of the table.
template <class Args>
std::vector<Verdict> Explain(const Registry& registry, const DeviceInfo& device, const Args& args,
                             const ResolveOptions& options = {}) {
  std::vector<Verdict> verdicts;
  std::string written;
  for (const Kernel<Args>& kernel : registry.Rows<Args>()) {
    const RowView row = ViewOf(kernel);
    if (kernel.device != device.kind) {
      const std::string_view kind = NameOf(kernel.device);
      if (written.find(kind) == std::string::npos) {
        written.append(written.empty() ? "" : ", ").append(kind);
      }
      continue;
    }
    Verdict verdict = JudgeRow(row, device, options);
    if (verdict.refusal == Refusal::kNone) {
      verdict = AskKernel(registry, device, kernel, args, options);
    }
    verdict.priority = kernel.priority;
    verdicts.push_back(std::move(verdict));
  }
  if (verdicts.empty()) {
    verdicts.push_back({.refusal = Refusal::kNotWritten,
                        .reason = std::string("no kernel was written for ")
                                      .append(NameOf(device.kind))
                                      .append(" (written for: ")
                                      .append(written.empty() ? "nothing" : written)
                                      .append(")")});
  }
  return verdicts;
}

// kUnsupported: no kernel runs it, with the reason of every row.
template <class Args>
Result<const Kernel<Args>*> Resolve(const Registry& registry, const DeviceInfo& device,
                                    const Args& args, const ResolveOptions& options = {}) {
  const Kernel<Args>* best = nullptr;
  for (const Kernel<Args>& kernel : registry.Rows<Args>()) {
    if (kernel.device != device.kind) continue;
    if (best && (kernel.priority < best->priority ||
                 (kernel.priority == best->priority && kernel.name >= best->name))) {
      continue;
    }
    if (!RowMayRun(ViewOf(kernel), device, options)) continue;
    if (AskKernel(registry, device, kernel, args, options).refusal != Refusal::kNone) continue;
    best = &kernel;
  }
  if (best) return best;
  return NoKernel(Args::kOp, device, Explain(registry, device, args, options), options);
}

// OK when the device runs every call: what an arm of several ops asks before it is taken. The error
// is that of the first call that it does not run.
Status ResolveAll(const Registry& registry, const DeviceInfo& device,
                  std::span<const AnyArgs> calls, const ResolveOptions& options = {});

}  // namespace vt
