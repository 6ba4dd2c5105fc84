// The ops of one model as groups of equal calls: what its file asks of each kind of device.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "caps/model_walk.h"
#include "ops/registry.h"
#include "vt/engine.h"
#include "vt/gguf.h"
#include "vt/status.h"

namespace vt {

struct NeededCall {
  std::int64_t tokens = 1;  // of the step (rows of logits, where those are made)
  AnyArgs call;
};

// Calls of one op with the same types and shapes.
struct NeededGroup {
  std::string op;
  std::vector<NeededCall> calls;                    // by tokens; empty: the op table has no such op
  std::string unwritten;                            // of an op that the table does not have
  std::vector<std::pair<int, std::string>> places;  // layer (-1: none) and place, in order
  std::int64_t count = 0;                           // calls in a step of one token
  std::vector<std::string> tensors;                 // that they read: "blk.0-29.attn_q.weight"
  std::set<DeviceKind> kinds;                       // of devices that are asked for it
};

struct ModelNeeds {
  bool from_forward = true;    // else: from the tensor table
  std::string unknown_reason;  // why not from a forward pass
  std::vector<NeededGroup> groups;
  std::size_t tensors = 0;       // of the file
  std::vector<LeftTensor> left;  // that no group reads
};

// `devices`: the kinds that are asked; the first of each kind counts. Errors: kCorrupt for a header
// that contradicts its architecture, those of WalkOps for options that the model cannot have. An
// architecture that this build does not know is no error.
Result<ModelNeeds> FindModelNeeds(const GgufFile& file, const EngineOptions& options,
                                  std::span<const DeviceInfo> devices);

// Places or tensor names with their layers gathered: {{0, "x"}, {1, "x"}, {-1, "y"}} is
// {"blk.0-1.x", "y"}.
std::vector<std::string> GatherLayers(const std::vector<std::pair<int, std::string>>& names);

}  // namespace vt
