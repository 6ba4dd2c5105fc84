// Gemma-4: dense with per-layer embeddings and a tail that shares keys and values, and mixture of
// experts beside a dense branch.
#include <algorithm>

#include "formats/file_error.h"
#include "formats/hf_architectures.h"

namespace vt {
namespace {

using enum HfKeyRow::Type;
using enum HfForm;

constexpr std::string_view kModelTypes[] = {"gemma4", "gemma4_text"};
constexpr std::string_view kPrefixes[] = {"model.language_model.", "language_model.model.",
                                          "model."};
constexpr std::string_view kSkipped[] = {"model.vision_tower.",    "model.embed_vision.",
                                         "model.audio_tower.",     "model.embed_audio.",
                                         "vision_tower.",          "embed_vision.",
                                         "audio_tower.",           "embed_audio.",
                                         "model.vision_embedder.", "model.multi_modal_projector."};

constexpr HfKeyRow kKeys[] = {
    {"vocab_size", "vocab_size"},
    {"max_position_embeddings", "context_length", kU32, false},
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"num_attention_heads", "attention.head_count"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon", kF32},
    {"sliding_window", "attention.sliding_window"},
    {"final_logit_softcapping", "final_logit_softcapping", kF32, false},
};

constexpr HfTensorRow kTensors[] = {
    {"embed_tokens.weight", "token_embd.weight"},
    {"lm_head.weight", "output.weight"},
    {"norm.weight", "output_norm.weight"},
    {"embed_tokens_per_layer.weight", "per_layer_token_embd.weight"},
    {"per_layer_model_projection.weight", "per_layer_model_proj.weight"},
    {"per_layer_projection_norm.weight", "per_layer_proj_norm.weight"},
    {"layers.#.input_layernorm.weight", "blk.#.attn_norm.weight"},
    {"layers.#.self_attn.q_proj.weight", "blk.#.attn_q.weight"},
    {"layers.#.self_attn.k_proj.weight", "blk.#.attn_k.weight"},
    {"layers.#.self_attn.v_proj.weight", "blk.#.attn_v.weight"},
    {"layers.#.self_attn.o_proj.weight", "blk.#.attn_output.weight"},
    {"layers.#.self_attn.q_norm.weight", "blk.#.attn_q_norm.weight"},
    {"layers.#.self_attn.k_norm.weight", "blk.#.attn_k_norm.weight"},
    {"layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight"},
    {"layers.#.pre_feedforward_layernorm.weight", "blk.#.ffn_norm.weight"},
    {"layers.#.mlp.gate_proj.weight", "blk.#.ffn_gate.weight"},
    {"layers.#.mlp.up_proj.weight", "blk.#.ffn_up.weight"},
    {"layers.#.mlp.down_proj.weight", "blk.#.ffn_down.weight"},
    {"layers.#.post_feedforward_layernorm.weight", "blk.#.post_ffw_norm.weight"},
    {"layers.#.per_layer_input_gate.weight", "blk.#.inp_gate.weight"},
    {"layers.#.per_layer_projection.weight", "blk.#.proj.weight"},
    {"layers.#.post_per_layer_input_norm.weight", "blk.#.post_norm.weight"},
    {"layers.#.layer_scalar", "blk.#.layer_output_scale.weight"},
    {"layers.#.router.proj.weight", "blk.#.ffn_gate_inp.weight"},
    {"layers.#.router.scale", "blk.#.ffn_gate_inp.scale"},
    {"layers.#.router.per_expert_scale", "blk.#.ffn_down_exps.scale"},
    {"layers.#.pre_feedforward_layernorm_2.weight", "blk.#.pre_ffw_norm_2.weight"},
    {"layers.#.post_feedforward_layernorm_1.weight", "blk.#.post_ffw_norm_1.weight"},
    {"layers.#.post_feedforward_layernorm_2.weight", "blk.#.post_ffw_norm_2.weight"},
    {"layers.#.experts.gate_up_proj", "blk.#.ffn_gate_up_exps.weight"},
    {"layers.#.experts.down_proj", "blk.#.ffn_down_exps.weight"},
    {"layers.#.experts.gate_up_proj.weight", "blk.#.ffn_gate_up_exps.weight"},
    {"layers.#.experts.down_proj.weight", "blk.#.ffn_down_exps.weight"},
    {"layers.#.experts.#.gate_proj.weight", "blk.#.ffn_gate_up_exps.weight", kExpert, 0,
     "blk.#.ffn_gate_exps.weight"},
    {"layers.#.experts.#.up_proj.weight", "blk.#.ffn_gate_up_exps.weight", kExpert, 1,
     "blk.#.ffn_up_exps.weight"},
    {"layers.#.experts.#.down_proj.weight", "blk.#.ffn_down_exps.weight", kExpert},
};

struct Layers {
  std::vector<bool> sliding;
  std::uint64_t shared = 0;  // of the tail, without keys and values of their own
  std::size_t count() const { return sliding.size(); }
};

Result<Layers> ReadLayers(const HfConfig& config) {
  Layers layers;
  VT_ASSIGN_OR_RETURN(const std::uint64_t count, config.NeedU64("num_hidden_layers"));
  VT_ASSIGN_OR_RETURN(const auto types, config.Strings("layer_types"));
  if (types.size() != count) {
    return config.Bad("layer_types", std::to_string(types.size()) +
                                         " elements (want num_hidden_layers, " +
                                         std::to_string(count) + ")");
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] != "sliding_attention" && types[i] != "full_attention") {
      return config.Unsupported("layer_types." + std::to_string(i),
                                Quoted(types[i]) +
                                    " is not supported (allowed: full_attention, "
                                    "sliding_attention)");
    }
    layers.sliding.push_back(types[i] == "sliding_attention");
  }
  VT_ASSIGN_OR_RETURN(const auto shared, config.U64("num_kv_shared_layers"));
  layers.shared = shared.value_or(0);
  if (layers.shared > count) {
    return config.Bad("num_kv_shared_layers", std::to_string(layers.shared) +
                                                  " (want at most num_hidden_layers, " +
                                                  std::to_string(count) + ")");
  }
  return layers;
}

// A size of the full-attention layers: a key of its own, or the one of the first such layer.
Result<std::optional<std::uint64_t>> FullSize(const HfConfig& config, const Layers& layers,
                                              std::string_view key, std::string_view in_layer) {
  VT_ASSIGN_OR_RETURN(std::optional<std::uint64_t> size, config.U64(key));
  for (std::size_t i = 0; i < layers.count() && !size; ++i) {
    if (layers.sliding[i]) continue;
    const std::string place = "per_layer_config." + std::to_string(i) + "." + std::string(in_layer);
    VT_ASSIGN_OR_RETURN(size, config.U64(place));
  }
  return size;
}

Status AddHeadSizes(HfModel& model, const Layers& layers) {
  const HfConfig& config = model.config;
  HfMetadata& out = model.metadata;
  VT_ASSIGN_OR_RETURN(model.heads, config.NeedU64("num_attention_heads"));
  VT_ASSIGN_OR_RETURN(const std::uint64_t sliding_kv, config.NeedU64("num_key_value_heads"));
  VT_ASSIGN_OR_RETURN(const auto full_kv, FullSize(config, layers, "num_global_key_value_heads",
                                                   "num_key_value_heads"));
  if (full_kv) {
    std::vector<std::uint32_t> heads;
    for (const bool sliding : layers.sliding) {
      heads.push_back(static_cast<std::uint32_t>(sliding ? sliding_kv : *full_kv));
    }
    out.Array(out.Key("attention.head_count_kv"), heads);
  } else {
    out.U32(out.Key("attention.head_count_kv"), sliding_kv);
  }

  VT_ASSIGN_OR_RETURN(const std::uint64_t sliding_dim, config.NeedU64("head_dim"));
  VT_ASSIGN_OR_RETURN(const auto full, FullSize(config, layers, "global_head_dim", "head_dim"));
  const std::uint64_t full_dim = full.value_or(sliding_dim);
  constexpr std::uint64_t kMostDim = 65536;
  if (full_dim == 0 || full_dim % 2 != 0 || full_dim > kMostDim) {
    return config.Bad("global_head_dim", std::to_string(full_dim) +
                                             " (want an even number from 2 to " +
                                             std::to_string(kMostDim) + ")");
  }
  out.U32(out.Key("attention.key_length"), full_dim);
  out.U32(out.Key("attention.value_length"), full_dim);
  out.U32(out.Key("attention.key_length_swa"), sliding_dim);
  out.U32(out.Key("attention.value_length_swa"), sliding_dim);
  out.U32(out.Key("rope.dimension_count"), full_dim);
  out.U32(out.Key("rope.dimension_count_swa"), sliding_dim);

  // The first pairs of a full layer's head turn, with the frequencies of the whole head; a divisor
  // of 1e30 keeps the others as they are.
  VT_ASSIGN_OR_RETURN(const double factor,
                      config.NeedF64("rope_parameters.full_attention.partial_rotary_factor"));
  if (!(factor > 0 && factor <= 1)) {
    return config.Bad("rope_parameters.full_attention.partial_rotary_factor",
                      std::to_string(factor) + " (want more than 0, at most 1)");
  }
  HfComputed freqs{.name = "rope_freqs.weight", .values = {}};
  freqs.values.assign(static_cast<std::size_t>(full_dim / 2), 1e30f);
  const auto turning = static_cast<std::size_t>(static_cast<double>(full_dim) * factor / 2);
  std::fill_n(freqs.values.begin(), turning, 1.0f);
  model.computed.push_back(std::move(freqs));
  return {};
}

Status AddFeedForward(HfModel& model, const Layers& layers) {
  const HfConfig& config = model.config;
  HfMetadata& out = model.metadata;
  VT_ASSIGN_OR_RETURN(const std::uint64_t width, config.NeedU64("intermediate_size"));
  VT_ASSIGN_OR_RETURN(const auto wide, config.Bool("use_double_wide_mlp"));
  if (wide.value_or(false)) {
    std::vector<std::uint32_t> widths(layers.count(), static_cast<std::uint32_t>(width));
    for (std::size_t i = layers.count() - layers.shared; i < layers.count(); ++i) widths[i] *= 2;
    out.Array(out.Key("feed_forward_length"), widths);
  } else {
    out.U32(out.Key("feed_forward_length"), width);
  }
  VT_ASSIGN_OR_RETURN(const auto moe, config.Bool("enable_moe_block"));
  if (!moe.value_or(false)) return {};
  VT_ASSIGN_OR_RETURN(model.experts, config.NeedU64("num_experts"));
  VT_ASSIGN_OR_RETURN(const std::uint64_t used, config.NeedU64("top_k_experts"));
  const bool renamed = config.Has("expert_intermediate_size");
  VT_ASSIGN_OR_RETURN(
      const std::uint64_t expert_width,
      config.NeedU64(renamed ? "expert_intermediate_size" : "moe_intermediate_size"));
  out.U32(out.Key("expert_count"), model.experts);
  out.U32(out.Key("expert_used_count"), used);
  out.U32(out.Key("expert_feed_forward_length"), expert_width);
  return {};
}

Status Finish(HfModel& model) {
  const HfConfig& config = model.config;
  HfMetadata& out = model.metadata;
  VT_RETURN_IF_ERROR(config.CheckString("hidden_activation", {"gelu_pytorch_tanh"}));
  VT_RETURN_IF_ERROR(
      config.CheckString("rope_parameters.full_attention.rope_type", {"proportional"}));
  VT_RETURN_IF_ERROR(
      config.CheckString("rope_parameters.sliding_attention.rope_type", {"default"}));
  VT_RETURN_IF_ERROR(CheckFlag(config, "attention_bias", false));
  if (config.Has("attn_logit_softcapping")) {
    return config.Unsupported("attn_logit_softcapping", "is not supported (want null)");
  }
  VT_ASSIGN_OR_RETURN(const Layers layers, ReadLayers(config));
  out.Bools(out.Key("attention.sliding_window_pattern"), layers.sliding);
  out.U32(out.Key("attention.shared_kv_layers"), layers.shared);
  VT_ASSIGN_OR_RETURN(const auto per_layer, config.U64("hidden_size_per_layer_input"));
  out.U32(out.Key("embedding_length_per_layer_input"), per_layer.value_or(0));
  VT_ASSIGN_OR_RETURN(const double full,
                      config.NeedF64("rope_parameters.full_attention.rope_theta"));
  VT_ASSIGN_OR_RETURN(const double sliding,
                      config.NeedF64("rope_parameters.sliding_attention.rope_theta"));
  out.F32(out.Key("rope.freq_base"), full);
  out.F32(out.Key("rope.freq_base_swa"), sliding);
  VT_RETURN_IF_ERROR(AddHeadSizes(model, layers));
  return AddFeedForward(model, layers);
}

}  // namespace

const HfArchitecture kHfGemma4 = {.gguf = "gemma4",
                                  .model_types = kModelTypes,
                                  .prefixes = kPrefixes,
                                  .keys = kKeys,
                                  .tensors = kTensors,
                                  .skipped = kSkipped,
                                  .finish = Finish};

}  // namespace vt
