#include "engine/step_buffers.h"

#include "engine/row_arena.h"

namespace vt {

Result<StepBuffers> StepBuffers::Create(const EnginePlan& plan, const ModelSpec& spec,
                                        DeviceMemory& memory) {
  const StepSizes& s = plan.sizes;
  StepBuffers b;
  VT_ASSIGN_OR_RETURN(b.activations, RowArena(plan, "activations", memory));
  Arena& a = b.activations;
  b.stream = a.TakeArray<float>(s.tokens * s.width);
  b.normed = a.TakeArray<float>(s.tokens * s.width);
  b.branch = a.TakeArray<float>(s.tokens * s.width);
  b.q = a.TakeArray<float>(s.tokens * s.q);
  b.k = a.TakeArray<float>(s.tokens * s.k);
  b.v = a.TakeArray<float>(s.tokens * s.v);
  b.attention = a.TakeArray<float>(s.tokens * s.attention);
  b.gate = a.TakeArray<float>(s.tokens * s.ffn);
  b.up = a.TakeArray<float>(s.tokens * s.ffn);
  b.quantized.high = a.TakeArray<std::int8_t>(s.tokens * s.quantized);
  b.quantized.low = a.TakeArray<std::int8_t>(s.tokens * s.quantized);
  b.quantized.scales = a.TakeArray<float>(s.tokens * (s.quantized / kQ15Group));
  b.quantized.sums = a.TakeArray<std::int32_t>(s.tokens * (s.quantized / kQ15Group));
  auto* tables = a.TakeArray<float>(s.tokens * s.rope_values);
  for (const RopeSpec& rope : spec.ropes) {
    b.rope_tables.push_back(tables);
    tables += s.tokens * rope.dims;
  }
  b.ids = a.TakeArray<std::int32_t>(s.tokens);
  b.positions = a.TakeArray<std::int32_t>(s.tokens);
  for (std::int64_t g = 0; g < s.groups; ++g)
    b.slots.push_back(a.TakeArray<std::int32_t>(s.tokens));
  for (std::int64_t g = 0; g < s.groups; ++g) {
    b.attention_rows.push_back(a.TakeArray<AttentionRow>(s.tokens));
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
