// Gemma 4: two head sizes, values normed without weight and equal to the keys where attn_v is
// absent, a tail of layers that reads the keys of earlier ones, an embedding per layer, experts
// beside the dense branch.
#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

// The layer whose keys layer `index` of the shared tail reads: the last owner of the same kind.
int SourceOf(const ModelSpec& spec, std::size_t first, std::size_t index) {
  for (std::size_t i = first; i-- > 0;) {
    if ((spec.layers[i].window > 0) == (spec.layers[index].window > 0)) return static_cast<int>(i);
  }
  return -1;
}

Status ShareKeys(const SpecBuilder& keys, ModelSpec& spec) {
  const std::size_t layers = spec.layers.size();
  VT_ASSIGN_OR_RETURN(const auto shared, keys.Count("attention.shared_kv_layers", 0, layers));
  const std::size_t first = layers - shared.value_or(0);
  for (std::size_t i = first; i < layers; ++i) {
    spec.layers[i].kv_source = SourceOf(spec, first, i);
    if (spec.layers[i].kv_source < 0) {
      return CorruptError("key \"" + keys.Key("attention.shared_kv_layers") +
                          "\": " + std::to_string(shared.value_or(0)) + ", but layer " +
                          std::to_string(i) + " finds no earlier layer of its kind with keys");
    }
  }
  return {};
}

Status Adjust(const SpecBuilder& keys, ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const double cap, keys.NumberOr("final_logit_softcapping", 0.0, 0.0, 1e6));
  VT_ASSIGN_OR_RETURN(const auto ple, keys.Count("embedding_length_per_layer_input", 0, 1u << 20));
  spec.logit_softcap = static_cast<float>(cap);
  spec.ple_width = static_cast<std::int64_t>(ple.value_or(0));
  for (LayerSpec& layer : spec.layers) {
    layer.attention_scale = 1.0f;
    layer.unit_v_norm = true;
    layer.moe.router_input = RouterInput::kStream;
  }
  return ShareKeys(keys, spec);
}

Status ExpertTensors(SpecBuilder& builder, LayerSpec& layer, const std::string& prefix,
                     std::int64_t width) {
  MoeSpec& moe = layer.moe;
  VT_ASSIGN_OR_RETURN(moe.router_scale,
                      builder.Tensor(prefix + "ffn_gate_inp.scale", 1, width, Presence::kRequired));
  VT_ASSIGN_OR_RETURN(moe.expert_scale, builder.Tensor(prefix + "ffn_down_exps.scale", 1,
                                                       moe.experts, Presence::kOptional));
  VT_ASSIGN_OR_RETURN(moe.norm,
                      builder.Norm(prefix + "pre_ffw_norm_2", width, Presence::kRequired));
  VT_ASSIGN_OR_RETURN(layer.dense_post_norm,
                      builder.Norm(prefix + "post_ffw_norm_1", width, Presence::kRequired));
  VT_ASSIGN_OR_RETURN(moe.post_norm,
                      builder.Norm(prefix + "post_ffw_norm_2", width, Presence::kRequired));
  return {};
}

Status LayerTensors(SpecBuilder& builder, ModelSpec& spec, std::size_t index,
                    const std::string& prefix) {
  LayerSpec& layer = spec.layers[index];
  if (layer.moe.experts > 0) {
    VT_RETURN_IF_ERROR(ExpertTensors(builder, layer, prefix, spec.width));
  }
  VT_ASSIGN_OR_RETURN(layer.output_scale, builder.Tensor(prefix + "layer_output_scale.weight", 1, 1,
                                                         Presence::kOptional));
  if (spec.ple_width == 0) return {};
  VT_ASSIGN_OR_RETURN(layer.ple_gate,
                      builder.Linear(prefix + "inp_gate", spec.ple_width, spec.width,
                                     Presence::kRequired, Presence::kNone));
  VT_ASSIGN_OR_RETURN(layer.ple_proj, builder.Linear(prefix + "proj", spec.width, spec.ple_width,
                                                     Presence::kRequired, Presence::kNone));
  VT_ASSIGN_OR_RETURN(layer.ple_norm,
                      builder.Norm(prefix + "post_norm", spec.width, Presence::kRequired));
  return {};
}

Status ModelTensors(SpecBuilder& builder, ModelSpec& spec) {
  if (spec.ple_width == 0) return {};
  const std::int64_t all = spec.ple_width * static_cast<std::int64_t>(spec.layers.size());
  VT_ASSIGN_OR_RETURN(spec.ple_table, builder.Tensor("per_layer_token_embd.weight", spec.vocab, all,
                                                     Presence::kRequired));
  VT_ASSIGN_OR_RETURN(spec.ple_model_proj, builder.Linear("per_layer_model_proj", all, spec.width,
                                                          Presence::kRequired, Presence::kNone));
  VT_ASSIGN_OR_RETURN(spec.ple_model_norm,
                      builder.Norm("per_layer_proj_norm", spec.ple_width, Presence::kRequired));
  return {};
}

}  // namespace

Family Gemma4Family() {
  Family family;
  family.architecture = "gemma4";
  family.activation = FfnActivation::kGelu;
  family.scaled_embedding = true;
  family.post_norms = true;
  family.qk_norm = Presence::kRequired;
  family.values_may_be_keys = true;
  family.window = {WindowPattern::When::kAlways, 0, 0};
  family.window_rope = WindowRope::kOwnBase;
  family.moe.normalize = true;
  family.moe.by_presence = true;
  family.moe.dense_beside = true;
  family.adjust = Adjust;
  family.layer_tensors = LayerTensors;
  family.model_tensors = ModelTensors;
  return family;
}

}  // namespace vt
