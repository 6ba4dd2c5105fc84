// The forward pass of the one decoder that all families share, as a list of ops.
#pragma once

#include <cstdint>

#include "engine/op_runner.h"
#include "engine/step_buffers.h"
#include "engine/weights.h"
#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt {

class KvCache;
class StateCache;

// What every pass reads: the model and the memory it works in. The caches are null in the guard's
// dry pass, where only shapes count.
struct ForwardContext {
  const ModelSpec& spec;
  const EnginePlan& plan;
  const ModelWeights& weights;
  StepBuffers& buffers;
  const KvCache* cache = nullptr;
  const StateCache* states = nullptr;
};

// Runs `rows` tokens through all layers. Reads buffers.ids, positions, slots, attention_rows and
// state_rows; leaves the residual stream in buffers.stream.
Status ForwardLayers(const ForwardContext& context, std::int64_t rows, OpRunner& ops);

// Logits of the rows named in buffers.logit_ids[0, rows), into buffers.logits.
Status ForwardLogits(const ForwardContext& context, std::int64_t rows, OpRunner& ops);

}  // namespace vt
