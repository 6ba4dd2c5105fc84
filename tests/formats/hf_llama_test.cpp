// Folders written from tiny GGUF files, under the names and in the row order of their Hugging Face
// architectures: reading them must give the GGUF files back.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "formats/hf_values.h"
#include "support/safetensors_bytes.h"
#include "support/test_files.h"
#include "vt/gguf.h"

namespace vt {
namespace {

using Json = nlohmann::ordered_json;

struct Case {
  std::string gguf;        // the tiny model
  std::string model_type;  // of the folder
};

// GGUF names without "blk.N." and ".weight", in Hugging Face's words.
const std::map<std::string, std::string> kNames = {{"token_embd", "model.embed_tokens"},
                                                   {"output_norm", "model.norm"},
                                                   {"output", "lm_head"},
                                                   {"attn_norm", "input_layernorm"},
                                                   {"attn_q", "self_attn.q_proj"},
                                                   {"attn_k", "self_attn.k_proj"},
                                                   {"attn_v", "self_attn.v_proj"},
                                                   {"attn_output", "self_attn.o_proj"},
                                                   {"attn_q_norm", "self_attn.q_norm"},
                                                   {"attn_k_norm", "self_attn.k_norm"},
                                                   {"ffn_norm", "post_attention_layernorm"},
                                                   {"ffn_gate", "mlp.gate_proj"},
                                                   {"ffn_up", "mlp.up_proj"},
                                                   {"ffn_down", "mlp.down_proj"},
                                                   {"ffn_gate_inp", "mlp.gate"},
                                                   {"ffn_gate_exps", "gate_proj"},
                                                   {"ffn_up_exps", "up_proj"},
                                                   {"ffn_down_exps", "down_proj"}};

GgufFile MustOpen(const std::string& path) {
  Result<GgufFile> file = GgufFile::Open(path);
  if (!file.ok()) throw std::runtime_error(file.status().message());
  return std::move(file).value();
}

// Of the tiny models' tensors, what is no part of these architectures: frequencies that are
// computed, a classifier.
bool InFolder(std::string_view name) {
  return name != "rope_freqs.weight" && name != "cls.output.weight";
}

std::vector<std::uint64_t> ShapeOf(const GgufTensor& tensor) {
  return {tensor.dims.rbegin(), tensor.dims.rend()};
}

class HfLlama : public testing::TestWithParam<Case> {
 protected:
  HfLlama() : twin_(MustOpen(test::TinyPath(GetParam().gguf + ".gguf"))) {
    architecture_ = std::string(*twin_.GetString("general.architecture").value());
  }

  std::uint64_t U64(const std::string& key) const {
    return twin_.GetU64(architecture_ + "." + key).value().value_or(0);
  }
  double F64(const std::string& key) const {
    return twin_.GetF64(architecture_ + "." + key).value().value_or(0);
  }

  // Rows of GGUF's llama back in the order of pairs (i, i + d/2).
  std::string Unpaired(const std::string& bytes, std::uint64_t rows, std::uint64_t heads) const {
    const std::size_t row = bytes.size() / rows, dim = rows / heads;
    std::string out;
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::size_t i = 0; i < dim; ++i) {
        const std::size_t from = head * dim + (i < dim / 2 ? 2 * i : 2 * (i - dim / 2) + 1);
        out += bytes.substr(from * row, row);
      }
    }
    return out;
  }

  void WriteFolder() {
    test::SafetensorsBytes out;
    for (const GgufTensor& tensor : twin_.tensors()) {
      const std::string data(reinterpret_cast<const char*>(twin_.Data(tensor)), tensor.bytes);
      std::string name(tensor.name), layer;
      if (!InFolder(name)) continue;
      if (name.rfind("blk.", 0) == 0) {
        const std::size_t dot = name.find('.', 4);
        layer = "model.layers." + name.substr(4, dot - 4) + ".";
        name.erase(0, dot + 1);
      }
      const std::size_t dot = name.rfind('.');
      const std::string base = name.substr(0, dot), ending = name.substr(dot);
      const std::string hf = kNames.at(base);
      if (base.ends_with("_exps")) {
        std::vector<std::uint64_t> shape = ShapeOf(tensor);
        const std::size_t bytes = data.size() / shape[0];
        for (std::uint64_t e = 0; e < shape[0]; ++e) {
          out.Tensor(layer + "mlp.experts." + std::to_string(e) + "." + hf + ending, "F32",
                     {shape[1], shape[2]}, std::string_view(data).substr(e * bytes, bytes));
        }
        continue;
      }
      const bool pairs = architecture_ == "llama";
      std::string stored = data;
      if (pairs && (base == "attn_q" || base == "attn_k")) {
        stored =
            Unpaired(data, tensor.dims.back(),
                     U64(base == "attn_q" ? "attention.head_count" : "attention.head_count_kv"));
      }
      out.Tensor(layer + hf + ending, "F32", ShapeOf(tensor), stored);
    }
    test::WriteBytes(folder_ + "/model.safetensors", out.Bytes());
    test::WriteBytes(folder_ + "/config.json", Config().dump());
  }

  Json Config() const {
    Json config = {{"model_type", GetParam().model_type},
                   {"hidden_size", U64("embedding_length")},
                   {"num_hidden_layers", U64("block_count")},
                   {"intermediate_size", U64("feed_forward_length")},
                   {"num_attention_heads", U64("attention.head_count")},
                   {"num_key_value_heads", U64("attention.head_count_kv")},
                   {"max_position_embeddings", U64("context_length")},
                   {"rms_norm_eps", F64("attention.layer_norm_rms_epsilon")},
                   {"vocab_size", twin_.FindTensor("token_embd.weight")->dims[1]},
                   {"hidden_act", "silu"}};
    if (U64("attention.key_length") != 0) config["head_dim"] = U64("attention.key_length");
    if (F64("rope.freq_base") != 0) config["rope_theta"] = F64("rope.freq_base");
    config["tie_word_embeddings"] = twin_.FindTensor("output.weight") == nullptr;
    if (architecture_ == "qwen3moe") {
      config["num_experts"] = U64("expert_count");
      config["num_experts_per_tok"] = U64("expert_used_count");
      config["moe_intermediate_size"] = U64("expert_feed_forward_length");
      config["norm_topk_prob"] = true;
      if (U64("feed_forward_length") == 0) config["intermediate_size"] = 1;
    }
    const auto type = twin_.GetString(architecture_ + ".rope.scaling.type").value();
    if (type) {
      Json& scaling = config["rope_scaling"];
      scaling = {{"rope_type", *type}, {"factor", F64("rope.scaling.factor")}};
      if (U64("rope.scaling.original_context_length") != 0) {
        scaling["original_max_position_embeddings"] = U64("rope.scaling.original_context_length");
      }
    }
    return config;
  }

  GgufFile twin_;
  std::string architecture_;
  std::string folder_ = test::TempDir();
};

TEST_P(HfLlama, ComesBackAsItWas) {
  WriteFolder();
  const GgufFile folder = MustOpen(folder_);
  EXPECT_EQ(folder.GetString("general.architecture").value(), architecture_);
  for (const GgufTensor& want : twin_.tensors()) {
    if (!InFolder(want.name)) continue;
    SCOPED_TRACE(want.name);
    const GgufTensor* const got = folder.FindTensor(want.name);
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->dims, want.dims);
    EXPECT_EQ(test::Values(folder, *got), test::Values(twin_, want));
  }
  for (const GgufTensor& tensor : folder.tensors()) {
    EXPECT_NE(twin_.FindTensor(tensor.name), nullptr) << tensor.name;
  }
  for (const auto& [key, want] : twin_.metadata()) {
    // The configuration has a width for layers without experts whether there are any or not.
    if (!key.starts_with(architecture_ + ".") || key.ends_with(".feed_forward_length")) continue;
    SCOPED_TRACE(key);
    const GgufValue* const got = folder.Find(key);
    ASSERT_NE(got, nullptr);
    if (want.type == GgufType::kString) {
      EXPECT_EQ(got->text, want.text);
    } else {
      EXPECT_EQ(got->AsF64(), want.AsF64());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, HfLlama,
                         testing::Values(Case{"llama-dense", "llama"},
                                         Case{"llama-dense", "mistral"},
                                         Case{"llama-rope-linear", "llama"},
                                         Case{"qwen2-dense", "qwen2"}, Case{"qwen2-yarn", "qwen2"},
                                         Case{"qwen3-dense", "qwen3"},
                                         Case{"qwen3moe-moe", "qwen3_moe"}),
                         [](const auto& param) {
                           std::string name = param.param.gguf + "_" + param.param.model_type;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// The rope_freqs.weight of Llama-3.2: divisors by pair, from the rule in its model code.
TEST(HfLlama3, FrequenciesAreStretched) {
  const std::string folder = test::TempDir();
  test::SafetensorsBytes out;
  out.Tensor("model.norm.weight", "F32", {1}, test::F32Bytes({1}));
  test::WriteBytes(folder + "/model.safetensors", out.Bytes());
  const Json config = {{"model_type", "llama"},
                       {"vocab_size", 1},
                       {"hidden_size", 2048},
                       {"num_hidden_layers", 1},
                       {"intermediate_size", 1},
                       {"num_attention_heads", 32},
                       {"rms_norm_eps", 1e-5},
                       {"rope_theta", 500000.0},
                       {"rope_scaling",
                        {{"rope_type", "llama3"},
                         {"factor", 32.0},
                         {"low_freq_factor", 1.0},
                         {"high_freq_factor", 4.0},
                         {"original_max_position_embeddings", 8192}}}};
  test::WriteBytes(folder + "/config.json", config.dump());
  const GgufFile file = MustOpen(folder);
  const GgufTensor* const freqs = file.FindTensor("rope_freqs.weight");
  ASSERT_NE(freqs, nullptr);
  EXPECT_EQ(freqs->dims, std::vector<std::uint64_t>{32});
  const std::vector<float> values = test::Values(file, *freqs);
  const std::vector<float> want = {
      1,          1,         1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1.6513292f,
      3.2922621f, 9.666729f, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32};
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(values[i], want[i], want[i] * 1e-5f);
}

// Scales of rows move with their rows.
TEST(HfLlamaScales, FollowTheRows) {
  const std::string folder = test::TempDir();
  test::SafetensorsBytes out;
  const std::string q = "model.layers.0.self_attn.q_proj.weight";
  out.Tensor(q + "_scale", "F32", {8, 1}, test::F32Bytes({0, 1, 2, 3, 4, 5, 6, 7}));
  out.Tensor(q, "F8_E4M3", {8, 1}, "\x38\x38\x38\x38\x38\x38\x38\x38");
  test::WriteBytes(folder + "/model.safetensors", out.Bytes());
  const Json config = {{"model_type", "llama"},  {"vocab_size", 1},
                       {"hidden_size", 8},       {"num_hidden_layers", 1},
                       {"intermediate_size", 1}, {"num_attention_heads", 2},
                       {"rms_norm_eps", 1e-5}};
  test::WriteBytes(folder + "/config.json", config.dump());
  const GgufFile file = MustOpen(folder);
  EXPECT_EQ(test::Values(file, *file.FindTensor("blk.0.attn_q.weight")),
            (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7}));
}

}  // namespace
}  // namespace vt
