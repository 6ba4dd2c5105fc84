#include "engine/state_cache.h"

#include "engine/row_arena.h"

namespace vt {

Result<StateCache> StateCache::Create(const EnginePlan& plan,
                                      const std::vector<DeviceMemory*>& memories) {
  constexpr const char* kRow = "kv.state";
  StateCache cache;
  if (plan.states.empty()) return cache;
  for (std::size_t d = 0; d < memories.size(); ++d) {
    Arena& arena = cache.arenas_.emplace_back();
    if (!memories[d]) continue;
    VT_ASSIGN_OR_RETURN(arena, RowArena(plan, plan.devices[d].device.id, kRow, *memories[d]));
  }
  const std::int64_t slots = plan.options.sequences;
  for (std::size_t i = 0; i < plan.states.size(); ++i) {
    const StateLayer& layer = plan.states[i];
    Arena& arena = cache.arenas_[static_cast<std::size_t>(plan.MixerOf(static_cast<int>(i)))];
    cache.layers_.push_back({arena.TakeArray<float>(slots * layer.conv_floats),
                             arena.TakeArray<float>(slots * layer.state_floats)});
  }
  for (const Arena& arena : cache.arenas_) VT_RETURN_IF_ERROR(CheckUsedUp(arena, kRow));
  for (std::int64_t slot = slots; slot-- > 0;) {
    cache.free_.push_back(static_cast<std::int32_t>(slot));
  }
  return cache;
}

Result<std::int32_t> StateCache::Open() {
  if (layers_.empty()) return std::int32_t{0};
  if (free_.empty()) return InternalError("memory row \"kv.state\": all slots are in use");
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
