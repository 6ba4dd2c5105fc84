// A Hugging Face folder made of a tiny GGUF model of the DeepSeek family: the same numbers under
// the names, and in the pieces, that such a folder has.
#pragma once

#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/safetensors_bytes.h"
#include "vt/gguf.h"

namespace vt::test {

class LatentFolder {
 public:
  // `twin` holds f32 tensors alone.
  explicit LatentFolder(const GgufFile& twin)
      : twin_(twin), architecture_(twin.GetString("general.architecture").value().value()) {}

  // `ahead`: layers that predict tokens ahead, copies of the last one with tensors of their own.
  void Write(const std::string& folder, int ahead = 0) {
    for (const auto& [gguf, hf] : kModelNames) Whole(gguf, hf);
    const auto layers = static_cast<int>(Size("block_count"));
    for (int i = 0; i < layers + ahead; ++i) {
      Layer("blk." + std::to_string(i < layers ? i : layers - 1) + ".",
            "model.layers." + std::to_string(i) + ".");
    }
    for (int i = layers; i < layers + ahead; ++i) Ahead("model.layers." + std::to_string(i) + ".");
    WriteBytes(folder + "/config.json", Config(ahead));
    WriteBytes(folder + "/model.safetensors", bytes_.Bytes());
  }

 private:
  static constexpr std::pair<const char*, const char*> kModelNames[] = {
      {"token_embd.weight", "model.embed_tokens.weight"},
      {"output_norm.weight", "model.norm.weight"},
      {"output.weight", "lm_head.weight"}};
  static constexpr std::pair<const char*, const char*> kLayerNames[] = {
      {"attn_norm.weight", "input_layernorm.weight"},
      {"attn_q.weight", "self_attn.q_proj.weight"},
      {"attn_q_a.weight", "self_attn.q_a_proj.weight"},
      {"attn_q_a_norm.weight", "self_attn.q_a_layernorm.weight"},
      {"attn_q_b.weight", "self_attn.q_b_proj.weight"},
      {"attn_kv_a_mqa.weight", "self_attn.kv_a_proj_with_mqa.weight"},
      {"attn_kv_a_norm.weight", "self_attn.kv_a_layernorm.weight"},
      {"attn_output.weight", "self_attn.o_proj.weight"},
      {"indexer.attn_q_b.weight", "self_attn.indexer.wq_b.weight"},
      {"indexer.attn_k.weight", "self_attn.indexer.wk.weight"},
      {"indexer.k_norm.weight", "self_attn.indexer.k_norm.weight"},
      {"indexer.k_norm.bias", "self_attn.indexer.k_norm.bias"},
      {"indexer.proj.weight", "self_attn.indexer.weights_proj.weight"},
      {"ffn_norm.weight", "post_attention_layernorm.weight"},
      {"ffn_gate.weight", "mlp.gate_proj.weight"},
      {"ffn_up.weight", "mlp.up_proj.weight"},
      {"ffn_down.weight", "mlp.down_proj.weight"},
      {"ffn_gate_inp.weight", "mlp.gate.weight"},
      {"exp_probs_b.bias", "mlp.gate.e_score_correction_bias"},
      {"ffn_gate_shexp.weight", "mlp.shared_experts.gate_proj.weight"},
      {"ffn_up_shexp.weight", "mlp.shared_experts.up_proj.weight"},
      {"ffn_down_shexp.weight", "mlp.shared_experts.down_proj.weight"}};

  std::vector<float> Values(const GgufTensor& tensor) const {
    if (tensor.type != DType::kF32) throw std::runtime_error("a tiny model holds f32");
    std::vector<float> values(tensor.bytes / sizeof(float));
    twin_.CopyTo(tensor, reinterpret_cast<std::byte*>(values.data()));
    return values;
  }
  std::uint64_t Size(const std::string& key) const {
    return twin_.GetU64(architecture_ + "." + key).value().value_or(0);
  }
  void Put(const std::string& hf, const std::vector<std::uint64_t>& shape,
           const std::vector<float>& values) {
    bytes_.Tensor(hf, "F32", shape, F32Bytes(values));
  }
  void Whole(const std::string& gguf, const std::string& hf) {
    const GgufTensor* const tensor = twin_.FindTensor(gguf);
    if (tensor) Put(hf, {tensor->dims.rbegin(), tensor->dims.rend()}, Values(*tensor));
  }

  void Layer(const std::string& gguf, const std::string& hf) {
    for (const auto& [from, to] : kLayerNames) Whole(gguf + from, hf + to);
    KeysAndValues(gguf, hf);
    // A tensor of both, or one of each.
    Experts(gguf + "ffn_gate_up_exps.weight", hf, {"gate_proj", "up_proj"});
    Experts(gguf + "ffn_gate_exps.weight", hf, {"gate_proj"});
    Experts(gguf + "ffn_up_exps.weight", hf, {"up_proj"});
    Experts(gguf + "ffn_down_exps.weight", hf, {"down_proj"});
  }

  // k_b is [heads, rank, keys], v_b [heads, values, rank]; the joint matrix has each head's keys,
  // then its values, as rows.
  void KeysAndValues(const std::string& gguf, const std::string& hf) {
    const GgufTensor& k = *twin_.FindTensor(gguf + "attn_k_b.weight");
    const GgufTensor& v = *twin_.FindTensor(gguf + "attn_v_b.weight");
    const std::vector<float> keys = Values(k), values = Values(v);
    const std::uint64_t heads = k.dims[2], rank = k.dims[1], nope = k.dims[0], dim = v.dims[1];
    std::vector<float> joint;
    for (std::uint64_t h = 0; h < heads; ++h) {
      for (std::uint64_t n = 0; n < nope; ++n) {
        for (std::uint64_t r = 0; r < rank; ++r) joint.push_back(keys[(h * rank + r) * nope + n]);
      }
      for (std::uint64_t i = 0; i < dim * rank; ++i) joint.push_back(values[h * dim * rank + i]);
    }
    Put(hf + "self_attn.kv_b_proj.weight", {heads * (nope + dim), rank}, joint);
  }

  void Experts(const std::string& gguf, const std::string& hf,
               const std::vector<std::string>& parts) {
    const GgufTensor* const all = twin_.FindTensor(gguf);
    if (!all) return;
    const std::vector<float> values = Values(*all);
    const std::uint64_t rows = all->dims[1] / parts.size(), count = rows * all->dims[0];
    auto next = values.begin();
    for (std::uint64_t e = 0; e < all->dims[2]; ++e) {
      for (const std::string& part : parts) {
        const auto end = next + static_cast<std::ptrdiff_t>(count);
        Put(hf + "mlp.experts." + std::to_string(e) + "." + part + ".weight", {rows, all->dims[0]},
            {next, end});
        next = end;
      }
    }
  }

  // What a layer that predicts ahead has beside a layer's tensors.
  void Ahead(const std::string& hf) {
    const std::uint64_t width = Size("embedding_length");
    Put(hf + "eh_proj.weight", {width, 2 * width}, std::vector<float>(2 * width * width, 0.5f));
    for (const char* const name : {"enorm.weight", "hnorm.weight", "shared_head.norm.weight"}) {
      Put(hf + name, {width}, std::vector<float>(width, 1.0f));
    }
    Whole("token_embd.weight", hf + "embed_tokens.weight");
    Whole("output.weight", hf + "shared_head.head.weight");
  }

  std::string Config(int ahead) const {
    const std::map<std::string, std::string> types = {
        {"deepseek2", "deepseek_v3"}, {"deepseek32", "deepseek_v32"}, {"glm-dsa", "glm_moe_dsa"}};
    std::string json = R"({"model_type":")" + types.at(architecture_) + "\"";
    const auto add = [&](const std::string& key, const std::string& value) {
      json += ",\"" + key + "\":" + value;
    };
    const auto size = [&](const std::string& key, std::uint64_t value) {
      add(key, std::to_string(value));
    };
    const std::uint64_t rope = Size("rope.dimension_count");
    size("vocab_size", twin_.FindTensor("token_embd.weight")->rows());
    size("max_position_embeddings", Size("context_length"));
    size("hidden_size", Size("embedding_length"));
    size("num_hidden_layers", Size("block_count"));
    size("num_nextn_predict_layers", static_cast<std::uint64_t>(ahead));
    size("intermediate_size", Size("feed_forward_length"));
    size("num_attention_heads", Size("attention.head_count"));
    size("num_key_value_heads", Size("attention.head_count"));
    size("q_lora_rank", Size("attention.q_lora_rank"));
    size("kv_lora_rank", Size("attention.kv_lora_rank"));
    size("qk_rope_head_dim", rope);
    size("qk_nope_head_dim", Size("attention.key_length_mla") - rope);
    size("v_head_dim", Size("attention.value_length_mla"));
    size("n_routed_experts", Size("expert_count"));
    size("num_experts_per_tok", Size("expert_used_count"));
    size("n_shared_experts", Size("expert_shared_count"));
    size("moe_intermediate_size", Size("expert_feed_forward_length"));
    size("first_k_dense_replace", Size("leading_dense_block_count"));
    add("n_group", "1");
    add("topk_group", "1");
    add("rms_norm_eps", "1e-5");
    add("routed_scaling_factor", "2.5");
    add("norm_topk_prob", "true");
    add("scoring_func", "\"sigmoid\"");
    add("topk_method", "\"noaux_tc\"");
    add("hidden_act", "\"silu\"");
    add("rope_theta", "10000.0");
    add("tie_word_embeddings", "false");
    if (Size("attention.indexer.top_k") > 0) {
      size("index_n_heads", Size("attention.indexer.head_count"));
      size("index_head_dim", Size("attention.indexer.key_length"));
      size("index_topk", Size("attention.indexer.top_k"));
    }
    if (twin_.Find(architecture_ + ".rope.scaling.type")) {
      add("rope_scaling", R"({"type":"yarn","factor":4.0,"mscale":1.0,"mscale_all_dim":1.0,)"
                          R"("original_max_position_embeddings":64})");
    } else {
      add("rope_scaling", "null");
    }
    return json + "}";
  }

  const GgufFile& twin_;
  std::string architecture_;
  SafetensorsBytes bytes_;
};

}  // namespace vt::test
