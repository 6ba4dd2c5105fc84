#include "ops/registry.h"

#include <set>

#include "cpu/register.h"

namespace vt {

std::string_view NameOf(Tier tier) {
  switch (tier) {
    case Tier::kReference:
      return "reference";
    case Tier::kComposed:
      return "composed";
    case Tier::kNative:
      return "native";
  }
  return "?";
}

Result<Tier> ParseTier(std::string_view name) {
  for (Tier tier : {Tier::kReference, Tier::kComposed, Tier::kNative}) {
    if (NameOf(tier) == name) return tier;
  }
  return InvalidError("tier \"" + std::string(name) +
                      "\": not known; use native, composed or reference");
}

Status Registry::Check() const {
  std::set<std::string> names;
  std::map<std::string, bool> has_reference;
  std::string duplicate;
  ForEach([&](std::string_view op, const auto& kernel) {
    const std::string key = std::string(op) + " " + kernel.name;
    if (!names.insert(key).second) duplicate = key;
    has_reference[std::string(op)] |= kernel.tier == Tier::kReference;
  });
  if (!duplicate.empty()) return InternalError("op table: duplicate row " + duplicate);
  std::apply([&](const auto&... lists) { (has_reference.try_emplace(OpOf(lists), false), ...); },
             rows_);
  for (const auto& [op, has] : has_reference) {
    if (!has) return InternalError("op table: " + op + " has no reference kernel");
  }
  return {};
}

const Registry& BuiltinKernels() {
  static const Registry registry = [] {
    Registry r;
    RegisterCpuKernels(r);
    return r;
  }();
  return registry;
}

std::string WhyNot(std::string_view kernel_name, Tier tier, std::uint32_t needs,
                   const DeviceInfo& device, const ResolveOptions& options, std::string_view op) {
  if (const std::uint32_t missing = needs & ~device.features; missing != 0) {
    std::string list;
    for (std::string_view name : FeatureNames(missing))
      list += (list.empty() ? "" : ", ") + std::string(name);
    return "built, but this machine lacks " + list;
  }
  if (tier < options.lowest) {
    return "tier " + std::string(NameOf(tier)) + " is below the lowest allowed, " +
           std::string(NameOf(options.lowest));
  }
  if (auto forced = options.forced.find(op);
      forced != options.forced.end() && forced->second != kernel_name) {
    return "kernel " + forced->second + " is forced";
  }
  return {};
}

Status NoKernel(std::string_view op, const DeviceInfo& device,
                const std::vector<std::string>& reasons) {
  std::string message = "op " + std::string(op) + " on device " + device.id + ": no kernel runs it";
  for (const std::string& reason : reasons) message += "; " + reason;
  return UnsupportedError(message);
}

}  // namespace vt
