#include "place/slot_cost.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/size_text.h"

namespace vt {
namespace {

std::int64_t UsedOf(const ModelSpec& spec, const SlotLayer& layer) {
  return spec.layers[static_cast<std::size_t>(layer.layer)].moe.used;
}

std::string OneDecimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

}  // namespace

SlotCopies CopiesOf(const SlotLayer& layer, std::int64_t used, std::int64_t tokens) {
  const std::int64_t pairs = tokens * used;
  const std::int64_t chosen = std::min(pairs, layer.experts);
  const std::int64_t waves = (chosen + layer.slots - 1) / layer.slots;
  SlotCopies copies;
  copies.experts = static_cast<double>(chosen) * static_cast<double>(layer.experts - layer.slots) /
                   static_cast<double>(layer.experts);
  copies.copies =
      copies.experts * static_cast<double>(layer.tensors.size()) + 1 + static_cast<double>(waves);
  copies.bytes = copies.experts * static_cast<double>(layer.expert_bytes()) +
                 2.0 * sizeof(std::int32_t) * static_cast<double>(pairs);
  return copies;
}

double SlotSeconds(const CostModel& model, int device, const SlotLayer& layer, std::int64_t used,
                   std::int64_t tokens) {
  const SlotCopies copies = CopiesOf(layer, used, tokens);
  return model.HostCopySeconds(device, copies.copies, copies.bytes);
}

std::vector<std::string> SlotNotes(const ModelSpec& spec, const EnginePlan& plan) {
  struct Group {
    std::size_t layers = 0;
    double chosen = 0, copied = 0, copied_bytes = 0, seconds = 0;
    std::uint64_t bytes = 0, all_bytes = 0;
  };
  std::vector<DeviceInfo> devices;
  for (const DevicePlan& device : plan.devices) devices.push_back(device.device);
  const CostModel model(spec, plan.options, devices);
  std::vector<std::string> notes;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    std::map<std::pair<std::int64_t, std::int64_t>, Group> groups;  // by slots and experts
    for (const SlotLayer& layer : plan.devices[d].slots) {
      const std::int64_t used = UsedOf(spec, layer);
      const SlotCopies copies = CopiesOf(layer, used, 1);
      Group& group = groups[{layer.slots, layer.experts}];
      ++group.layers;
      group.chosen += static_cast<double>(used);
      group.copied += copies.experts;
      group.copied_bytes += copies.bytes;
      group.seconds += SlotSeconds(model, static_cast<int>(d), layer, used, 1);
      group.bytes += static_cast<std::uint64_t>(layer.slots) * layer.expert_bytes();
      group.all_bytes += static_cast<std::uint64_t>(layer.experts) * layer.expert_bytes();
    }
    for (const auto& [sizes, group] : groups) {
      notes.push_back(devices[d].id + ": " + std::to_string(sizes.first) + " of " +
                      std::to_string(sizes.second) + " experts at a time in " +
                      std::to_string(group.layers) +
                      (group.layers == 1 ? " layer, " : " layers, ") + SizeText(group.bytes) +
                      " instead of " + SizeText(group.all_bytes) + "; of " +
                      OneDecimal(group.chosen) + " that a token chooses " +
                      OneDecimal(group.copied) + " are copied there, were all as likely: " +
                      SizeText(static_cast<std::uint64_t>(group.copied_bytes)) + ", about " +
                      OneDecimal(group.seconds * 1e3) + " ms of each token decoded");
    }
  }
  return notes;
}

}  // namespace vt
