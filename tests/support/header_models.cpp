// Geometry from the models' config.json and from what llama.cpp's loader prints of their GGUF
// files, by the names and keys of its converters. Numbers of tensors and sizes that were published
// are checked in tests/models/header_models_test.cpp.
#include "support/header_models.h"

#include <cmath>
#include <stdexcept>
#include <string>

namespace vt::test {
namespace {

using Dims = std::vector<std::uint64_t>;

std::string Layer(std::uint32_t index) { return "blk." + std::to_string(index) + "."; }

// "q4_k_m": q4_k, and q6_k for attn_v and ffn_down in the first and last eighth of the layers and
// every third between, and for the output.
DType MoreBits(std::uint32_t layer, std::uint32_t layers) {
  const std::uint32_t eighth = layers / 8;
  const bool more = layer < eighth || layer >= layers - eighth || (layer - eighth) % 3 == 2;
  return more ? DType::kQ6_K : DType::kQ4_K;
}

void AddEnds(ModelHeader& header, std::uint32_t width, std::uint32_t vocab, DType embedding,
             DType output) {
  header.Add("token_embd.weight", embedding, {width, vocab});
  header.AddFloats("output_norm.weight", {width});
  header.Add("output.weight", output, {width, vocab});
}

struct Decoder {
  std::uint32_t layers, width, heads, kv_heads, head_dim, ffn, vocab, context;
  float rope_base, eps = 1e-5f;
};

void SetDecoder(ModelHeader& header, const Decoder& d) {
  header.Count("block_count", d.layers).Count("context_length", d.context);
  header.Count("embedding_length", d.width).Count("vocab_size", d.vocab);
  if (d.ffn > 0) header.Count("feed_forward_length", d.ffn);
  header.Count("attention.head_count", d.heads).Count("attention.head_count_kv", d.kv_heads);
  header.Count("attention.key_length", d.head_dim).Count("attention.value_length", d.head_dim);
  header.Count("rope.dimension_count", d.head_dim);
  header.Number("rope.freq_base", d.rope_base);
  header.Number("attention.layer_norm_rms_epsilon", d.eps);
}

void AddAttention(ModelHeader& header, const Decoder& d, const std::string& at, DType matrices,
                  DType values) {
  const std::uint64_t q = std::uint64_t{d.heads} * d.head_dim;
  const std::uint64_t kv = std::uint64_t{d.kv_heads} * d.head_dim;
  header.Add(at + "attn_q.weight", matrices, {d.width, q});
  header.Add(at + "attn_k.weight", matrices, {d.width, kv});
  header.Add(at + "attn_v.weight", values, {d.width, kv});
  header.Add(at + "attn_output.weight", matrices, {q, d.width});
}

void AddHeadNorms(ModelHeader& header, const std::string& at, std::uint32_t head_dim) {
  header.AddFloats(at + "attn_q_norm.weight", {head_dim});
  header.AddFloats(at + "attn_k_norm.weight", {head_dim});
}

void AddFfn(ModelHeader& header, const std::string& at, std::uint32_t width, std::uint32_t ffn,
            DType matrices, DType down) {
  header.Add(at + "ffn_gate.weight", matrices, {width, ffn});
  header.Add(at + "ffn_up.weight", matrices, {width, ffn});
  header.Add(at + "ffn_down.weight", down, {ffn, width});
}

struct Towers {
  DType gate, up, down;
};

void AddTowers(ModelHeader& header, const std::string& at, std::uint32_t width, std::uint32_t inner,
               std::uint32_t experts, const Towers& types) {
  header.Add(at + "ffn_gate_exps.weight", types.gate, {width, inner, experts});
  header.Add(at + "ffn_up_exps.weight", types.up, {width, inner, experts});
  header.Add(at + "ffn_down_exps.weight", types.down, {inner, width, experts});
}

// Llama 3.1 8B and 70B, SmolLM2 135M.
ModelHeader Llama(std::string_view name, const Decoder& d, bool tied, bool rope_factors) {
  ModelHeader header("llama", name);
  SetDecoder(header, d);
  if (rope_factors) header.AddFloats("rope_freqs.weight", {d.head_dim / 2});
  if (tied) {
    header.Add("token_embd.weight", DType::kQ6_K, {d.width, d.vocab});
    header.AddFloats("output_norm.weight", {d.width});
  } else {
    AddEnds(header, d.width, d.vocab, DType::kQ4_K, DType::kQ6_K);
  }
  for (std::uint32_t i = 0; i < d.layers; ++i) {
    const std::string at = Layer(i);
    const DType more = MoreBits(i, d.layers);
    // Where eight heads share a key, attn_v is small, and has at least five bits.
    const bool shared = d.layers == 80 && more == DType::kQ4_K;
    header.AddFloats(at + "attn_norm.weight", {d.width});
    AddAttention(header, d, at, DType::kQ4_K, shared ? DType::kQ5_K : more);
    header.AddFloats(at + "ffn_norm.weight", {d.width});
    AddFfn(header, at, d.width, d.ffn, DType::kQ4_K, more);
  }
  return header;
}

ModelHeader GptOss(std::string_view name, std::uint32_t layers, std::uint32_t experts) {
  constexpr std::uint32_t kWidth = 2880;
  const Decoder d{layers, kWidth, 64, 8, 64, kWidth, 201088, 131072, 150000};
  ModelHeader header("gpt-oss", name);
  SetDecoder(header, d);
  header.Count("expert_count", experts).Count("expert_used_count", 4);
  header.Count("expert_feed_forward_length", kWidth).Count("attention.sliding_window", 128);
  header.Text("rope.scaling.type", "yarn").Number("rope.scaling.factor", 32);
  header.Count("rope.scaling.original_context_length", 4096);
  AddEnds(header, kWidth, d.vocab, DType::kQ8_0, DType::kQ8_0);
  for (std::uint32_t i = 0; i < layers; ++i) {
    const std::string at = Layer(i);
    header.AddFloats(at + "attn_norm.weight", {kWidth});
    AddAttention(header, d, at, DType::kQ8_0, DType::kQ8_0);
    header.AddFloats(at + "attn_q.bias", {4096}).AddFloats(at + "attn_k.bias", {512});
    header.AddFloats(at + "attn_v.bias", {512}).AddFloats(at + "attn_output.bias", {kWidth});
    header.AddFloats(at + "attn_sinks.weight", {d.heads});
    header.AddFloats(at + "post_attention_norm.weight", {kWidth});
    header.AddFloats(at + "ffn_gate_inp.weight", {kWidth, experts});
    header.AddFloats(at + "ffn_gate_inp.bias", {experts});
    AddTowers(header, at, kWidth, kWidth, experts, {DType::kMXFP4, DType::kMXFP4, DType::kMXFP4});
    for (const char* tower : {"gate", "up", "down"}) {
      header.AddFloats(at + "ffn_" + tower + "_exps.bias", {kWidth, experts});
    }
  }
  return header;
}

ModelHeader Gemma4(std::string_view name) {
  constexpr std::uint32_t kLayers = 30, kWidth = 2816, kHeads = 16, kFfn = 2112, kVocab = 262144;
  constexpr std::uint32_t kExperts = 128, kInner = 704;
  const auto full = [](std::uint32_t layer) { return layer % 6 == 5; };
  ModelHeader header("gemma4", name);
  SetDecoder(header, {kLayers, kWidth, kHeads, 8, 512, kFfn, kVocab, 262144, 1e6f, 1e-6f});
  std::vector<std::int32_t> kv_heads;
  std::vector<bool> windowed;
  for (std::uint32_t i = 0; i < kLayers; ++i) {
    kv_heads.push_back(full(i) ? 2 : 8);
    windowed.push_back(!full(i));
  }
  header.Counts("attention.head_count_kv", kv_heads);
  header.Flags("attention.sliding_window_pattern", windowed);
  header.Count("attention.sliding_window", 1024).Count("attention.shared_kv_layers", 0);
  header.Count("attention.key_length_swa", 256).Count("attention.value_length_swa", 256);
  header.Count("rope.dimension_count_swa", 256).Number("rope.freq_base_swa", 10000);
  header.Number("final_logit_softcapping", 30).Count("embedding_length_per_layer_input", 0);
  header.Count("expert_count", kExperts).Count("expert_used_count", 8);
  header.Count("expert_feed_forward_length", kInner);
  header.AddFloats("rope_freqs.weight", {256});
  header.Add("token_embd.weight", DType::kQ6_K, {kWidth, kVocab});
  header.AddFloats("output_norm.weight", {kWidth});
  for (std::uint32_t i = 0; i < kLayers; ++i) {
    const std::string at = Layer(i);
    const std::uint32_t dim = full(i) ? 512 : 256, kv = full(i) ? 2 * 512 : 8 * 256;
    const DType more = MoreBits(i, kLayers);
    for (const char* norm : {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm",
                             "pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2"}) {
      header.AddFloats(at + norm + ".weight", {kWidth});
    }
    header.Add(at + "attn_q.weight", DType::kQ4_K, {kWidth, kHeads * dim});
    header.Add(at + "attn_k.weight", DType::kQ4_K, {kWidth, kv});
    // Full layers have no attn_v: values are the keys before their norm.
    if (!full(i)) header.Add(at + "attn_v.weight", more, {kWidth, kv});
    header.Add(at + "attn_output.weight", DType::kQ4_K, {kHeads * dim, kWidth});
    AddHeadNorms(header, at, dim);
    AddFfn(header, at, kWidth, kFfn, DType::kQ4_K, more);
    header.AddFloats(at + "ffn_gate_inp.weight", {kWidth, kExperts});
    header.AddFloats(at + "ffn_gate_inp.scale", {kWidth});
    header.AddFloats(at + "ffn_down_exps.scale", {kExperts});
    header.Add(at + "ffn_gate_up_exps.weight", DType::kQ4_K, {kWidth, 2 * kInner, kExperts});
    header.Add(at + "ffn_down_exps.weight", more, {kInner, kWidth, kExperts});
    header.AddFloats(at + "layer_output_scale.weight", {1});
  }
  return header;
}

// Models with latent attention; sizes as model configurations name them.
struct Latent {
  std::uint32_t layers, ahead, width, heads, nope, rope, value, q_rank, kv_rank, dense, ffn, inner;
  std::uint32_t vocab, context;
  bool expanded = false;  // attn_kv_b, and keys that say so
};

void SetLatent(ModelHeader& header, const Latent& m) {
  const std::uint32_t cell = m.kv_rank + m.rope;
  SetDecoder(header, {m.layers + m.ahead, m.width, m.heads, m.expanded ? m.heads : 1, cell, m.ffn,
                      m.vocab, m.context, 10000});
  header.Count("rope.dimension_count", m.rope);
  header.Count("attention.q_lora_rank", m.q_rank).Count("attention.kv_lora_rank", m.kv_rank);
  header.Count("attention.key_length", m.expanded ? m.nope + m.rope : cell);
  header.Count("attention.value_length", m.expanded ? m.value : m.kv_rank);
  if (!m.expanded) {
    header.Count("attention.key_length_mla", m.nope + m.rope);
    header.Count("attention.value_length_mla", m.value);
  }
  header.Count("leading_dense_block_count", m.dense).Count("expert_count", 256);
  header.Count("expert_used_count", 8).Count("expert_shared_count", 1);
  header.Count("expert_feed_forward_length", m.inner).Count("expert_gating_func", 2);
  header.Number("expert_weights_scale", 2.5f).Flag("expert_weights_norm", true);
}

void AddLatentLayer(ModelHeader& header, const Latent& m, std::uint32_t layer, DType matrices,
                    const Towers& towers) {
  const std::string at = Layer(layer);
  header.AddFloats(at + "attn_norm.weight", {m.width});
  header.Add(at + "attn_q_a.weight", matrices, {m.width, m.q_rank});
  header.AddFloats(at + "attn_q_a_norm.weight", {m.q_rank});
  header.Add(at + "attn_q_b.weight", matrices, {m.q_rank, m.heads * (m.nope + m.rope)});
  header.Add(at + "attn_kv_a_mqa.weight", DType::kQ8_0, {m.width, m.kv_rank + m.rope});
  header.AddFloats(at + "attn_kv_a_norm.weight", {m.kv_rank});
  if (m.expanded) {
    header.Add(at + "attn_kv_b.weight", matrices, {m.kv_rank, m.heads * (m.nope + m.value)});
  } else {
    header.Add(at + "attn_k_b.weight", DType::kQ8_0, {m.nope, m.kv_rank, m.heads});
    header.Add(at + "attn_v_b.weight", DType::kQ8_0, {m.kv_rank, m.value, m.heads});
  }
  header.Add(at + "attn_output.weight", matrices, {m.heads * m.value, m.width});
  header.AddFloats(at + "ffn_norm.weight", {m.width});
  if (layer < m.dense) {
    AddFfn(header, at, m.width, m.ffn, matrices, DType::kQ6_K);
    return;
  }
  header.AddFloats(at + "ffn_gate_inp.weight", {m.width, 256});
  header.AddFloats(at + "exp_probs_b.bias", {256});
  AddTowers(header, at, m.width, m.inner, 256, towers);
  header.Add(at + "ffn_gate_shexp.weight", matrices, {m.width, m.inner});
  header.Add(at + "ffn_up_shexp.weight", matrices, {m.width, m.inner});
  header.Add(at + "ffn_down_shexp.weight", DType::kQ6_K, {m.inner, m.width});
}

ModelHeader DeepSeekV3(std::string_view name, bool expanded) {
  const Latent m{61,  0, 7168,  128,  128,    64,     128,     1536,
                 512, 3, 18432, 2048, 129280, 163840, expanded};
  ModelHeader header("deepseek2", name);
  SetLatent(header, m);
  header.Count("expert_group_count", 8).Count("expert_group_used_count", 4);
  header.Text("rope.scaling.type", "yarn").Number("rope.scaling.factor", 40);
  header.Count("rope.scaling.original_context_length", 4096);
  header.Number("rope.scaling.yarn_log_multiplier", 0.1f);
  AddEnds(header, m.width, m.vocab, DType::kQ4_K, DType::kQ6_K);
  for (std::uint32_t i = 0; i < m.layers; ++i) {
    AddLatentLayer(header, m, i, DType::kQ4_K, {DType::kQ4_K, DType::kQ4_K, MoreBits(i, m.layers)});
  }
  return header;
}

// GLM-5: the blocks of the decoder and one that predicts ahead, an indexer's tensors in all.
constexpr Latent kGlm = {78, 1, 6144, 64, 192, 64, 256, 2048, 512, 3, 12288, 2048, 154880, 202752};

// Which of the 78 layers own an indexer since 5.2: 0, 1, 2 and every fourth from 6 on.
bool OwnsIndexer(std::uint32_t layer) { return layer < 3 || layer % 4 == 2; }

// What was published is that there are 228 towers of six types, IQ1_S among them. Which tower has
// which is made up: most IQ1_S, and of each of the layers 56 to 77 one.
Towers Iq1Towers(std::uint32_t layer) {
  if (layer >= 56) return {DType::kIQ1_S, DType::kIQ1_M, DType::kIQ2_XXS};
  if (layer == 3) return {DType::kIQ1_S, DType::kIQ1_S, DType::kQ4_K};
  if (layer < 9) return {DType::kIQ1_S, DType::kIQ1_S, DType::kIQ4_XS};
  if (layer < 15) return {DType::kIQ1_S, DType::kIQ1_S, DType::kIQ3_XXS};
  return {DType::kIQ1_S, DType::kIQ1_S, DType::kIQ2_XXS};
}

enum class Owners { kAll, kByRule, kListed };

ModelHeader Glm5(std::string_view name, Owners owners, bool iq1) {
  Latent m = kGlm;
  if (owners != Owners::kAll) m.context = 1048576;
  ModelHeader header("glm-dsa", name);
  SetLatent(header, m);
  header.Number("rope.freq_base", 1e6f).Count("nextn_predict_layers", m.ahead);
  header.Count("attention.indexer.head_count", 32).Count("attention.indexer.key_length", 128);
  header.Count("attention.indexer.top_k", 2048);
  if (owners == Owners::kListed) {
    std::vector<bool> own;
    for (std::uint32_t i = 0; i < m.layers; ++i) own.push_back(OwnsIndexer(i));
    header.Flags("attention.indexer.types", own);
  }
  const DType matrices = iq1 ? DType::kQ5_K : DType::kQ4_K;
  AddEnds(header, m.width, m.vocab, DType::kQ4_K, DType::kQ6_K);
  for (std::uint32_t i = 0; i < m.layers + m.ahead; ++i) {
    const Towers plain{DType::kQ4_K, DType::kQ4_K, MoreBits(i, m.layers + m.ahead)};
    AddLatentLayer(header, m, i, matrices, iq1 ? Iq1Towers(i) : plain);
    const std::string at = Layer(i);
    header.Add(at + "indexer.attn_q_b.weight", matrices, {m.q_rank, 32 * 128});
    header.Add(at + "indexer.attn_k.weight", DType::kQ8_0, {m.width, 128});
    header.AddFloats(at + "indexer.k_norm.weight", {128});
    header.AddFloats(at + "indexer.k_norm.bias", {128});
    header.AddFloats(at + "indexer.proj.weight", {m.width, 32});
    if (i < m.layers) continue;
    header.Add(at + "nextn.eh_proj.weight", matrices, {2 * m.width, m.width});
    for (const char* norm : {"enorm", "hnorm", "shared_head_norm"}) {
      header.AddFloats(at + "nextn." + norm + ".weight", {m.width});
    }
  }
  return header;
}

ModelHeader Lfm2(std::string_view name) {
  constexpr std::uint32_t kWidth = 1024, kFfn = 4608;
  const Decoder d{16, kWidth, 16, 8, 64, kFfn, 65536, 128000, 1e6f};
  const std::vector<std::int32_t> kv_heads = {0, 0, 8, 0, 0, 8, 0, 0, 8, 0, 8, 0, 8, 0, 8, 0};
  ModelHeader header("lfm2", name);
  SetDecoder(header, d);
  header.Counts("attention.head_count_kv", kv_heads).Count("shortconv.l_cache", 3);
  header.Remove("attention.key_length").Remove("attention.value_length");
  header.Remove("rope.dimension_count");
  header.Add("token_embd.weight", DType::kQ6_K, {kWidth, d.vocab});
  header.AddFloats("token_embd_norm.weight", {kWidth});
  for (std::uint32_t i = 0; i < d.layers; ++i) {
    const std::string at = Layer(i);
    header.AddFloats(at + "attn_norm.weight", {kWidth}).AddFloats(at + "ffn_norm.weight", {kWidth});
    if (kv_heads[i] > 0) {
      AddAttention(header, d, at, DType::kQ4_K, DType::kQ6_K);
      AddHeadNorms(header, at, d.head_dim);
    } else {
      header.Add(at + "shortconv.in_proj.weight", DType::kQ4_K, {kWidth, 3 * kWidth});
      header.AddFloats(at + "shortconv.conv.weight", {3, kWidth});
      header.Add(at + "shortconv.out_proj.weight", DType::kQ4_K, {kWidth, kWidth});
    }
    AddFfn(header, at, kWidth, kFfn, DType::kQ4_K, MoreBits(i, d.layers));
  }
  return header;
}

ModelHeader Qwen36(std::string_view name) {
  constexpr std::uint32_t kWidth = 5120, kInner = 6144, kState = 128, kGroups = 16, kHeads = 48;
  constexpr std::uint32_t kChannels = kInner + 2 * kGroups * kState;
  const Decoder d{64, kWidth, 24, 4, 256, 17408, 248320, 262144, 1e7f, 1e-6f};
  ModelHeader header("qwen35", name);
  SetDecoder(header, d);
  header.Count("rope.dimension_count", 64).Counts("rope.dimension_sections", {11, 11, 10, 0});
  header.Count("full_attention_interval", 4).Count("ssm.conv_kernel", 4);
  header.Count("ssm.state_size", kState).Count("ssm.group_count", kGroups);
  header.Count("ssm.time_step_rank", kHeads).Count("ssm.inner_size", kInner);
  AddEnds(header, kWidth, d.vocab, DType::kQ4_K, DType::kQ6_K);
  for (std::uint32_t i = 0; i < d.layers; ++i) {
    const std::string at = Layer(i);
    const DType more = MoreBits(i, d.layers);
    header.AddFloats(at + "attn_norm.weight", {kWidth});
    header.AddFloats(at + "post_attention_norm.weight", {kWidth});
    if (i % 4 == 3) {
      AddAttention(header, d, at, DType::kQ4_K, more);
      header.Find(at + "attn_q.weight")->dims[1] *= 2;  // the gates beside the queries
      AddHeadNorms(header, at, d.head_dim);
    } else {
      header.Add(at + "attn_qkv.weight", DType::kQ5_K, {kWidth, kChannels});
      header.Add(at + "attn_gate.weight", DType::kQ4_K, {kWidth, kInner});
      header.AddFloats(at + "ssm_conv1d.weight", {4, kChannels});
      header.AddFloats(at + "ssm_dt.bias", {kHeads}).AddFloats(at + "ssm_a", {kHeads});
      header.Add(at + "ssm_alpha.weight", DType::kQ8_0, {kWidth, kHeads});
      header.Add(at + "ssm_beta.weight", DType::kQ8_0, {kWidth, kHeads});
      header.AddFloats(at + "ssm_norm.weight", {kInner / kHeads});
      header.Add(at + "ssm_out.weight", DType::kQ4_K, {kInner, kWidth});
    }
    AddFfn(header, at, kWidth, d.ffn, DType::kQ4_K, more);
  }
  return header;
}

// Every layer but each sixth sees 1024 positions.
ModelHeader Unknown(std::string_view name) {
  const Decoder d{48, 3840, 16, 8, 256, 15360, 262144, 131072, 1e6f, 1e-6f};
  ModelHeader header("nextarch", name);
  SetDecoder(header, d);
  header.Count("attention.sliding_window", 1024).Count("attention.sliding_window_pattern", 6);
  header.Add("token_embd.weight", DType::kQ6_K, {d.width, d.vocab});
  header.AddFloats("output_norm.weight", {d.width});
  for (std::uint32_t i = 0; i < d.layers; ++i) {
    const std::string at = Layer(i);
    header.AddFloats(at + "attn_norm.weight", {d.width});
    AddAttention(header, d, at, DType::kQ4_K, MoreBits(i, d.layers));
    header.AddFloats(at + "ffn_norm.weight", {d.width});
    AddFfn(header, at, d.width, d.ffn, DType::kQ4_K, MoreBits(i, d.layers));
  }
  return header;
}

struct Named {
  std::string_view name;
  ModelHeader (*make)(std::string_view name);
};

constexpr Named kModels[] = {
    {"glm-5", [](std::string_view name) { return Glm5(name, Owners::kAll, false); }},
    {"glm-5.2", [](std::string_view name) { return Glm5(name, Owners::kByRule, false); }},
    {"glm-5.3", [](std::string_view name) { return Glm5(name, Owners::kListed, true); }},
    {"deepseek-v3", [](std::string_view name) { return DeepSeekV3(name, false); }},
    {"deepseek-v3-expanded", [](std::string_view name) { return DeepSeekV3(name, true); }},
    {"gemma-4-26b", Gemma4},
    {"gpt-oss-20b", [](std::string_view name) { return GptOss(name, 24, 32); }},
    {"gpt-oss-120b", [](std::string_view name) { return GptOss(name, 36, 128); }},
    {"qwen3-30b-a3b", [](std::string_view name) { return EqualLayersHeader(name, {}); }},
    {"moe-48x928",
     [](std::string_view name) {
       return EqualLayersHeader(
           name, {.experts = 512, .used = 10, .expert_ffn = 512, .down = DType::kQ5_K});
     }},
    {"llama-8b",
     [](std::string_view name) {
       return Llama(name, {32, 4096, 32, 8, 128, 14336, 128256, 131072, 500000}, false, true);
     }},
    {"llama-70b",
     [](std::string_view name) {
       return Llama(name, {80, 8192, 64, 8, 128, 28672, 128256, 131072, 500000}, false, true);
     }},
    {"smollm-135m",
     [](std::string_view name) {
       return Llama(name, {30, 576, 9, 3, 64, 1536, 49152, 8192, 100000}, true, false);
     }},
    {"lfm2-350m", Lfm2},
    {"qwen3.6-27b", Qwen36},
    {"unknown-arch", Unknown},
};

}  // namespace

ModelHeader EqualLayersHeader(std::string_view name, const EqualLayers& sizes) {
  const bool moe = sizes.experts > 0;
  const Decoder d{sizes.layers, sizes.width, sizes.heads,   sizes.kv_heads, sizes.head_dim,
                  sizes.ffn,    sizes.vocab, sizes.context, 1e6f,           1e-6f};
  ModelHeader header(moe ? "qwen3moe" : "llama", name);
  SetDecoder(header, d);
  if (moe) {
    header.Count("expert_count", sizes.experts).Count("expert_used_count", sizes.used);
    header.Count("expert_feed_forward_length", sizes.expert_ffn);
  }
  header.Add("token_embd.weight", sizes.matrices, {d.width, d.vocab});
  header.AddFloats("output_norm.weight", {d.width});
  if (!sizes.tied) header.Add("output.weight", sizes.matrices, {d.width, d.vocab});
  for (std::uint32_t i = 0; i < d.layers; ++i) {
    const std::string at = Layer(i);
    header.AddFloats(at + "attn_norm.weight", {d.width});
    AddAttention(header, d, at, sizes.matrices, sizes.matrices);
    if (moe) AddHeadNorms(header, at, d.head_dim);
    header.AddFloats(at + "ffn_norm.weight", {d.width});
    if (!moe) {
      AddFfn(header, at, d.width, d.ffn, sizes.matrices, sizes.matrices);
      continue;
    }
    header.AddFloats(at + "ffn_gate_inp.weight", {d.width, sizes.experts});
    AddTowers(header, at, d.width, sizes.expert_ffn, sizes.experts,
              {sizes.gate, sizes.up, sizes.down});
  }
  return header;
}

std::vector<std::string_view> HeaderModelNames() {
  std::vector<std::string_view> names;
  for (const Named& model : kModels) names.push_back(model.name);
  return names;
}

ModelHeader HeaderOf(std::string_view name) {
  for (const Named& model : kModels) {
    if (model.name == name) return model.make(name);
  }
  throw std::runtime_error("no header model \"" + std::string(name) + "\"");
}

}  // namespace vt::test
