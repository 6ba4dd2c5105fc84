// Grok: norms before and after each branch, soft caps, experts beside an optional dense branch.
#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

Status Adjust(const SpecBuilder& keys, ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const double logits,
                      keys.NumberOr("logit_scale", 0.5773502691896257, 0, 1e6));
  VT_ASSIGN_OR_RETURN(const double embedding,
                      keys.NumberOr("embedding_scale", 78.38367176906169, 0, 1e6));
  VT_ASSIGN_OR_RETURN(const double attention,
                      keys.NumberOr("attention.output_scale", 0.08838834764831845, 0, 1e6));
  VT_ASSIGN_OR_RETURN(const double attention_cap,
                      keys.NumberOr("attn_logit_softcapping", 30.0, 0, 1e6));
  VT_ASSIGN_OR_RETURN(const double logit_cap, keys.NumberOr("final_logit_softcapping", 0, 0, 1e6));
  spec.logit_scale = static_cast<float>(logits);
  spec.logit_softcap = static_cast<float>(logit_cap);
  spec.embedding_scale = static_cast<float>(embedding);
  for (LayerSpec& layer : spec.layers) {
    layer.attention_scale = static_cast<float>(attention);
    layer.attention_softcap = static_cast<float>(attention_cap);
  }
  return {};
}

Status LayerTensors(SpecBuilder& builder, ModelSpec& spec, std::size_t index,
                    const std::string& prefix) {
  LayerSpec& layer = spec.layers[index];
  VT_ASSIGN_OR_RETURN(layer.attn_post_norm,
                      builder.Norm(prefix + "attn_output_norm", spec.width, Presence::kRequired));
  const bool old_name = builder.Has(prefix + "layer_output_norm.weight");
  VT_ASSIGN_OR_RETURN(layer.ffn_post_norm,
                      builder.Norm(prefix + (old_name ? "layer_output_norm" : "post_ffw_norm"),
                                   spec.width, Presence::kRequired));
  return {};
}

}  // namespace

Family GrokFamily() {
  Family family;
  family.architecture = "grok";
  family.activation = FfnActivation::kGelu;
  family.moe.normalize = true;
  family.moe.dense_beside = true;
  family.moe.dense_optional = true;
  family.moe.branch_scale = 0.70710678f;
  family.adjust = Adjust;
  family.layer_tensors = LayerTensors;
  return family;
}

}  // namespace vt
