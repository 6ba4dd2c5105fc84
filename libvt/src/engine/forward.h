// The forward pass of the one decoder that all families share, as a list of ops.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/op_runner.h"
#include "engine/step_buffers.h"
#include "engine/weights.h"
#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt {

class ExpertSlots;
class KvCache;
class StateCache;

// A device of the placement, where it works. In the guard's dry pass `buffers` hold no memory and
// `memory` is null.
struct PassSide {
  const ModelWeights* weights = nullptr;
  StepBuffers* buffers = nullptr;
  OpRunner* ops = nullptr;
  DeviceMemory* memory = nullptr;
  ExpertSlots* slots = nullptr;  // null where no layer has some
};

// What every pass reads: the model and the memory it works in. The caches are null in the dry pass,
// where only shapes count.
struct ForwardContext {
  const ModelSpec& spec;
  const EnginePlan& plan;
  std::vector<PassSide> sides;  // as the plan's devices; empty ones where nothing runs
  const KvCache* cache = nullptr;
  const StateCache* states = nullptr;
  std::byte* staging = nullptr;                // kStagingBytes of the host
  std::vector<Crossing>* crossings = nullptr;  // dry pass: what crosses is written down
};

// Runs `rows` tokens through all layers. Reads buffers.ids, positions, slots, attention_rows and
// state_rows of every side; leaves the residual stream in buffers.stream of the output's.
Status ForwardLayers(const ForwardContext& context, std::int64_t rows);

// Logits of the rows named in buffers.logit_ids[0, rows), into buffers.logits, both of the output's
// side; they lie where the output matrix does.
Status ForwardLogits(const ForwardContext& context, std::int64_t rows);

}  // namespace vt
