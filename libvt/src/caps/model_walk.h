// The ops of a model one by one, with the tensors that each reads: by the forward pass where this
// build has one for the architecture, else by what the names of the tensors say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/registry.h"
#include "vt/engine.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt {

struct WalkedOp {
  int layer = -1;  // -1: outside the layers
  std::string place;
  std::string op;
  std::optional<AnyArgs> call;  // none: the op table has no such op, and `unwritten` says so
  std::string unwritten;
  std::int64_t tokens = 1;                // of the step
  std::vector<std::string_view> tensors;  // names in the file, which must outlive this
};

struct LeftTensor {
  std::string name;
  std::string reason;
};

struct ModelWalk {
  std::vector<WalkedOp> ops;
  std::vector<LeftTensor> left;  // tensors that no op reads
};

// The forward pass, in order of execution: a step of one token, then one of options.ubatch. Errors:
// those of WalkOps.
Result<ModelWalk> WalkForward(const GgufFile& file, const ModelSpec& spec,
                              const EngineOptions& options, const DeviceInfo& device);

// The tensor table by the names that GGUF files give their tensors, each tensor for a step of one
// token and one of options.ubatch. What lies between the tensors (attention, rotation, routing) is
// one op, "forward", without a kernel; `reason` says why.
ModelWalk WalkTensorTable(const GgufFile& file, const EngineOptions& options, DeviceKind kind,
                          const std::string& reason);

}  // namespace vt
