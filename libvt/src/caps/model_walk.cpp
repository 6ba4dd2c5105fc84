// The forward pass with the tensors of each op.
#include "caps/model_walk.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/op_walk.h"
#include "models/spec_weights.h"

namespace vt {
namespace {

using Place = std::pair<int, std::string>;

// Which tensors the ops at a place read: products and look-ups take the matrices, all else the
// values that are read as f32.
struct PlaceTensors {
  std::vector<int> matrices, floats, frequencies;
};

class TensorPlaces {
 public:
  explicit TensorPlaces(const ModelSpec& spec) {
    for (const RopeSpec& rope : spec.ropes) {
      for (const WeightRef& ref : {rope.factors, rope.factors_long, rope.factors_short}) {
        if (ref) places_[{-1, "rope"}].frequencies.push_back(ref.tensor);
      }
    }
    VisitWeights(spec, [&](int layer, const char* place, WeightUse use, const WeightRef& ref) {
      PlaceTensors& tensors = places_[{layer, place}];
      (use == WeightUse::kFloats ? tensors.floats : tensors.matrices).push_back(ref.tensor);
      if (ref.scales >= 0) tensors.matrices.push_back(ref.scales);
    });
  }

  const std::vector<int>* Find(const NeededOp& op) const {
    const auto found = places_.find({op.layer, op.place});
    if (found == places_.end()) return nullptr;
    const std::string_view name = OpOf(op.call);
    if (name == RopeTableArgs::kOp) return &found->second.frequencies;
    const bool product = name == EmbedArgs::kOp || name.find("matmul") != std::string_view::npos;
    return product ? &found->second.matrices : &found->second.floats;
  }

 private:
  std::map<Place, PlaceTensors> places_;
};

}  // namespace

Result<ModelWalk> WalkForward(const GgufFile& file, const ModelSpec& spec,
                              const EngineOptions& options, const DeviceInfo& device) {
  VT_ASSIGN_OR_RETURN(std::vector<NeededOp> needed, WalkOps(file, spec, options, device));
  const TensorPlaces places(spec);
  ModelWalk walk;
  std::set<std::string_view> read;
  std::int64_t tokens = 1;
  for (NeededOp& op : needed) {
    // A look-up begins every pass, with a row per token (or per row of logits).
    if (const auto* embed = std::get_if<EmbedArgs>(&op.call)) tokens = embed->rows;
    WalkedOp walked{.layer = op.layer,
                    .place = op.place,
                    .op = OpOf(op.call),
                    .call = op.call,
                    .unwritten = {},
                    .tokens = tokens,
                    .tensors = {}};
    if (const std::vector<int>* tensors = places.Find(op)) {
      for (const int tensor : *tensors) {
        const std::string_view name = file.tensors()[static_cast<std::size_t>(tensor)].name;
        walked.tensors.push_back(name);
        read.insert(name);
      }
    }
    walk.ops.push_back(std::move(walked));
  }
  const std::set<std::string_view> unused(spec.unused_tensors.begin(), spec.unused_tensors.end());
  for (const GgufTensor& tensor : file.tensors()) {
    if (read.contains(tensor.name)) continue;
    walk.left.push_back(
        {std::string(tensor.name), unused.contains(tensor.name)
                                       ? "of no use to this architecture's forward pass"
                                       : "the forward pass reads it outside its named places"});
  }
  return walk;
}

}  // namespace vt
