// Experts on a device that has room for some of a layer's at a time: slots, which they are copied
// to from the host when rows choose them. The least recently used makes room.
//
// A slot is written to again only after the launches that read it were observed to be done. Where
// waiting for the device's queue fails, nobody knows whether they are: the slots that they read are
// quarantined, and used no more.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "device/device_memory.h"
#include "engine/weights.h"
#include "plan/memory_plan.h"
#include "vt/engine.h"
#include "vt/gguf.h"
#include "vt/status.h"

namespace vt {

// Which expert of a layer lies in which slot. Decides; the copies are the caller's.
class SlotCache {
 public:
  SlotCache(std::int64_t experts, std::int64_t slots);

  struct Fill {
    std::int32_t expert = 0;
    std::int32_t slot = 0;
  };
  // Touches `experts` (distinct, at most usable()) and makes room for those that are not there:
  // each is to be copied to its slot, which Filled then says. `retire` waits for the queue, which
  // ends in Observed: it is called where a slot to be filled is still being read, and its error is
  // returned; what lies where has then not changed, but for the quarantine.
  Result<std::vector<Fill>> MakeRoom(std::span<const std::int32_t> experts,
                                     const std::function<Status()>& retire);
  void Filled(const Fill& fill);

  std::int32_t SlotOf(std::int32_t expert) const {  // -1: it is not there
    return slot_of_[static_cast<std::size_t>(expert)];
  }

  // Between the two, launches that read these experts' slots are made.
  void BeginReads(std::span<const std::int32_t> experts);
  void EndReads() { reads_end_ = true; }
  // The queue was waited for: all that was launched is done, or nobody knows.
  void Observed(bool done);

  std::int64_t usable() const;  // slots that are not quarantined
  const ExpertSlotCounts& counts() const { return counts_; }

 private:
  struct Slot {
    std::int32_t expert = -1;
    std::uint64_t last_use = 0;
    bool read = false;  // by launches that were not yet observed to be done
    bool quarantined = false;
  };
  Slot& At(std::int32_t slot) { return slots_[static_cast<std::size_t>(slot)]; }
  void Vacate(Slot& slot);

  std::vector<Slot> slots_;
  std::vector<std::int32_t> slot_of_;  // by expert
  std::vector<std::int32_t> read_;     // slots that are
  bool reads_end_ = true;
  std::uint64_t clock_ = 0;
  ExpertSlotCounts counts_;  // but for bytes and device
};

// Launches that read slots are made while it lives.
class SlotReads {
 public:
  SlotReads(SlotCache& cache, std::span<const std::int32_t> experts) : cache_(cache) {
    cache.BeginReads(experts);
  }
  ~SlotReads() { cache_.EndReads(); }
  SlotReads(const SlotReads&) = delete;
  SlotReads& operator=(const SlotReads&) = delete;

 private:
  SlotCache& cache_;
};

// The slots of all layers of one device.
class ExpertSlots {
 public:
  // Takes the device's row of slots from `memory`, tells `weights` where they are, and copies the
  // first experts of each layer there; null where the plan has none. All but `cancel` outlive it.
  // kInterrupted when `cancel` is set meanwhile.
  static Result<std::unique_ptr<ExpertSlots>> Load(const GgufFile& file, const EnginePlan& plan,
                                                   const DevicePlan& device, DeviceMemory& memory,
                                                   ModelWeights& weights,
                                                   const std::atomic<bool>* cancel);

  // Copies those of `experts` (as MakeRoom takes them) that are not in a slot to one.
  Status Ensure(int layer, std::span<const std::int32_t> experts,
                const std::function<Status()>& retire);
  SlotCache& cache(int layer) { return layers_.at(layer).cache; }
  void Observed(bool done);

  ExpertSlotCounts counts() const;
  std::uint64_t slot_bytes() const { return arena_.taken(); }
  std::uint64_t mapped_bytes() const { return mapped_bytes_; }  // of what is copied from

 private:
  struct Layer {
    const SlotLayer& plan;
    SlotCache cache;
    std::vector<std::byte*> slots;  // of each tensor of the plan, the first
  };
  ExpertSlots(const GgufFile& file, DeviceMemory& memory) : file_(file), memory_(memory) {}
  Status Copy(const Layer& layer, const SlotCache::Fill& fill);
  const void* ReadExpert(const SlotTensor& tensor, std::int32_t expert);

  const GgufFile& file_;
  DeviceMemory& memory_;
  Arena arena_;
  std::map<int, Layer> layers_;
  std::uint64_t mapped_bytes_ = 0;
  std::uint64_t uploaded_bytes_ = 0;
  std::vector<std::byte> raw_;
  std::vector<float> values_;
};

}  // namespace vt
