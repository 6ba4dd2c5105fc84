#include "engine/step_buffers.h"

#include "engine/row_arena.h"

namespace vt {

Result<StepBuffers> StepBuffers::Create(const EnginePlan& plan, const DevicePlan& device,
                                        const ModelSpec& spec, DeviceMemory& memory) {
  const std::string& id = device.device.id;
  const StepSizes& s = device.sizes;
  StepBuffers b;
  b.sizes = s;
  VT_ASSIGN_OR_RETURN(b.activations, RowArena(plan, id, "activations", memory));
  Arena& a = b.activations;
#define VT_TAKE(type, name, elements) \
  if ((elements) > 0) b.name = a.TakeArray<type>(s.tokens * (elements));
  VT_STEP_BUFFERS(VT_TAKE)
#undef VT_TAKE
  b.quantized = {b.quantized_high, b.quantized_low, b.quantized_scales, b.quantized_sums};
  float* tables = b.rope_values;
  for (const RopeSpec& rope : spec.ropes) {
    if (s.rope_values == 0) break;
    b.rope_tables.push_back(tables);
    tables += s.tokens * rope.dims;
  }
  for (std::int64_t g = 0; g < s.groups; ++g) {
    b.slots.push_back(b.group_slots + g * s.tokens);
    b.attention_rows.push_back(b.group_rows + g * s.tokens);
  }
  VT_RETURN_IF_ERROR(CheckUsedUp(a, "activations"));

  VT_ASSIGN_OR_RETURN(b.logits_arena, RowArena(plan, id, "logits", memory));
  b.logit_ids = b.logits_arena.TakeArray<std::int32_t>(s.logit_rows);
  b.logit_rows = b.logits_arena.TakeArray<float>(s.logit_rows * s.width);
  b.logits = b.logits_arena.TakeArray<float>(s.logit_rows * s.vocab);
  VT_RETURN_IF_ERROR(CheckUsedUp(b.logits_arena, "logits"));

  VT_ASSIGN_OR_RETURN(b.scratch_arena, RowArena(plan, id, "scratch", memory));
  // Each thread's share is padded by the planner to whole cache lines.
  b.scratch = static_cast<float*>(b.scratch_arena.Take(b.scratch_arena.capacity()));
  VT_RETURN_IF_ERROR(CheckUsedUp(b.scratch_arena, "scratch"));
  return b;
}

void* StepBuffers::Find(const StepBuffers& other, const void* value) const {
  const auto at = reinterpret_cast<std::uintptr_t>(value);
  void* found = nullptr;
  const auto look = [&](const void* there, void* here, std::int64_t count, std::uint64_t element) {
    const auto begin = reinterpret_cast<std::uintptr_t>(there);
    if (!there || !here || at < begin) return;
    const std::uint64_t offset = at - begin;
    if (offset < static_cast<std::uint64_t>(count) * element) {
      found = static_cast<std::byte*>(here) + offset;
    }
  };
  const StepSizes& s = other.sizes;
#define VT_LOOK(type, name, elements) look(other.name, name, s.tokens*(elements), sizeof(type));
  VT_STEP_BUFFERS(VT_LOOK)
#undef VT_LOOK
  look(other.logit_rows, logit_rows, s.logit_rows * s.width, sizeof(float));
  look(other.logits, logits, s.logit_rows * s.vocab, sizeof(float));
  return found;
}

}  // namespace vt
