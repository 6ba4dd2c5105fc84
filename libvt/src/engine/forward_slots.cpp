// Experts that take turns in the slots of their device.
//
// The sorted pairs go in waves of at most as many experts as there are slots. A wave's experts are
// copied to slots where they are not there yet; its rows are then multiplied as without slots, with
// the number of a slot in the place of its expert's. A row's result is the same to the bit.
#include <algorithm>

#include "engine/expert_slots.h"
#include "engine/forward_pass.h"

namespace vt {
namespace {

// Of the first `count` runs, those whose experts are there.
template <class Runs>
std::int64_t Warm(const SlotCache& cache, Runs begin, std::int64_t count) {
  return std::count_if(begin, begin + count,
                       [&](const auto& run) { return cache.SlotOf(run.expert) >= 0; });
}

}  // namespace

// As many waves as a step takes whose pairs choose as many experts as they can, evenly.
Status Pass::PairsInSlotsDry(int index, const MoeSpec& moe, std::int64_t pairs) {
  const std::int64_t slots = PlaceOf(index).expert_slots;
  const std::int64_t experts = std::min(pairs, moe.experts);
  const std::int64_t waves = (experts + slots - 1) / slots;
  const auto share = [&](std::int64_t all, std::int64_t wave) {
    return all * (wave + 1) / waves - all * wave / waves;
  };
  for (std::int64_t wave = 0; wave < waves; ++wave) {
    Operand in = Input(nullptr, spec_.width, share(pairs, wave));
    VT_RETURN_IF_ERROR(ExpertPairs(index, moe, in, {nullptr, 1, share(experts, wave)}));
  }
  return {};
}

Status Pass::PairsInSlots(int index, const MoeSpec& moe, std::int64_t pairs) {
  if (ops_->dry()) return PairsInSlotsDry(index, moe, pairs);
  const PassSide& side = c_.sides[static_cast<std::size_t>(at_)];
  VT_RETURN_IF_ERROR(ops_->Synchronize());
  std::vector<std::int32_t> ids(static_cast<std::size_t>(pairs));
  VT_RETURN_IF_ERROR(
      side.memory->Download(ids.data(), b_->sorted_ids, ids.size() * sizeof(std::int32_t)));
  std::vector<ExpertRun> runs;
  for (std::int64_t p = 0; p < pairs; ++p) {
    const std::int32_t expert = ids[static_cast<std::size_t>(p)];
    if (expert < 0 || expert >= moe.experts) {
      return InternalError("layer " + std::to_string(index) + ": the router chose expert " +
                           std::to_string(expert) + " of " + std::to_string(moe.experts));
    }
    if (runs.empty() || runs.back().expert != expert) runs.push_back({expert, p, p});
    runs.back().end = p + 1;
  }
  // The last step ended with experts of one end: from there the first wave finds most of its own.
  SlotCache& cache = side.slots->cache(index);
  const auto count = static_cast<std::int64_t>(runs.size());
  const std::int64_t wave = std::min(cache.usable(), count);
  if (Warm(cache, runs.rbegin(), wave) > Warm(cache, runs.begin(), wave)) {
    std::reverse(runs.begin(), runs.end());
  }
  for (std::int64_t begin = 0; begin < count;) {
    const std::int64_t now = std::min(cache.usable(), count - begin);
    if (now == 0) {
      return {
          Code::kDevice,
          "layer " + std::to_string(index) + ": none of its expert slots on " +
              c_.plan.placement.devices[static_cast<std::size_t>(at_)] +
              " can be used again, for its queue failed while it read them; load the model anew"};
    }
    const auto from = static_cast<std::size_t>(begin), some = static_cast<std::size_t>(now);
    VT_RETURN_IF_ERROR(Wave(index, moe, std::span(runs).subspan(from, some), ids));
    begin += now;
  }
  return {};
}

// Pairs of neighbouring runs. `ids` are the experts of all pairs; those of the runs become slots.
Status Pass::Wave(int index, const MoeSpec& moe, std::span<const ExpertRun> runs,
                  std::vector<std::int32_t>& ids) {
  const PassSide& side = c_.sides[static_cast<std::size_t>(at_)];
  std::vector<std::int32_t> experts;
  for (const ExpertRun& run : runs) experts.push_back(run.expert);
  VT_RETURN_IF_ERROR(
      side.slots->Ensure(index, experts, [ops = ops_] { return ops->Synchronize(); }));
  SlotCache& cache = side.slots->cache(index);
  const std::int64_t begin = std::min(runs.front().begin, runs.back().begin);
  const std::int64_t end = std::max(runs.front().end, runs.back().end);
  for (const ExpertRun& run : runs) {
    std::fill(ids.begin() + run.begin, ids.begin() + run.end, cache.SlotOf(run.expert));
  }
  std::int32_t* slots = b_->sorted_ids + begin;
  VT_RETURN_IF_ERROR(side.memory->Upload(
      slots, ids.data() + begin, static_cast<std::uint64_t>(end - begin) * sizeof(std::int32_t)));
  const SlotReads reads(cache, experts);
  Operand in = Input(b_->pair_in + begin * spec_.width, spec_.width, end - begin);
  return ExpertPairs(index, moe, in, {slots, 1, PlaceOf(index).expert_slots}, begin);
}

}  // namespace vt
