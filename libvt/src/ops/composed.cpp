#include "ops/composed.h"

#include <string>

#include "ops/op_facts.h"
#include "ops/registry.h"

namespace vt {
namespace {

template <class Args>
void AddRows(Registry& registry) {
  const OpFacts<Args>& facts = FactsOf<Args>();
  if (!facts.compose) return;
  for (const DeviceKind kind : kDeviceKinds) {
    registry.Add(Kernel<Args>{.name = std::string(NameOf(kind)) + ".composed",
                              .device = kind,
                              .tier = Tier::kComposed,
                              .priority = 5,
                              .supports = facts.check_shape,
                              .compose = facts.compose});
  }
}

}  // namespace

void RegisterComposedKernels(Registry& registry) {
  ForEachOp([&]<class Args>() { AddRows<Args>(registry); });
}

}  // namespace vt
