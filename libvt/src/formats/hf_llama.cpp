// The family of Llama: Llama and Mistral, Qwen-2, Qwen-3, Qwen-3 with experts.
#include "formats/hf_architectures.h"

namespace vt {
namespace {

using enum HfKeyRow::Type;
using enum HfForm;

constexpr std::string_view kLlamaTypes[] = {"llama", "mistral"};
constexpr std::string_view kQwen2Types[] = {"qwen2"};
constexpr std::string_view kQwen3Types[] = {"qwen3"};
constexpr std::string_view kQwen3MoeTypes[] = {"qwen3_moe"};
constexpr std::string_view kPrefixes[] = {"model."};

constexpr HfKeyRow kKeys[] = {
    {"vocab_size", "vocab_size"},
    {"max_position_embeddings", "context_length", kU32, false},
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"intermediate_size", "feed_forward_length"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon", kF32},
};

constexpr HfKeyRow kQwen3MoeKeys[] = {
    {"vocab_size", "vocab_size"},
    {"max_position_embeddings", "context_length", kU32, false},
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"intermediate_size", "feed_forward_length"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon", kF32},
    {"num_experts", "expert_count"},
    {"num_experts_per_tok", "expert_used_count"},
    {"moe_intermediate_size", "expert_feed_forward_length"},
};

// What is before and after the feed-forward part is the same but for the form of q and k.
#define VT_HF_TENSORS(Q, K)                                                          \
  {"embed_tokens.weight", "token_embd.weight"}, {"lm_head.weight", "output.weight"}, \
      {"lm_head.bias", "output.bias"}, {"norm.weight", "output_norm.weight"},        \
      {"layers.#.input_layernorm.weight", "blk.#.attn_norm.weight"},                 \
      {"layers.#.self_attn.q_proj.weight", "blk.#.attn_q.weight", Q},                \
      {"layers.#.self_attn.q_proj.bias", "blk.#.attn_q.bias", Q},                    \
      {"layers.#.self_attn.k_proj.weight", "blk.#.attn_k.weight", K},                \
      {"layers.#.self_attn.k_proj.bias", "blk.#.attn_k.bias", K},                    \
      {"layers.#.self_attn.v_proj.weight", "blk.#.attn_v.weight"},                   \
      {"layers.#.self_attn.v_proj.bias", "blk.#.attn_v.bias"},                       \
      {"layers.#.self_attn.o_proj.weight", "blk.#.attn_output.weight"},              \
      {"layers.#.self_attn.o_proj.bias", "blk.#.attn_output.bias"},                  \
      {"layers.#.self_attn.q_norm.weight", "blk.#.attn_q_norm.weight"},              \
      {"layers.#.self_attn.k_norm.weight", "blk.#.attn_k_norm.weight"},              \
      {"layers.#.post_attention_layernorm.weight", "blk.#.ffn_norm.weight"},         \
      {"layers.#.mlp.gate_proj.weight", "blk.#.ffn_gate.weight"},                    \
      {"layers.#.mlp.gate_proj.bias", "blk.#.ffn_gate.bias"},                        \
      {"layers.#.mlp.up_proj.weight", "blk.#.ffn_up.weight"},                        \
      {"layers.#.mlp.up_proj.bias", "blk.#.ffn_up.bias"},                            \
      {"layers.#.mlp.down_proj.weight", "blk.#.ffn_down.weight"}, {                  \
    "layers.#.mlp.down_proj.bias", "blk.#.ffn_down.bias"                             \
  }

constexpr HfTensorRow kLlamaTensors[] = {VT_HF_TENSORS(kHeadRows, kKvHeadRows)};
constexpr HfTensorRow kQwenTensors[] = {VT_HF_TENSORS(kWhole, kWhole)};
constexpr HfTensorRow kQwen3MoeTensors[] = {
    VT_HF_TENSORS(kWhole, kWhole),
    {"layers.#.mlp.gate.weight", "blk.#.ffn_gate_inp.weight"},
    {"layers.#.mlp.experts.#.gate_proj.weight", "blk.#.ffn_gate_exps.weight", kExpert},
    {"layers.#.mlp.experts.#.up_proj.weight", "blk.#.ffn_up_exps.weight", kExpert},
    {"layers.#.mlp.experts.#.down_proj.weight", "blk.#.ffn_down_exps.weight", kExpert},
};
#undef VT_HF_TENSORS

// A window that no context reaches changes nothing.
Status CheckWindow(const HfConfig& config) {
  VT_ASSIGN_OR_RETURN(const auto window, config.U64("sliding_window"));
  VT_ASSIGN_OR_RETURN(const auto use, config.Bool("use_sliding_window"));
  VT_ASSIGN_OR_RETURN(const auto context, config.U64("max_position_embeddings"));
  if (!window || !use.value_or(true) || (context && *window >= *context)) return {};
  return config.Unsupported("sliding_window", std::to_string(*window) +
                                                  " is not supported here (want null, or at least "
                                                  "max_position_embeddings)");
}

Status FinishAny(HfModel& model) {
  VT_RETURN_IF_ERROR(model.config.CheckString("hidden_act", {"silu"}));
  VT_RETURN_IF_ERROR(CheckWindow(model.config));
  VT_RETURN_IF_ERROR(AddHeads(model));
  return AddRope(model);
}

// These leave the window off unless they are told to use it.
Status FinishQwen(HfModel& model) {
  VT_RETURN_IF_ERROR(CheckFlag(model.config, "use_sliding_window", false));
  VT_RETURN_IF_ERROR(model.config.CheckString("hidden_act", {"silu"}));
  VT_RETURN_IF_ERROR(AddHeads(model));
  return AddRope(model);
}

Status FinishQwen3Moe(HfModel& model) {
  const HfConfig& config = model.config;
  VT_ASSIGN_OR_RETURN(model.experts, config.NeedU64("num_experts"));
  VT_RETURN_IF_ERROR(CheckFlag(config, "norm_topk_prob", true));
  VT_ASSIGN_OR_RETURN(const auto step, config.U64("decoder_sparse_step"));
  if (step.value_or(1) != 1) {
    return config.Unsupported("decoder_sparse_step",
                              std::to_string(*step) + " is not supported (want 1)");
  }
  if (config.Size("mlp_only_layers") != 0) {
    return config.Unsupported("mlp_only_layers", "is not supported (want an empty array)");
  }
  return FinishQwen(model);
}

}  // namespace

const HfArchitecture kHfLlama = {.gguf = "llama",
                                 .model_types = kLlamaTypes,
                                 .prefixes = kPrefixes,
                                 .keys = kKeys,
                                 .tensors = kLlamaTensors,
                                 .skipped = {},
                                 .finish = FinishAny};

const HfArchitecture kHfQwen2 = {.gguf = "qwen2",
                                 .model_types = kQwen2Types,
                                 .prefixes = kPrefixes,
                                 .keys = kKeys,
                                 .tensors = kQwenTensors,
                                 .skipped = {},
                                 .finish = FinishQwen};

const HfArchitecture kHfQwen3 = {.gguf = "qwen3",
                                 .model_types = kQwen3Types,
                                 .prefixes = kPrefixes,
                                 .keys = kKeys,
                                 .tensors = kQwenTensors,
                                 .skipped = {},
                                 .finish = FinishQwen};

const HfArchitecture kHfQwen3Moe = {.gguf = "qwen3moe",
                                    .model_types = kQwen3MoeTypes,
                                    .prefixes = kPrefixes,
                                    .keys = kQwen3MoeKeys,
                                    .tensors = kQwen3MoeTensors,
                                    .skipped = {},
                                    .finish = FinishQwen3Moe};

}  // namespace vt
