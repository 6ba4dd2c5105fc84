// Every op that a run of a model will ask for, with its own types and shapes, from the header
// alone.
//
// This is the forward pass itself, run over no memory: what a guard, a report or a placement asks
// about is what will be dispatched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/registry.h"
#include "vt/engine.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt {

struct EnginePlan;  // plan/memory_plan.h

struct NeededOp {
  int layer = -1;           // -1: outside the layers
  std::string place;        // "attn_q", "ffn_down", "token_embd"
  AnyArgs call;             // shapes and types; its pointers are of no use
  int device = 0;           // index into the placement's devices
  std::int64_t tokens = 1;  // of the step
};
std::string PlaceOf(const NeededOp& op);  // "blk.3.attn_q", "output"

// Values that go from one device's memory to another's.
struct Crossing {
  int layer = -1;
  std::string place;
  int from = 0;
  int to = 0;
  std::uint64_t bytes = 0;
  std::int64_t tokens = 1;  // of the step
};

// In order of execution: a step of one token, one of `plan.options.ubatch` (where that is more),
// and the logits of one row (tokens 1).
struct OpWalk {
  std::vector<NeededOp> ops;
  std::vector<Crossing> crossings;
};
Result<OpWalk> WalkOps(const GgufFile& file, const ModelSpec& spec, const EnginePlan& plan);

// The ops of options that are not planned yet, with everything on `device`.
Result<std::vector<NeededOp>> WalkOps(const GgufFile& file, const ModelSpec& spec,
                                      const EngineOptions& options, const DeviceInfo& device);

}  // namespace vt
