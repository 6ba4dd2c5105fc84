#include "engine/step_buffers.h"

#include "engine/row_arena.h"

namespace vt {

Result<StepBuffers> StepBuffers::Create(const EnginePlan& plan, const ModelSpec& spec,
                                        DeviceMemory& memory) {
  const StepSizes& s = plan.sizes;
  StepBuffers b;
  VT_ASSIGN_OR_RETURN(b.activations, RowArena(plan, "activations", memory));
  Arena& a = b.activations;
#define VT_TAKE(type, name, elements) b.name = a.TakeArray<type>(s.tokens * (elements));
  VT_STEP_BUFFERS(VT_TAKE)
#undef VT_TAKE
  b.quantized = {b.quantized_high, b.quantized_low, b.quantized_scales, b.quantized_sums};
  float* tables = b.rope_values;
  for (const RopeSpec& rope : spec.ropes) {
    b.rope_tables.push_back(tables);
    tables += s.tokens * rope.dims;
  }
  for (std::int64_t g = 0; g < s.groups; ++g) {
    b.slots.push_back(b.group_slots + g * s.tokens);
    b.attention_rows.push_back(b.group_rows + g * s.tokens);
  }
  VT_RETURN_IF_ERROR(CheckUsedUp(a, "activations"));

  VT_ASSIGN_OR_RETURN(b.logits_arena, RowArena(plan, "logits", memory));
  b.logit_ids = b.logits_arena.TakeArray<std::int32_t>(s.logit_rows);
  b.logit_rows = b.logits_arena.TakeArray<float>(s.logit_rows * s.width);
  b.logits = b.logits_arena.TakeArray<float>(s.logit_rows * s.vocab);
  VT_RETURN_IF_ERROR(CheckUsedUp(b.logits_arena, "logits"));

  VT_ASSIGN_OR_RETURN(b.scratch_arena, RowArena(plan, "scratch", memory));
  // Each thread's share is padded by the planner to whole cache lines.
  b.scratch = static_cast<float*>(b.scratch_arena.Take(b.scratch_arena.capacity()));
  VT_RETURN_IF_ERROR(CheckUsedUp(b.scratch_arena, "scratch"));
  return b;
}

}  // namespace vt
