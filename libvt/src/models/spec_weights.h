// Every weight of a decoder with its place: what the planner, the loader and reports go by.
#pragma once

#include <string_view>

#include "vt/model_spec.h"
#include "vt/placement.h"

namespace vt {

// How kernels read a weight: as a matrix of its type, as the f32 bias of one, or as other f32
// values.
enum class WeightUse { kMatrix, kBias, kFloats };

// The part of the forward pass that the ops of a place belong to.
inline ModelPart PartOf(int layer, std::string_view place) {
  if (layer < 0) return place.starts_with("output") ? ModelPart::kOutput : ModelPart::kInput;
  if (place.ends_with("_exps")) return ModelPart::kExperts;
  const bool ffn =
      place.starts_with("ffn_") || place.starts_with("inp_") || place == "layer_output_scale";
  return ffn ? ModelPart::kFfn : ModelPart::kMixer;
}

// Calls visit(layer, place, use, WeightRef) for every weight that is there, in the order of the
// forward pass; layer -1 is outside the layers. `place` is where the ops that read it stand. A bias
// comes right after its matrix.
template <class Visit>
void VisitWeights(const ModelSpec& spec, Visit visit) {
  int layer = -1;
  const auto one = [&](const char* place, WeightUse use, const WeightRef& ref) {
    if (ref) visit(layer, place, use, ref);
  };
  const auto matrix = [&](const char* place, const LinearRef& linear) {
    one(place, WeightUse::kMatrix, linear.weight);
    one(place, WeightUse::kBias, linear.bias);
  };
  const auto floats = [&](const char* place, const WeightRef& ref) {
    one(place, WeightUse::kFloats, ref);
  };
  const auto norm = [&](const char* place, const LinearRef& linear) {
    floats(place, linear.weight);
    floats(place, linear.bias);
  };
  const auto experts = [&](const char* place, const ExpertRef& ref) {
    one(place, WeightUse::kMatrix, ref.weight);
    one(place, WeightUse::kBias, ref.bias);
  };
  one("token_embd", WeightUse::kMatrix, spec.embedding);
  one("position_embd", WeightUse::kMatrix, spec.position_embedding);
  norm("token_embd_norm", spec.embedding_norm);
  one("per_layer_token_embd", WeightUse::kMatrix, spec.ple_table);
  matrix("per_layer_model_proj", spec.ple_model_proj);
  norm("per_layer_proj_norm", spec.ple_model_norm);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    layer = static_cast<int>(i);
    const LayerSpec& l = spec.layers[i];
    norm("attn_norm", l.attn_norm);
    matrix("attn_q", l.q);
    norm("attn_q", l.q_norm);
    matrix("attn_k", l.k);
    norm("attn_k", l.k_norm);
    matrix("attn_v", l.v);
    floats("attn", l.sinks);
    matrix("attn_gate", l.attn_gate);
    const LatentSpec& latent = l.latent;
    matrix("attn_q_a", latent.q_a);
    norm("attn_q_a", latent.q_a_norm);
    matrix("attn_q_b", latent.q_b);
    matrix("attn_kv_a", latent.kv_a);
    norm("attn_kv_a", latent.kv_a_norm);
    one("attn_k_b", WeightUse::kMatrix, latent.k_b);
    one("attn_v_b", WeightUse::kMatrix, latent.v_b);
    matrix("attn_kv_b", latent.kv_b);
    matrix("indexer_q", latent.indexer.q);
    matrix("indexer_k", latent.indexer.k);
    norm("indexer_k", latent.indexer.k_norm);
    matrix("indexer_proj", latent.indexer.weights);
    const RecurrentSpec& r = l.recurrent;
    matrix("ssm_in", r.in);
    matrix("ssm_gate", r.gate);
    matrix("ssm_alpha", r.alpha);
    matrix("ssm_beta", r.beta);
    matrix("ssm_ba", r.alpha_beta);
    norm("ssm_conv", r.conv);
    for (const WeightRef* ref : {&r.dt_bias, &r.a, &r.d}) floats("ssm_scan", *ref);
    norm("ssm_norm", r.norm);
    matrix("ssm_out", r.out);
    matrix("attn_output", l.o);
    norm("attn_output", l.attn_post_norm);
    norm("ffn_norm", l.ffn_norm);
    matrix("ffn_gate", l.gate);
    matrix("ffn_up", l.up);
    matrix("ffn_down", l.down);
    norm("ffn_down", l.dense_post_norm);
    const MoeSpec& moe = l.moe;
    floats("ffn_gate_inp", moe.router_scale);
    matrix("ffn_gate_inp", moe.router);
    floats("ffn_route", moe.selection_bias);
    floats("ffn_route", moe.expert_scale);
    norm("ffn_moe_norm", moe.norm);
    experts("ffn_gate_exps", moe.gate);
    experts("ffn_up_exps", moe.up);
    experts("ffn_down_exps", moe.down);
    matrix("ffn_gate_inp_shexp", moe.shared_router);
    matrix("ffn_gate_shexp", moe.shared_gate);
    matrix("ffn_up_shexp", moe.shared_up);
    matrix("ffn_down_shexp", moe.shared_down);
    norm("ffn_moe_out", moe.post_norm);
    norm(moe.experts > 0 ? "ffn_out" : "ffn_down", l.ffn_post_norm);
    matrix("inp_gate", l.ple_gate);
    matrix("inp_proj", l.ple_proj);
    norm("inp_proj", l.ple_norm);
    floats("layer_output_scale", l.output_scale);
  }
  layer = -1;
  norm("output_norm", spec.output_norm);
  matrix("output", spec.output);
}

}  // namespace vt
