// DeepSeek V3 and V3.2, GLM-5: multi-head latent attention, routed and shared experts after leading
// dense layers, in the newer ones an indexer, and layers that predict tokens ahead.
#include <algorithm>

#include "formats/file_error.h"
#include "formats/hf_architectures.h"

namespace vt {
namespace {

using enum HfKeyRow::Type;
using enum HfForm;

constexpr std::string_view kV3Types[] = {"deepseek_v3"};
constexpr std::string_view kV32Types[] = {"deepseek_v32"};
constexpr std::string_view kGlmTypes[] = {"glm_moe_dsa"};
constexpr std::string_view kPrefixes[] = {"model."};

// The keys of an indexer are the last three.
constexpr HfKeyRow kKeys[] = {
    {"vocab_size", "vocab_size"},
    {"max_position_embeddings", "context_length", kU32, false},
    {"hidden_size", "embedding_length"},
    {"intermediate_size", "feed_forward_length"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon", kF32},
    {"q_lora_rank", "attention.q_lora_rank", kU32, false},
    {"n_routed_experts", "expert_count"},
    {"num_experts_per_tok", "expert_used_count"},
    {"n_shared_experts", "expert_shared_count"},
    {"moe_intermediate_size", "expert_feed_forward_length"},
    {"n_group", "expert_group_count", kU32, false},
    {"topk_group", "expert_group_used_count", kU32, false},
    {"routed_scaling_factor", "expert_weights_scale", kF32, false},
    {"index_n_heads", "attention.indexer.head_count"},
    {"index_head_dim", "attention.indexer.key_length"},
    {"index_topk", "attention.indexer.top_k"},
};
constexpr std::span<const HfKeyRow> kKeysWithIndexer = kKeys;
constexpr std::span<const HfKeyRow> kKeysWithout =
    kKeysWithIndexer.first(kKeysWithIndexer.size() - 3);

constexpr HfTensorRow kTensors[] = {
    {"embed_tokens.weight", "token_embd.weight"},
    {"lm_head.weight", "output.weight"},
    {"norm.weight", "output_norm.weight"},
    {"layers.#.input_layernorm.weight", "blk.#.attn_norm.weight"},
    {"layers.#.self_attn.q_proj.weight", "blk.#.attn_q.weight"},
    {"layers.#.self_attn.q_a_proj.weight", "blk.#.attn_q_a.weight"},
    {"layers.#.self_attn.q_a_layernorm.weight", "blk.#.attn_q_a_norm.weight"},
    {"layers.#.self_attn.q_b_proj.weight", "blk.#.attn_q_b.weight"},
    {"layers.#.self_attn.kv_a_proj_with_mqa.weight", "blk.#.attn_kv_a_mqa.weight"},
    {"layers.#.self_attn.kv_a_layernorm.weight", "blk.#.attn_kv_a_norm.weight"},
    {"layers.#.self_attn.kv_b_proj.weight", "blk.#.attn_k_b.weight", kKeysValues, 0,
     "blk.#.attn_v_b.weight"},
    {"layers.#.self_attn.o_proj.weight", "blk.#.attn_output.weight"},
    {"layers.#.self_attn.indexer.wq_b.weight", "blk.#.indexer.attn_q_b.weight"},
    {"layers.#.self_attn.indexer.wk.weight", "blk.#.indexer.attn_k.weight"},
    {"layers.#.self_attn.indexer.k_norm.weight", "blk.#.indexer.k_norm.weight"},
    {"layers.#.self_attn.indexer.k_norm.bias", "blk.#.indexer.k_norm.bias"},
    {"layers.#.self_attn.indexer.weights_proj.weight", "blk.#.indexer.proj.weight"},
    {"layers.#.post_attention_layernorm.weight", "blk.#.ffn_norm.weight"},
    {"layers.#.mlp.gate_proj.weight", "blk.#.ffn_gate.weight"},
    {"layers.#.mlp.up_proj.weight", "blk.#.ffn_up.weight"},
    {"layers.#.mlp.down_proj.weight", "blk.#.ffn_down.weight"},
    {"layers.#.mlp.gate.weight", "blk.#.ffn_gate_inp.weight"},
    {"layers.#.mlp.gate.e_score_correction_bias", "blk.#.exp_probs_b.bias"},
    {"layers.#.mlp.experts.#.gate_proj.weight", "blk.#.ffn_gate_exps.weight", kExpert},
    {"layers.#.mlp.experts.#.up_proj.weight", "blk.#.ffn_up_exps.weight", kExpert},
    {"layers.#.mlp.experts.#.down_proj.weight", "blk.#.ffn_down_exps.weight", kExpert},
    {"layers.#.mlp.shared_experts.gate_proj.weight", "blk.#.ffn_gate_shexp.weight"},
    {"layers.#.mlp.shared_experts.up_proj.weight", "blk.#.ffn_up_shexp.weight"},
    {"layers.#.mlp.shared_experts.down_proj.weight", "blk.#.ffn_down_shexp.weight"},
    {"layers.#.eh_proj.weight", "blk.#.nextn.eh_proj.weight"},
    {"layers.#.enorm.weight", "blk.#.nextn.enorm.weight"},
    {"layers.#.hnorm.weight", "blk.#.nextn.hnorm.weight"},
    {"layers.#.embed_tokens.weight", "blk.#.nextn.embed_tokens.weight"},
    {"layers.#.shared_head.norm.weight", "blk.#.nextn.shared_head_norm.weight"},
    {"layers.#.shared_head.head.weight", "blk.#.nextn.shared_head_head.weight"},
};

Result<std::uint64_t> NeedSize(const HfConfig& config, std::string_view key) {
  constexpr std::uint64_t kMost = 65536;
  VT_ASSIGN_OR_RETURN(const std::uint64_t size, config.NeedU64(key));
  if (size >= 1 && size <= kMost) return size;
  return config.Bad(key, std::to_string(size) + " (want 1 to " + std::to_string(kMost) + ")");
}

// One latent row stands for the keys and values of all heads.
Status AddLatent(HfModel& model) {
  const HfConfig& config = model.config;
  HfMetadata& out = model.metadata;
  VT_ASSIGN_OR_RETURN(model.heads, NeedSize(config, "num_attention_heads"));
  VT_ASSIGN_OR_RETURN(const std::uint64_t rank, NeedSize(config, "kv_lora_rank"));
  VT_ASSIGN_OR_RETURN(model.key_rows, NeedSize(config, "qk_nope_head_dim"));
  VT_ASSIGN_OR_RETURN(const std::uint64_t rope, NeedSize(config, "qk_rope_head_dim"));
  VT_ASSIGN_OR_RETURN(model.value_rows, NeedSize(config, "v_head_dim"));
  out.U32(out.Key("attention.head_count"), model.heads);
  out.U32(out.Key("attention.head_count_kv"), 1);
  out.U32(out.Key("attention.kv_lora_rank"), rank);
  out.U32(out.Key("attention.key_length"), rank + rope);
  out.U32(out.Key("attention.value_length"), rank);
  out.U32(out.Key("attention.key_length_mla"), model.key_rows + rope);
  out.U32(out.Key("attention.value_length_mla"), model.value_rows);
  out.U32(out.Key("rope.dimension_count"), rope);
  return {};
}

// Rotations turn neighbours; YaRN's two scales must cancel in cos and sin.
Status AddRotation(HfModel& model, bool any_scale) {
  const HfConfig& config = model.config;
  HfMetadata& out = model.metadata;
  VT_RETURN_IF_ERROR(CheckFlag(config, "rope_interleave", true));
  const std::string at = config.Has("rope_parameters") ? "rope_parameters." : "rope_scaling.";
  for (const char* const key : {"rope_type", "type"}) {
    VT_RETURN_IF_ERROR(config.CheckString(at + key, {"default", "yarn"}));
  }
  for (const std::string& key :
       {at + "partial_rotary_factor", std::string("partial_rotary_factor")}) {
    VT_ASSIGN_OR_RETURN(const auto part, config.F64(key));
    if (part.value_or(1) != 1) {
      return config.Unsupported(key, std::to_string(*part) + " is not supported (want 1)");
    }
  }
  VT_RETURN_IF_ERROR(AddRope(model));
  VT_ASSIGN_OR_RETURN(const auto scale, config.F64(at + "mscale"));
  VT_ASSIGN_OR_RETURN(const auto all, config.F64(at + "mscale_all_dim"));
  if (!all || *all == 0) return {};
  const double wanted = any_scale ? *all : 1;
  if (*all != wanted || scale.value_or(1) != wanted) {
    return config.Unsupported(at + "mscale_all_dim",
                              std::to_string(*all) + " with mscale " +
                                  std::to_string(scale.value_or(1)) + " is not supported (want " +
                                  (any_scale ? "them equal" : "1 and 1") + ")");
  }
  out.F32(out.Key("rope.scaling.yarn_log_multiplier"), 0.1 * *all);
  return {};
}

// How many of the first layers are dense: a key of its own, or a list of all layers.
Result<std::uint64_t> LeadingDense(const HfConfig& config) {
  if (config.Has("first_k_dense_replace") || config.Size("mlp_layer_types") == 0) {
    return config.NeedU64("first_k_dense_replace");
  }
  VT_ASSIGN_OR_RETURN(const auto types, config.Strings("mlp_layer_types"));
  const auto sparse = std::find(types.begin(), types.end(), "sparse");
  for (auto at = types.begin(); at != types.end(); ++at) {
    if (*at == (at < sparse ? "dense" : "sparse")) continue;
    return config.Unsupported("mlp_layer_types." + std::to_string(at - types.begin()),
                              Quoted(*at) + " (want \"dense\" layers, then \"sparse\" ones)");
  }
  return static_cast<std::uint64_t>(sparse - types.begin());
}

Status AddExperts(HfModel& model) {
  const HfConfig& config = model.config;
  HfMetadata& out = model.metadata;
  VT_RETURN_IF_ERROR(config.CheckString("hidden_act", {"silu"}));
  VT_RETURN_IF_ERROR(config.CheckString("scoring_func", {"sigmoid"}));
  VT_RETURN_IF_ERROR(config.CheckString("topk_method", {"noaux_tc"}));
  VT_ASSIGN_OR_RETURN(const auto every, config.U64("moe_layer_freq"));
  if (every.value_or(1) != 1) {
    return config.Unsupported("moe_layer_freq",
                              std::to_string(*every) + " is not supported (want 1)");
  }
  VT_ASSIGN_OR_RETURN(model.experts, config.NeedU64("n_routed_experts"));
  VT_ASSIGN_OR_RETURN(const std::uint64_t dense, LeadingDense(config));
  VT_ASSIGN_OR_RETURN(const auto normalize, config.Bool("norm_topk_prob"));
  out.U32(out.Key("leading_dense_block_count"), dense);
  out.U32(out.Key("expert_gating_func"), 2);
  out.Bool(out.Key("expert_weights_norm"), normalize.value_or(true));
  return {};
}

// The blocks are the layers and those that predict tokens ahead, which lie after them.
Result<std::uint64_t> AddBlocks(HfModel& model) {
  const HfConfig& config = model.config;
  HfMetadata& out = model.metadata;
  VT_ASSIGN_OR_RETURN(const std::uint64_t layers, NeedSize(config, "num_hidden_layers"));
  VT_ASSIGN_OR_RETURN(const auto ahead, config.U64("num_nextn_predict_layers"));
  constexpr std::uint64_t kMostAhead = 64;
  if (ahead.value_or(0) > kMostAhead) {
    return config.Bad("num_nextn_predict_layers", std::to_string(*ahead) + " (want at most " +
                                                      std::to_string(kMostAhead) + ")");
  }
  model.more_layers = ahead.value_or(0);
  out.U32(out.Key("block_count"), layers + model.more_layers);
  if (model.more_layers > 0) out.U32(out.Key("nextn_predict_layers"), model.more_layers);
  return layers;
}

Result<std::uint64_t> FinishAny(HfModel& model, bool any_scale) {
  VT_RETURN_IF_ERROR(CheckFlag(model.config, "attention_bias", false));
  VT_ASSIGN_OR_RETURN(const std::uint64_t layers, AddBlocks(model));
  VT_RETURN_IF_ERROR(AddLatent(model));
  VT_RETURN_IF_ERROR(AddRotation(model, any_scale));
  VT_RETURN_IF_ERROR(AddExperts(model));
  return layers;
}

Status FinishV3(HfModel& model) { return FinishAny(model, true).status(); }

Status FinishV32(HfModel& model) {
  VT_RETURN_IF_ERROR(CheckFlag(model.config, "indexer_rope_interleave", false));
  return FinishAny(model, false).status();
}

// Which layers have an indexer of their own: a list, or every so many from an offset on.
Status FinishGlm(HfModel& model) {
  const HfConfig& config = model.config;
  HfMetadata& out = model.metadata;
  VT_RETURN_IF_ERROR(CheckFlag(config, "indexer_rope_interleave", true));
  VT_ASSIGN_OR_RETURN(const std::uint64_t layers, FinishAny(model, false));
  std::vector<std::uint32_t> own;
  if (config.Size("indexer_types") > 0) {
    VT_ASSIGN_OR_RETURN(const auto types, config.Strings("indexer_types"));
    if (types.size() < layers) {
      return config.Bad("indexer_types", std::to_string(types.size()) +
                                             " elements (want num_hidden_layers, " +
                                             std::to_string(layers) + ")");
    }
    for (std::size_t i = 0; i < layers; ++i) {
      if (types[i] != "full" && types[i] != "shared") {
        return config.Unsupported("indexer_types." + std::to_string(i),
                                  Quoted(types[i]) + " is not supported (allowed: full, shared)");
      }
      own.push_back(types[i] == "full" ? 1 : 0);
    }
  } else if (config.Has("index_topk_freq")) {
    VT_ASSIGN_OR_RETURN(const std::uint64_t every, NeedSize(config, "index_topk_freq"));
    VT_ASSIGN_OR_RETURN(const auto offset, config.U64("index_skip_topk_offset"));
    const std::uint64_t first = offset.value_or(0);
    for (std::uint64_t i = 0; i < layers; ++i) {
      own.push_back(i + 1 < first || (i + 1 - first) % every == 0 ? 1 : 0);
    }
  }
  if (!own.empty()) out.Array(out.Key("attention.indexer.types"), own);
  return {};
}

}  // namespace

const HfArchitecture kHfDeepSeek2 = {.gguf = "deepseek2",
                                     .model_types = kV3Types,
                                     .prefixes = kPrefixes,
                                     .keys = kKeysWithout,
                                     .tensors = kTensors,
                                     .skipped = {},
                                     .finish = FinishV3};

const HfArchitecture kHfDeepSeek32 = {.gguf = "deepseek32",
                                      .model_types = kV32Types,
                                      .prefixes = kPrefixes,
                                      .keys = kKeysWithIndexer,
                                      .tensors = kTensors,
                                      .skipped = {},
                                      .finish = FinishV32};

const HfArchitecture kHfGlmDsa = {.gguf = "glm-dsa",
                                  .model_types = kGlmTypes,
                                  .prefixes = kPrefixes,
                                  .keys = kKeysWithIndexer,
                                  .tensors = kTensors,
                                  .skipped = {},
                                  .finish = FinishGlm};

}  // namespace vt
