#include "engine/expert_slots.h"

#include <algorithm>
#include <numeric>

#include "cpu/quants/dequantize.h"
#include "engine/row_arena.h"

namespace vt {

SlotCache::SlotCache(std::int64_t experts, std::int64_t slots)
    : slots_(static_cast<std::size_t>(slots)), slot_of_(static_cast<std::size_t>(experts), -1) {}

std::int64_t SlotCache::usable() const {
  return static_cast<std::int64_t>(slots_.size() - counts_.quarantined_slots);
}

void SlotCache::Vacate(Slot& slot) {
  if (slot.expert >= 0) slot_of_[static_cast<std::size_t>(slot.expert)] = -1;
  slot.expert = -1;
}

Result<std::vector<SlotCache::Fill>> SlotCache::MakeRoom(std::span<const std::int32_t> experts,
                                                         const std::function<Status()>& retire) {
  std::vector<bool> stays(slots_.size());
  std::vector<Fill> fills;
  for (const std::int32_t expert : experts) {
    if (const std::int32_t slot = SlotOf(expert); slot >= 0) {
      stays[static_cast<std::size_t>(slot)] = true;
    } else {
      fills.push_back({expert, -1});
    }
  }
  std::vector<std::int32_t> free;
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    if (!stays[s] && !slots_[s].quarantined) free.push_back(static_cast<std::int32_t>(s));
  }
  if (free.size() < fills.size()) {
    return InternalError("expert slots: " + std::to_string(experts.size()) +
                         " experts at once, and " + std::to_string(usable()) + " slots");
  }
  // Those that hold nothing come first, for they were never used.
  std::stable_sort(free.begin(), free.end(),
                   [&](std::int32_t a, std::int32_t b) { return At(a).last_use < At(b).last_use; });
  free.resize(fills.size());
  if (std::any_of(free.begin(), free.end(), [&](std::int32_t s) { return At(s).read; })) {
    VT_RETURN_IF_ERROR(retire());
  }
  counts_.hits += experts.size() - fills.size();
  counts_.misses += fills.size();
  for (std::size_t i = 0; i < fills.size(); ++i) {
    fills[i].slot = free[i];
    Slot& slot = At(free[i]);
    if (slot.expert >= 0) ++counts_.evictions;
    Vacate(slot);
  }
  ++clock_;
  for (const std::int32_t expert : experts) {
    if (SlotOf(expert) >= 0) At(SlotOf(expert)).last_use = clock_;
  }
  for (const Fill& fill : fills) At(fill.slot).last_use = clock_;
  return fills;
}

void SlotCache::Filled(const Fill& fill) {
  At(fill.slot).expert = fill.expert;
  slot_of_[static_cast<std::size_t>(fill.expert)] = fill.slot;
}

void SlotCache::BeginReads(std::span<const std::int32_t> experts) {
  reads_end_ = false;
  for (const std::int32_t expert : experts) {
    const std::int32_t slot = SlotOf(expert);
    if (slot < 0 || At(slot).read) continue;
    At(slot).read = true;
    read_.push_back(slot);
  }
}

void SlotCache::Observed(bool done) {
  // Of what was launched so far; more launches may follow while reads go on.
  if (done && !reads_end_) return;
  for (const std::int32_t s : read_) {
    Slot& slot = At(s);
    slot.read = false;
    if (done) continue;
    slot.quarantined = true;
    ++counts_.quarantined_slots;
    Vacate(slot);
  }
  read_.clear();
}

Result<std::unique_ptr<ExpertSlots>> ExpertSlots::Load(const GgufFile& file, const EnginePlan& plan,
                                                       const DevicePlan& device,
                                                       DeviceMemory& memory, ModelWeights& weights,
                                                       const std::atomic<bool>* cancel) {
  if (device.slots.empty()) return std::unique_ptr<ExpertSlots>();
  std::unique_ptr<ExpertSlots> all(new ExpertSlots(file, memory));
  VT_ASSIGN_OR_RETURN(all->arena_, RowArena(plan, device.device.id, kSlotsRow, memory));
  for (const SlotLayer& planned : device.slots) {
    Layer layer{planned, SlotCache(planned.experts, planned.slots), {}};
    for (const SlotTensor& tensor : planned.tensors) {
      auto* slots = static_cast<std::byte*>(all->arena_.Take(planned.BytesOf(tensor)));
      if (!slots) return InternalError("memory row \"weights.slots\": the plan is too small");
      layer.slots.push_back(slots);
      weights.Point(tensor.tensor, slots, tensor.floats);
      all->mapped_bytes_ += file.tensors()[static_cast<std::size_t>(tensor.tensor)].bytes;
    }
    all->layers_.emplace(planned.layer, std::move(layer));
  }
  VT_RETURN_IF_ERROR(CheckUsedUp(all->arena_, kSlotsRow));
  for (auto& entry : all->layers_) {
    Layer& layer = entry.second;
    for (std::int32_t i = 0; i < layer.plan.slots; ++i) {
      if (cancel && cancel->load(std::memory_order_relaxed)) {
        return Status(Code::kInterrupted, "interrupted");
      }
      const SlotCache::Fill fill{i, i};
      VT_RETURN_IF_ERROR(all->Copy(layer, fill));
      layer.cache.Filled(fill);
    }
  }
  return all;
}

// The bytes of one expert as its slot holds them, until the next call.
const void* ExpertSlots::ReadExpert(const SlotTensor& tensor, std::int32_t expert) {
  const GgufTensor& t = file_.tensors()[static_cast<std::size_t>(tensor.tensor)];
  const std::uint64_t begin = static_cast<std::uint64_t>(expert) * tensor.file_bytes;
  const std::byte* bytes = file_.Data(t);
  if (bytes) {
    bytes += begin;
  } else {
    raw_.resize(tensor.file_bytes);
    file_.CopyRange(t, begin, tensor.file_bytes, raw_.data());
    bytes = raw_.data();
  }
  if (!tensor.floats || t.type == DType::kF32) return bytes;
  values_.resize(tensor.bytes / sizeof(float));
  DequantizeRow(t.type, bytes, values_.data(), static_cast<std::int64_t>(values_.size()));
  return values_.data();
}

Status ExpertSlots::Copy(const Layer& layer, const SlotCache::Fill& fill) {
  for (std::size_t i = 0; i < layer.slots.size(); ++i) {
    const SlotTensor& tensor = layer.plan.tensors[i];
    VT_RETURN_IF_ERROR(
        memory_.Upload(layer.slots[i] + static_cast<std::uint64_t>(fill.slot) * tensor.bytes,
                       ReadExpert(tensor, fill.expert), tensor.bytes));
  }
  return {};
}

Status ExpertSlots::Ensure(int layer, std::span<const std::int32_t> experts,
                           const std::function<Status()>& retire) {
  Layer& l = layers_.at(layer);
  VT_ASSIGN_OR_RETURN(const std::vector<SlotCache::Fill> fills, l.cache.MakeRoom(experts, retire));
  for (const SlotCache::Fill& fill : fills) {
    VT_RETURN_IF_ERROR(Copy(l, fill));
    uploaded_bytes_ += l.plan.expert_bytes();
    l.cache.Filled(fill);
  }
  return {};
}

void ExpertSlots::Observed(bool done) {
  for (auto& entry : layers_) entry.second.cache.Observed(done);
}

ExpertSlotCounts ExpertSlots::counts() const {
  ExpertSlotCounts sum;
  for (const auto& entry : layers_) {
    const ExpertSlotCounts& one = entry.second.cache.counts();
    sum.hits += one.hits;
    sum.misses += one.misses;
    sum.evictions += one.evictions;
    sum.quarantined_slots += one.quarantined_slots;
  }
  sum.uploaded_bytes = uploaded_bytes_;
  return sum;
}

}  // namespace vt
