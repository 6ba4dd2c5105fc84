// Keys and tensors of multi-head latent attention.
#include <cmath>

#include "models/spec_builder.h"

namespace vt {
namespace {

constexpr std::uint64_t kMostDim = 1u << 24;

std::int64_t Signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

Status SpecBuilder::ReadLatentSizes(ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) {
    if (layer.mixer != MixerKind::kLatent) continue;
    LatentSpec& latent = layer.latent;
    VT_ASSIGN_OR_RETURN(const auto q_rank, Count("attention.q_lora_rank", 0, kMostDim));
    VT_ASSIGN_OR_RETURN(const std::uint64_t kv_rank,
                        RequiredCount("attention.kv_lora_rank", 1, kMostDim));
    VT_ASSIGN_OR_RETURN(const auto rope, Count("rope.dimension_count", 2, kMostDim));
    VT_ASSIGN_OR_RETURN(const auto key_mla, Count("attention.key_length_mla", 1, kMostDim));
    VT_ASSIGN_OR_RETURN(const auto value_mla, Count("attention.value_length_mla", 1, kMostDim));
    const std::int64_t key = key_mla ? Signed(*key_mla) : layer.key_dim;
    const std::int64_t rope_dim = rope ? Signed(*rope) : key;
    if (key < rope_dim) {
      return CorruptError("key \"" + Key("rope.dimension_count") + "\": " +
                          std::to_string(rope_dim) + " exceeds a head's " + std::to_string(key) +
                          " values (" + Key("attention.key_length_mla") + ")");
    }
    latent.q_rank = Signed(q_rank.value_or(0));
    latent.kv_rank = Signed(kv_rank);
    latent.rope_dim = rope_dim;
    latent.nope_dim = key - latent.rope_dim;
    layer.key_dim = key;
    if (value_mla) layer.value_dim = Signed(*value_mla);
    layer.attention_scale = 1.0f / std::sqrt(static_cast<float>(key));
  }
  return {};
}

Status SpecBuilder::ReadLatent(ModelSpec& spec, std::size_t index, const std::string& prefix) {
  LayerSpec& layer = spec.layers[index];
  LatentSpec& latent = layer.latent;
  const std::int64_t width = spec.width;
  const std::int64_t heads = layer.heads;
  const Presence bias = Presence::kNone;
  if (latent.q_rank > 0) {
    VT_ASSIGN_OR_RETURN(
        latent.q_a, Linear(prefix + "attn_q_a", latent.q_rank, width, Presence::kRequired, bias));
    VT_ASSIGN_OR_RETURN(latent.q_a_norm,
                        Norm(prefix + "attn_q_a_norm", latent.q_rank, Presence::kRequired));
  }
  VT_ASSIGN_OR_RETURN(
      latent.q_b,
      Linear(prefix + (latent.q_rank > 0 ? "attn_q_b" : "attn_q"), heads * layer.key_dim,
             latent.q_rank > 0 ? latent.q_rank : width, Presence::kRequired, bias));
  VT_ASSIGN_OR_RETURN(latent.kv_a,
                      Linear(prefix + "attn_kv_a_mqa", latent.kv_rank + latent.rope_dim, width,
                             Presence::kRequired, bias));
  VT_ASSIGN_OR_RETURN(latent.kv_a_norm,
                      Norm(prefix + "attn_kv_a_norm", latent.kv_rank, Presence::kRequired));
  if (!Has(prefix + "attn_k_b.weight") && Has(prefix + "attn_kv_b.weight")) {
    VT_ASSIGN_OR_RETURN(latent.kv_b,
                        Linear(prefix + "attn_kv_b", heads * (latent.nope_dim + layer.value_dim),
                               latent.kv_rank, Presence::kRequired, bias));
  } else {
    VT_ASSIGN_OR_RETURN(latent.k_b, Tensor(prefix + "attn_k_b.weight", heads * latent.kv_rank,
                                           latent.nope_dim, Presence::kRequired));
    VT_ASSIGN_OR_RETURN(latent.v_b, Tensor(prefix + "attn_v_b.weight", heads * layer.value_dim,
                                           latent.kv_rank, Presence::kRequired));
  }
  VT_ASSIGN_OR_RETURN(layer.o, Linear(prefix + "attn_output", width, heads * layer.value_dim,
                                      Presence::kRequired, family_.linear_bias));
  IndexerSpec& indexer = latent.indexer;
  if (indexer.heads == 0 || indexer.source != static_cast<int>(index)) return {};
  VT_ASSIGN_OR_RETURN(indexer.q, Linear(prefix + "indexer.attn_q_b", indexer.heads * indexer.dim,
                                        latent.q_rank, Presence::kRequired, bias));
  VT_ASSIGN_OR_RETURN(
      indexer.k, Linear(prefix + "indexer.attn_k", indexer.dim, width, Presence::kRequired, bias));
  VT_ASSIGN_OR_RETURN(indexer.k_norm.weight, Tensor(prefix + "indexer.k_norm.weight", 1,
                                                    indexer.dim, Presence::kRequired));
  VT_ASSIGN_OR_RETURN(indexer.k_norm.bias,
                      Tensor(prefix + "indexer.k_norm.bias", 1, indexer.dim, Presence::kRequired));
  VT_ASSIGN_OR_RETURN(indexer.weights, Linear(prefix + "indexer.proj", indexer.heads, width,
                                              Presence::kRequired, bias));
  return {};
}

}  // namespace vt
