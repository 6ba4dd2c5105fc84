#include "caps/call_runner.h"

namespace vt {
namespace {

template <class Args>
Status ReferenceOf(const Registry& registry, const Args& args) {
  const Kernel<Args>* composed = nullptr;
  for (const Kernel<Args>& kernel : registry.Rows<Args>()) {
    if (kernel.device != DeviceKind::kCpu || kernel.needs != 0) continue;
    if (!kernel.supports(args).yes) continue;
    if (kernel.tier == Tier::kReference && kernel.run) {
      kernel.run(args, Part{});
      return {};
    }
    if (kernel.tier == Tier::kComposed && kernel.compose) composed = &kernel;
  }
  if (!composed) {
    return InternalError(std::string("op ") + Args::kOp + ": no reference takes this case");
  }
  for (const AnyArgs& part : composed->compose(args)) {
    VT_RETURN_IF_ERROR(RunReference(registry, part));
  }
  return {};
}

}  // namespace

Status RunReference(const Registry& registry, const AnyArgs& call) {
  return std::visit([&](const auto& args) { return ReferenceOf(registry, args); }, call);
}

}  // namespace vt
