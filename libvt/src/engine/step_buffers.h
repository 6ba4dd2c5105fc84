// The buffers of one step, carved from the plan's activation, logit and scratch rows.
#pragma once

#include <vector>

#include "device/device_memory.h"
#include "ops/args.h"
#include "plan/memory_plan.h"

namespace vt {

struct StepBuffers {
  Arena activations;
  Arena logits_arena;
  Arena scratch_arena;

  float* stream = nullptr;  // [tokens, width] the residual stream
  float* normed = nullptr;  // [tokens, width]
  float* branch = nullptr;  // [tokens, width]
  float* q = nullptr;       // [tokens, heads * key_dim]
  float* k = nullptr;
  float* v = nullptr;
  float* attention = nullptr;  // [tokens, heads * value_dim]
  float* gate = nullptr;       // [tokens, ffn]
  float* up = nullptr;
  Q15Rows quantized;                // [tokens, widest matmul input]
  std::vector<float*> rope_tables;  // per ModelSpec::ropes: [tokens, 2, dims / 2]
  std::int32_t* ids = nullptr;
  std::int32_t* positions = nullptr;
  std::vector<std::int32_t*> slots;  // per KV group: [tokens]
  std::vector<AttentionRow*> attention_rows;

  std::int32_t* logit_ids = nullptr;  // [logit_rows] rows of the step
  float* logit_rows = nullptr;        // [logit_rows, width]
  float* logits = nullptr;            // [logit_rows, vocab]
  float* scratch = nullptr;           // [threads, scratch_floats]

  // kInternal when the carving does not use up the plan to the byte.
  // `memory` must outlive the buffers.
  static Result<StepBuffers> Create(const EnginePlan& plan, const ModelSpec& spec,
                                    DeviceMemory& memory);
};

}  // namespace vt
