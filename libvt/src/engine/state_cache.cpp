#include "engine/state_cache.h"

#include "engine/row_arena.h"

namespace vt {

Result<StateCache> StateCache::Create(const EnginePlan& plan, DeviceMemory& memory) {
  StateCache cache;
  if (plan.states.empty()) return cache;
  VT_ASSIGN_OR_RETURN(cache.arena_, RowArena(plan, "state", memory));
  const std::int64_t slots = plan.options.sequences;
  for (const StateLayer& layer : plan.states) {
    cache.layers_.push_back({cache.arena_.TakeArray<float>(slots * layer.conv_floats),
                             cache.arena_.TakeArray<float>(slots * layer.state_floats)});
  }
  VT_RETURN_IF_ERROR(CheckUsedUp(cache.arena_, "state"));
  for (std::int64_t slot = slots; slot-- > 0;) {
    cache.free_.push_back(static_cast<std::int32_t>(slot));
  }
  return cache;
}

Result<std::int32_t> StateCache::Open() {
  if (layers_.empty()) return std::int32_t{0};
  if (free_.empty()) return InternalError("memory row \"state\": all slots are in use");
  const std::int32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void StateCache::Close(std::int32_t slot) {
  if (!layers_.empty()) free_.push_back(slot);
}

float* StateCache::Conv(int layer) const { return layers_[static_cast<std::size_t>(layer)].conv; }

float* StateCache::State(int layer) const { return layers_[static_cast<std::size_t>(layer)].state; }

}  // namespace vt
