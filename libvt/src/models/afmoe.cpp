// Trinity (AFMoE): gated attention, norms before and after each branch; every fourth layer does not
// rotate.
#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

Status LayerTensors(SpecBuilder& builder, ModelSpec& spec, std::size_t index,
                    const std::string& prefix) {
  LayerSpec& layer = spec.layers[index];
  VT_ASSIGN_OR_RETURN(layer.attn_gate,
                      builder.Linear(prefix + "attn_gate", layer.heads * layer.value_dim,
                                     spec.width, Presence::kRequired, Presence::kNone));
  return {};
}

}  // namespace

Family AfMoeFamily() {
  Family family;
  family.architecture = "afmoe";
  family.scaled_embedding = true;
  family.post_norms = true;
  family.qk_norm = Presence::kRequired;
  family.window = {WindowPattern::When::kIfKey, 0, 4};
  family.unrotated_period = 4;
  family.moe.gating = RouterGating::kSigmoid;
  family.layer_tensors = LayerTensors;
  return family;
}

}  // namespace vt
