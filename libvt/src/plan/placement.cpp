#include "plan/placement.h"

#include <algorithm>

#include "models/spec_weights.h"
#include "plan/memory_plan.h"

namespace vt {

std::string_view NameOf(ModelPart part) {
  constexpr std::string_view kNames[] = {"input", "mixer", "ffn", "experts", "output"};
  return kNames[static_cast<std::size_t>(part)];
}

int DeviceOf(const Placement& placement, ModelPart part, int layer) {
  if (part == ModelPart::kInput) return placement.input;
  if (part == ModelPart::kOutput) return placement.output;
  const LayerPlacement& l = placement.layers[static_cast<std::size_t>(layer)];
  if (part == ModelPart::kMixer) return l.mixer;
  return part == ModelPart::kFfn ? l.ffn : l.experts;
}

void PlaceTensors(const GgufFile& file, const ModelSpec& spec, Placement& placement) {
  placement.tensors.resize(file.tensors().size(), -1);
  placement.held.resize(file.tensors().size(), Held::kKept);
  std::vector<bool> given(file.tensors().size());
  for (std::size_t i = 0; i < given.size(); ++i) given[i] = placement.tensors[i] >= 0;
  VisitWeights(spec, [&](int layer, const char* place, WeightUse use, const WeightRef& ref) {
    const auto tensor = static_cast<std::size_t>(ref.tensor);
    if (use != WeightUse::kMatrix || given[tensor]) return;
    const ModelPart part = PartOf(layer, place);
    int& device = placement.tensors[tensor];
    if (device < 0 || part == ModelPart::kOutput) device = DeviceOf(placement, part, layer);
  });
}

Placement WholePlacement(const GgufFile& file, const ModelSpec& spec, std::string device) {
  Placement placement;
  placement.devices = {std::move(device)};
  placement.layers.resize(spec.layers.size());
  PlaceTensors(file, spec, placement);
  return placement;
}

namespace {

Status Wrong(const std::string& what) { return InvalidError("placement: " + what); }

Status CheckSlots(const GgufFile& file, const LayerSpec& layer, const Placement& placement,
                  std::size_t index) {
  const LayerPlacement& place = placement.layers[index];
  if (place.expert_slots == 0) return {};
  const auto wrong = [&](const std::string& what) {
    return Wrong("expert slots of layer " + std::to_string(index) + ": " + what);
  };
  if (place.expert_slots < 0 || place.expert_slots > layer.moe.experts) {
    return wrong(std::to_string(place.expert_slots) + " is out of range (allowed 0 to " +
                 std::to_string(layer.moe.experts) + ", as many as it has experts)");
  }
  const std::string& device = placement.devices[static_cast<std::size_t>(place.experts)];
  if (device == kHostDevice) {
    return wrong(std::to_string(place.expert_slots) + " on " + device +
                 ", which reads all experts where they are mapped; allowed is 0 there");
  }
  for (const ExpertRef* ref : {&layer.moe.gate, &layer.moe.up, &layer.moe.down}) {
    if (!*ref) continue;
    const auto tensor = static_cast<std::size_t>(ref->weight.tensor);
    const std::string name(file.tensors()[tensor].name);
    if (placement.tensors[tensor] != place.experts) {
      return wrong("tensor " + name + " does not lie on " + device +
                   " with the layer's experts; place it there, or have no slots");
    }
    if (placement.held[tensor] != Held::kKept) {
      return wrong("tensor " + name + " is held decoded; slots hold what is kept as it is alone");
    }
  }
  return {};
}

}  // namespace

Status CheckPlacement(const GgufFile& file, const ModelSpec& spec, const Placement& placement) {
  const auto count = static_cast<int>(placement.devices.size());
  if (count == 0) return Wrong("names no device");
  for (std::size_t i = 0; i < placement.devices.size(); ++i) {
    if (std::find(placement.devices.begin(), placement.devices.begin() + static_cast<long>(i),
                  placement.devices[i]) != placement.devices.begin() + static_cast<long>(i)) {
      return Wrong("device " + placement.devices[i] + " stands there twice");
    }
  }
  if (placement.layers.size() != spec.layers.size()) {
    return Wrong("has " + std::to_string(placement.layers.size()) + " layers, the model has " +
                 std::to_string(spec.layers.size()));
  }
  if (placement.tensors.size() != file.tensors().size() ||
      placement.held.size() != file.tensors().size()) {
    return Wrong("has " + std::to_string(placement.tensors.size()) + " tensors, the model has " +
                 std::to_string(file.tensors().size()));
  }
  const auto known = [&](int device) { return device >= 0 && device < count; };
  bool ok = known(placement.input) && known(placement.output);
  for (const LayerPlacement& layer : placement.layers) {
    ok = ok && known(layer.mixer) && known(layer.ffn) && known(layer.experts);
  }
  for (const int device : placement.tensors) ok = ok && device < count;
  if (!ok) return Wrong("a part is on a device that is not listed");
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const int source = spec.layers[i].kv_source;
    if (source < 0) continue;
    const int there = placement.layers[static_cast<std::size_t>(source)].mixer;
    if (placement.layers[i].mixer == there) continue;
    return Wrong("layer " + std::to_string(i) + " reads the keys of layer " +
                 std::to_string(source) + ", which are on " +
                 placement.devices[static_cast<std::size_t>(there)] + "; place it there too");
  }
  std::string missing;
  VisitWeights(spec, [&](int, const char*, WeightUse use, const WeightRef& ref) {
    const auto tensor = static_cast<std::size_t>(ref.tensor);
    if (use == WeightUse::kMatrix && placement.tensors[tensor] < 0 && missing.empty()) {
      missing = file.tensors()[tensor].name;
    }
  });
  if (!missing.empty()) return Wrong("tensor " + missing + " has no device");
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    VT_RETURN_IF_ERROR(CheckSlots(file, spec.layers[i], placement, i));
  }
  return {};
}

}  // namespace vt
