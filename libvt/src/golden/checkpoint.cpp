#include "golden/checkpoint.h"

#include <algorithm>

namespace vt {

CheckpointRecorder::CheckpointRecorder(std::vector<int> layers, std::int64_t width)
    : layers_(std::move(layers)), width_(static_cast<std::size_t>(width)) {}

std::function<Status(const OpEvent&)> CheckpointRecorder::Hook() {
  return [this](const OpEvent& event) {
    const bool stream = event.place == kLayerEnd;
    if (!stream && event.op != "expert_combine") return Status();
    if (!layers_.empty() &&
        std::find(layers_.begin(), layers_.end(), event.layer) == layers_.end()) {
      return Status();
    }
    std::vector<Sketch>& rows =
        seen_[{event.layer, stream ? CheckpointWhat::kStream : CheckpointWhat::kExperts}];
    for (std::size_t begin = 0; begin + width_ <= event.out.size(); begin += width_) {
      rows.push_back(SketchOf(event.out.subspan(begin, width_)));
    }
    return Status();
  };
}

std::vector<GoldenCheckpoint> CheckpointRecorder::Take() {
  std::vector<GoldenCheckpoint> all;
  for (auto& [key, rows] : seen_) all.push_back({key.first, key.second, std::move(rows)});
  seen_.clear();
  return all;
}

bool HasCheckpoints(const Golden& golden) {
  return std::any_of(golden.cases.begin(), golden.cases.end(),
                     [](const GoldenCase& one) { return !one.checkpoints.empty(); });
}

std::unique_ptr<CheckpointRecorder> RecorderFor(const Golden& golden, const ModelSpec& spec) {
  std::vector<int> layers;
  for (const GoldenCase& one : golden.cases) {
    for (const GoldenCheckpoint& point : one.checkpoints) layers.push_back(point.layer);
  }
  if (layers.empty()) return nullptr;
  return std::make_unique<CheckpointRecorder>(std::move(layers), spec.width);
}

}  // namespace vt
