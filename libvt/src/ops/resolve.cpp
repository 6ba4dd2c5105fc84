#include "ops/resolve.h"

#include <algorithm>
#include <utility>

namespace vt {
namespace {

std::string List(const std::vector<std::string_view>& names) {
  std::string list;
  for (const std::string_view name : names) list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

std::string RowKey(const RowView& row) { return std::string(row.op).append(" ").append(row.name); }

Refusal RefusalOf(const RowView& row, const DeviceInfo& device, const ResolveOptions& options) {
  if (row.device != device.kind) return Refusal::kNotWritten;
  if (!row.built && !device.described) return Refusal::kNotBuilt;
  if ((row.needs & ~device.features) != 0) return Refusal::kMachineLacks;
  if (!device.lacks_ops.empty() && device.lacks_ops.contains(row.op)) return Refusal::kMachineLacks;
  if (device.usable_kernels && !device.usable_kernels->contains(RowKey(row))) {
    return Refusal::kMachineLacks;
  }
  if (!options.forced.empty()) {
    const auto forced = options.forced.find(row.op);
    if (forced != options.forced.end() && forced->second != row.name) return Refusal::kForced;
  }
  if (row.tier < options.lowest) return Refusal::kTier;
  return Refusal::kNone;
}

std::string Remedy(std::string_view op, const Verdict& cause, const ResolveOptions& options) {
  switch (cause.refusal) {
    case Refusal::kNone:
      return "";
    case Refusal::kNotWritten:
      return "use a device that it was written for";
    case Refusal::kNotBuilt:
      return "build with that option, or use another device";
    case Refusal::kMachineLacks:
      return "use another device; vt-caps lists what each can run";
    case Refusal::kForced: {
      const auto forced = options.forced.find(op);
      const std::string name = forced == options.forced.end() ? "" : forced->second;
      return std::string("leave out --kernel ").append(op).append("=").append(name);
    }
    case Refusal::kTier:
      return std::string("allow it with --tier ").append(NameOf(cause.tier));
    case Refusal::kNotKept:
      return "place these weights on a device that holds them; the cpu holds every type";
    case Refusal::kNotTaken:
      return std::string("vt-caps --op ").append(op).append(" lists what each kernel takes");
  }
  return "";
}

}  // namespace

std::string_view NameOf(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return "none";
    case Refusal::kNotWritten:
      return "not_written";
    case Refusal::kNotBuilt:
      return "not_built";
    case Refusal::kMachineLacks:
      return "machine_lacks";
    case Refusal::kForced:
      return "forced";
    case Refusal::kTier:
      return "tier";
    case Refusal::kNotKept:
      return "not_kept";
    case Refusal::kNotTaken:
      return "not_taken";
  }
  return "?";
}

const Verdict& NearestCause(std::span<const Verdict> verdicts) {
  const auto nearness = [](const Verdict& v) { return std::pair(v.refusal, v.tier); };
  return *std::max_element(
      verdicts.begin(), verdicts.end(),
      [&](const Verdict& a, const Verdict& b) { return nearness(a) < nearness(b); });
}

bool RowMayRun(const RowView& row, const DeviceInfo& device, const ResolveOptions& options) {
  return RefusalOf(row, device, options) == Refusal::kNone;
}

Verdict JudgeRow(const RowView& row, const DeviceInfo& device, const ResolveOptions& options) {
  Verdict verdict{std::string(row.name), row.tier, 0, RefusalOf(row, device, options), {}};
  std::string& why = verdict.reason;
  switch (verdict.refusal) {
    case Refusal::kNotWritten:
      why.append("runs on ").append(NameOf(row.device)).append(", not on ");
      why.append(NameOf(device.kind));
      break;
    case Refusal::kNotBuilt:
      why.append("the ").append(NameOf(row.device));
      why.append(" kernel is compiled out of this build: configure with ");
      why.append(ConfigureFlag(row.device));
      break;
    case Refusal::kMachineLacks:
      if (device.lacks_ops.contains(row.op)) {
        why.append("built, but ").append(device.id).append(" lacks op ").append(row.op);
        why.append(" (its profile says so)");
      } else if (const std::uint32_t missing = row.needs & ~device.features; missing != 0) {
        why.append("built, but this machine lacks ").append(List(FeatureNames(missing)));
      } else {
        why.append("was not usable on the machine that the document describes");
      }
      break;
    case Refusal::kForced:
      why.append("kernel ").append(options.forced.find(row.op)->second).append(" is forced");
      break;
    case Refusal::kTier:
      why.append("tier ").append(NameOf(row.tier)).append(" is below the lowest allowed, ");
      why.append(NameOf(options.lowest));
      break;
    default:
      break;
  }
  return verdict;
}

Support Keeps(const DeviceInfo& device, DType type) {
  if (!device.kept_quant_types || !IsBlockQuantised(type)) return {};
  const std::vector<DType>& kept = *device.kept_quant_types;
  if (std::find(kept.begin(), kept.end(), type) != kept.end()) return {};
  std::vector<std::string_view> names;
  names.reserve(kept.size());
  for (const DType each : kept) names.push_back(NameOf(each));
  std::string reason(NameOf(type));
  reason.append(" weights are not kept on ").append(device.id).append(" (kept: ");
  reason.append(names.empty() ? "no block type" : List(names)).append(")");
  return {false, std::move(reason)};
}

Status NoKernel(std::string_view op, const DeviceInfo& device, std::span<const Verdict> verdicts,
                const ResolveOptions& options) {
  std::string message = "op " + std::string(op) + " on device " + device.id + ": ";
  const Verdict* cause = &NearestCause(verdicts);
  const auto forced = options.forced.find(op);
  if (forced != options.forced.end()) {
    const auto named = std::find_if(verdicts.begin(), verdicts.end(), [&](const Verdict& verdict) {
      return verdict.kernel == forced->second;
    });
    message += "kernel " + forced->second + " is forced and cannot run: ";
    message += named != verdicts.end() ? named->reason
                                       : "it does not run on " + std::string(NameOf(device.kind));
    message += "; leave out --kernel " + std::string(op) + "=" + forced->second;
    return UnsupportedError(message);
  }
  if (verdicts.size() == 1 && verdicts[0].kernel.empty()) {
    message += verdicts[0].reason;
  } else {
    message += "no kernel runs it: ";
    const char* separator = "";
    for (const Verdict& verdict : verdicts) {
      message.append(separator).append(verdict.kernel).append(": ").append(verdict.reason);
      separator = "; ";
    }
  }
  return UnsupportedError(message + "; " + Remedy(op, *cause, options));
}

Verdict ResolveAny(const Registry& registry, const DeviceInfo& device, const AnyArgs& call,
                   const ResolveOptions& options) {
  return std::visit(
      [&](const auto& args) {
        const auto found = Resolve(registry, device, args, options);
        if (found.ok()) {
          return Verdict{(*found)->name, (*found)->tier, (*found)->priority, Refusal::kNone, {}};
        }
        return NearestCause(Explain(registry, device, args, options));
      },
      call);
}

Status ResolveAll(const Registry& registry, const DeviceInfo& device,
                  std::span<const AnyArgs> calls, const ResolveOptions& options) {
  for (const AnyArgs& call : calls) {
    VT_RETURN_IF_ERROR(std::visit(
        [&](const auto& args) { return Resolve(registry, device, args, options).status(); }, call));
  }
  return {};
}

}  // namespace vt
