// The forward pass with the tensors of each op.
#include "caps/model_walk.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/op_walk.h"

namespace vt {
namespace {

using Place = std::pair<int, std::string>;

// Which tensors the ops at a place read: products and look-ups take the matrices, norms the norms.
struct PlaceTensors {
  std::vector<int> matrices, norms, frequencies;
};

class TensorPlaces {
 public:
  explicit TensorPlaces(const ModelSpec& spec) {
    Add(-1, "token_embd", {spec.embedding, {}}, {});
    Add(-1, "position_embd", {spec.position_embedding, {}}, {});
    Add(-1, "output_norm", {}, spec.output_norm);
    Add(-1, "output", spec.output, {});
    for (const RopeSpec& rope : spec.ropes) {
      for (const WeightRef& ref : {rope.factors, rope.factors_long, rope.factors_short}) {
        if (ref) places_[{-1, "rope"}].frequencies.push_back(ref.tensor);
      }
    }
    for (std::size_t i = 0; i < spec.layers.size(); ++i) {
      const LayerSpec& layer = spec.layers[i];
      const int index = static_cast<int>(i);
      Add(index, "attn_norm", {}, layer.attn_norm);
      Add(index, "attn_q", layer.q, layer.q_norm);
      Add(index, "attn_k", layer.k, layer.k_norm);
      Add(index, "attn_v", layer.v, {});
      Add(index, "attn_output", layer.o, layer.attn_post_norm);
      Add(index, "ffn_norm", {}, layer.ffn_norm);
      Add(index, "ffn_gate", layer.gate, {});
      Add(index, "ffn_up", layer.up, {});
      Add(index, "ffn_down", layer.down, layer.ffn_post_norm);
    }
  }

  const std::vector<int>* Find(const NeededOp& op) const {
    const auto found = places_.find({op.layer, op.place});
    if (found == places_.end()) return nullptr;
    const std::string_view name = OpOf(op.call);
    if (name == RopeTableArgs::kOp) return &found->second.frequencies;
    if (name == MatmulArgs::kOp || name == EmbedArgs::kOp || name == ExpertMatmulArgs::kOp) {
      return &found->second.matrices;
    }
    return name.find("norm") != std::string_view::npos ? &found->second.norms : nullptr;
  }

 private:
  void Add(int layer, const char* place, const LinearRef& matrix, const LinearRef& norm) {
    PlaceTensors& tensors = places_[{layer, place}];
    for (const WeightRef& ref : {matrix.weight, matrix.bias}) {
      if (ref) tensors.matrices.push_back(ref.tensor);
    }
    for (const WeightRef& ref : {norm.weight, norm.bias}) {
      if (ref) tensors.norms.push_back(ref.tensor);
    }
  }

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
