#include "ops/registry.h"

#include <set>

#include "cpu/register.h"
#include "gpu/register.h"
#include "ops/composed.h"
#include "ops/op_facts.h"

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

const std::vector<std::string_view>& OpNames() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    ForEachOp([&]<class Args>() { list.push_back(Args::kOp); });
    return list;
  }();
  return names;
}

Status Registry::Check() const {
  std::set<std::string> names;
  std::set<std::string_view> always_runs;
  std::string wrong;
  ForEach([&](std::string_view op, const auto& kernel) {
    const std::string key = std::string(op) + " " + kernel.name;
    if (!names.insert(key).second) wrong = "duplicate row " + key;
    const int ways = (kernel.run ? 1 : 0) + (kernel.launch ? 1 : 0) + (kernel.compose ? 1 : 0);
    if (ways > 1) wrong = "row " + key + " can run in more than one way";
    if (!kernel.supports) wrong = "row " + key + " answers no question";
    if (kernel.device == DeviceKind::kCpu && kernel.tier != Tier::kNative && kernel.needs == 0 &&
        kernel.built()) {
      always_runs.insert(op);
    }
  });
  if (!wrong.empty()) return InternalError("op table: " + wrong);
  for (const std::string_view op : OpNames()) {
    if (!always_runs.contains(op)) {
      return InternalError("op table: " + std::string(op) +
                           " has neither a reference nor a composed kernel on cpu");
    }
  }
  return {};
}

const Registry& BuiltinKernels() {
  static const Registry registry = [] {
    Registry r;
    RegisterCpuKernels(r);
    RegisterGpuKernels(r);
    RegisterComposedKernels(r);
    return r;
  }();
  return registry;
}

}  // namespace vt
