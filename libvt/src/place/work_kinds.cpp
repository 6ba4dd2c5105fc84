#include "place/work_kinds.h"

#include <algorithm>
#include <utility>

#include "place/overhead.h"

namespace vt {
namespace {

constexpr int kMostKinds = 64;

void Mark(PartSet& parts, ModelPart part, int layer) {
  if (part == ModelPart::kInput) parts.input = true;
  if (part == ModelPart::kOutput) parts.output = true;
  if (layer < 0) return;
  PartSet::Layer& l = parts.layers[static_cast<std::size_t>(layer)];
  if (part == ModelPart::kMixer) l.mixer = true;
  if (part == ModelPart::kFfn) l.ffn = true;
  if (part == ModelPart::kExperts) l.experts = true;
}

void Join(PartSet& parts, const PartSet& more) {
  parts.input = parts.input || more.input;
  parts.output = parts.output || more.output;
  for (std::size_t i = 0; i < parts.layers.size(); ++i) {
    parts.layers[i].mixer = parts.layers[i].mixer || more.layers[i].mixer;
    parts.layers[i].ffn = parts.layers[i].ffn || more.layers[i].ffn;
    parts.layers[i].experts = parts.layers[i].experts || more.layers[i].experts;
  }
}

// All sizes, so that two kinds that add up to the same are told apart.
std::vector<std::int64_t> SizesOf(const StepSizes& s) {
  std::vector<std::int64_t> sizes = {s.scratch_floats};
#define VT_SIZE(type, name, elements) sizes.push_back(elements);
  VT_STEP_BUFFERS(VT_SIZE)
#undef VT_SIZE
  return sizes;
}

}  // namespace

WorkKinds::WorkKinds(const GgufFile& file, const ModelSpec& spec, const PlaceRequest& request,
                     EnginePlan plan)
    : spec_(spec), plan_(std::move(plan)) {
  for (const DeviceInfo& device : request.devices) {
    const bool host = device.kind == DeviceKind::kCpu;
    overhead_.push_back(host ? 0 : OverheadOf(file, device, request.calibration).bytes());
  }
}

int WorkKinds::KindOf(ModelPart part, int layer) {
  PartSet alone;
  alone.layers.resize(spec_.layers.size());
  Mark(alone, part, layer);
  const StepSizes sizes = MeasureStep(spec_, plan_, alone);
  const auto [known, fresh] =
      known_.try_emplace(std::tuple(part, LogitBytes(sizes), SizesOf(sizes)),
                         std::min(static_cast<int>(kinds_.size()), kMostKinds - 1));
  if (!fresh) return known->second;
  if (known->second == static_cast<int>(kinds_.size())) {
    kinds_.push_back(std::move(alone));
  } else {  // more kinds than bits: the last one stands for the widest of the rest
    Join(kinds_.back(), alone);
  }
  return known->second;
}

std::uint64_t WorkKinds::Bytes(int device, std::uint64_t kinds) const {
  if (kinds == 0) return 0;
  PartSet parts;
  parts.layers.resize(spec_.layers.size());
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (kinds >> k & 1) Join(parts, kinds_[k]);
  }
  const StepSizes sizes = MeasureStep(spec_, plan_, parts);
  return ActivationBytes(sizes) + LogitBytes(sizes) + ScratchBytes(sizes) +
         overhead_[static_cast<std::size_t>(device)];
}

}  // namespace vt
