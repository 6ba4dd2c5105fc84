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
  int layer = -1;     // -1: outside the layers
  std::string place;  // "attn_q", "ffn_down", "token_embd"
  AnyArgs call;       // shapes and types; its pointers are of no use
};
std::string PlaceOf(const NeededOp& op);  // "blk.3.attn_q", "output"

// In order of execution, for a step of one token and for one of `plan.options.ubatch` (once, where
// that is one too).
Result<std::vector<NeededOp>> WalkOps(const GgufFile& file, const ModelSpec& spec,
                                      const EnginePlan& plan, DeviceKind device);

// The same for options that are not planned yet; `device` gives the kind and the thread count.
Result<std::vector<NeededOp>> WalkOps(const GgufFile& file, const ModelSpec& spec,
                                      const EngineOptions& options, const DeviceInfo& device);

}  // namespace vt
