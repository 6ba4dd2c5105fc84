// Checkpoints of layers while an engine runs: what each leaves at every position, as sketches.
//
// Logits cannot tell all: a norm after a layer takes out the layer's scale, and so does a norm
// after a layer's experts. Two places are kept for that reason: the residual stream after the
// layer, and the weighted sum of the chosen experts before any norm (and before the shared expert's
// part).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "golden/golden.h"
#include "vt/engine.h"
#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt {

class CheckpointRecorder {
 public:
  // `layers`: those to keep; empty: all. `width` is the model's.
  CheckpointRecorder(std::vector<int> layers, std::int64_t width);

  // For EngineOptions::on_op of the engine that runs; the recorder outlives it. Positions are those
  // of the one sequence that runs since Clear.
  std::function<Status(const OpEvent&)> Hook();
  void Clear() { seen_.clear(); }
  // By layer, what comes first in it first.
  std::vector<GoldenCheckpoint> Take();

 private:
  std::vector<int> layers_;
  std::size_t width_;
  std::map<std::pair<int, CheckpointWhat>, std::vector<Sketch>> seen_;
};

bool HasCheckpoints(const Golden& golden);
// For the layers that the golden's checkpoints are of; null when it has none.
std::unique_ptr<CheckpointRecorder> RecorderFor(const Golden& golden, const ModelSpec& spec);

}  // namespace vt
