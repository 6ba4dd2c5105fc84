// The buffers of one step, of one device: carved from its activation, logit and scratch rows.
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

  // Each [tokens, elements per token]; null where no layer needs it.
#define VT_DECLARE(type, name, elements) type* name = nullptr;
  VT_STEP_BUFFERS(VT_DECLARE)
#undef VT_DECLARE

  Q15Rows quantized;                 // views of the buffers of that name
  std::vector<float*> rope_tables;   // per ModelSpec::ropes: [tokens, 2, dims / 2]
  std::vector<std::int32_t*> slots;  // per KV group: [tokens]
  std::vector<AttentionRow*> attention_rows;

  std::int32_t* logit_ids = nullptr;  // [logit_rows] rows of the step
  float* logit_rows = nullptr;        // [logit_rows, width]
  float* logits = nullptr;            // [logit_rows, vocab]
  float* scratch = nullptr;           // [threads, scratch_floats]

  // Of one device of the plan. kInternal when the carving does not use up the plan to the byte.
  // `memory` must outlive the buffers.
  static Result<StepBuffers> Create(const EnginePlan& plan, const DevicePlan& device,
                                    const ModelSpec& spec, DeviceMemory& memory);

  // The place that corresponds to `value`, which lies in a buffer of `other`; null where there is
  // none here.
  void* Find(const StepBuffers& other, const void* value) const;

  StepSizes sizes;
};

}  // namespace vt
