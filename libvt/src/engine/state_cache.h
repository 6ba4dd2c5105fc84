// The recurrent state of the sequences that are open: a slot for each, with room in every layer
// that recurs.
#pragma once

#include <cstdint>
#include <vector>

#include "device/device_memory.h"
#include "plan/memory_plan.h"
#include "vt/status.h"

namespace vt {

class StateCache {
 public:
  // Takes exactly the plan's "kv.state" bytes of each device's memory (null: an unused device's),
  // which must outlive the cache; a plan without states gives a cache without layers.
  static Result<StateCache> Create(const EnginePlan& plan,
                                   const std::vector<DeviceMemory*>& memories);

  // A free slot. What it holds is of no meaning: a sequence's first row is marked as fresh.
  Result<std::int32_t> Open();
  void Close(std::int32_t slot);

  float* Conv(int layer) const;   // [slots, StateLayer::conv_floats]
  float* State(int layer) const;  // [slots, StateLayer::state_floats]
  bool empty() const { return layers_.empty(); }
  std::uint64_t allocated_bytes(std::size_t device) const {
    return device < arenas_.size() ? arenas_[device].taken() : 0;
  }

 private:
  struct Layer {
    float* conv = nullptr;
    float* state = nullptr;
  };
  std::vector<Arena> arenas_;  // by device
  std::vector<Layer> layers_;
  std::vector<std::int32_t> free_;  // last first
};

}  // namespace vt
