// Runs one kernel on one device, whichever way it runs.
#pragma once

#include <memory>

#include "gpu/stream.h"
#include "ops/resolve.h"

namespace vt {

class CallRunner {
 public:
  // Both must outlive the runner.
  CallRunner(const Registry& registry, const DeviceInfo& device)
      : registry_(registry), device_(device) {}

  // A host kernel runs in `parts` parts, the last one first, as no part may lean on one before it;
  // a GPU's is waited for; the parts of a composed one are resolved and run in turn.
  template <class Args>
  Status Run(const Kernel<Args>& kernel, const Args& args, int parts) {
    if (kernel.run) {
      for (int i = parts - 1; i >= 0; --i) kernel.run(args, Part{i, parts});
      return {};
    }
    if (kernel.launch) {
      VT_RETURN_IF_ERROR(OpenStream());
      VT_RETURN_IF_ERROR(kernel.launch(args, *stream_));
      return stream_->Synchronize();
    }
    if (!kernel.compose) return InternalError(kernel.name + ": compiled out of this build");
    for (const AnyArgs& call : kernel.compose(args)) VT_RETURN_IF_ERROR(RunAny(call, parts));
    return {};
  }

  Status RunAny(const AnyArgs& call, int parts) {
    return std::visit(
        [&](const auto& args) -> Status {
          const auto kernel = Resolve(registry_, device_, args);
          return kernel.ok() ? Run(**kernel, args, parts) : kernel.status();
        },
        call);
  }

 private:
  Status OpenStream() {
    if (stream_) return {};
    VT_ASSIGN_OR_RETURN(stream_, OpenGpuStream(device_));
    return {};
  }

  const Registry& registry_;
  const DeviceInfo& device_;
  std::unique_ptr<GpuStream> stream_;
};

// Runs a call with the scalar reference kernel of its op on the cpu, or, for an op that has none,
// with the references of its composed form. kInternal when there is neither.
Status RunReference(const Registry& registry, const AnyArgs& call);

}  // namespace vt
