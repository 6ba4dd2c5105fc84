// A Hugging Face folder of a few numbers, for tests to change and to open.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "formats/hf_values.h"
#include "support/safetensors_bytes.h"
#include "support/test_files.h"
#include "vt/gguf.h"

namespace vt::test {

using Json = nlohmann::ordered_json;

struct Stored {
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::string data;
};
using Tensors = std::map<std::string, Stored>;

inline std::uint64_t Count(const std::vector<std::uint64_t>& shape) {
  std::uint64_t n = 1;
  for (const std::uint64_t dim : shape) n *= dim;
  return n;
}

// Values that differ from place to place.
inline Stored F32(const std::vector<std::uint64_t>& shape, float first = 1) {
  std::vector<float> values(Count(shape));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
  return {"F32", shape, F32Bytes(values)};
}

// Codes of small finite numbers.
inline Stored F8(const std::vector<std::uint64_t>& shape, int first = 0) {
  std::string codes(Count(shape), '\0');
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<char>((static_cast<std::size_t>(first) + i * 7) % 0x70);
  }
  return {"F8_E4M3", shape, codes};
}

class HfFolder : public testing::Test {
 protected:
  HfFolder() {
    config_ = {{"model_type", "qwen3_moe"},
               {"vocab_size", 4},
               {"hidden_size", 4},
               {"num_hidden_layers", 1},
               {"intermediate_size", 4},
               {"num_attention_heads", 2},
               {"num_key_value_heads", 1},
               {"head_dim", 2},
               {"rms_norm_eps", 1e-6},
               {"num_experts", 2},
               {"num_experts_per_tok", 1},
               {"moe_intermediate_size", 4},
               {"rope_theta", 10000.0},
               {"hidden_act", "silu"},
               {"tie_word_embeddings", true},
               {"max_position_embeddings", 16}};
    tensors_["model.embed_tokens.weight"] = F32({4, 4});
    tensors_["model.norm.weight"] = F32({4});
  }

  std::string At(const std::string& name) const { return folder_ + "/" + name; }

  static std::string Bytes(const Tensors& tensors) {
    SafetensorsBytes bytes;
    for (const auto& [name, t] : tensors) bytes.Tensor(name, t.dtype, t.shape, t.data);
    return bytes.Bytes();
  }
  void WriteConfig() { WriteBytes(At("config.json"), config_.dump()); }
  void WriteAll() {
    WriteConfig();
    WriteBytes(At("model.safetensors"), Bytes(tensors_));
  }
  // The tensors of each file, and the index over them.
  void WriteShards(const std::map<std::string, Tensors>& files) {
    WriteConfig();
    Json index = {{"weight_map", Json::object()}};
    for (const auto& [file, tensors] : files) {
      WriteBytes(At(file), Bytes(tensors));
      for (const auto& [name, unused] : tensors) index["weight_map"][name] = file;
    }
    WriteIndex(index);
  }
  void WriteIndex(const Json& index) {
    WriteBytes(At("model.safetensors.index.json"), index.dump());
  }

  GgufFile MustOpen() {
    Result<GgufFile> file = GgufFile::Open(folder_);
    if (!file.ok()) throw std::runtime_error(file.status().message());
    return std::move(file).value();
  }
  // The message of Open, less "<folder>/" everywhere.
  std::string Message(Code code = Code::kCorrupt) {
    const Result<GgufFile> file = GgufFile::Open(folder_);
    if (file.ok()) return "no error";
    EXPECT_EQ(file.status().code(), code) << file.status().message();
    std::string text = file.status().message();
    for (std::size_t at = 0; (at = text.find(folder_ + "/")) != std::string::npos;) {
      text.erase(at, folder_.size() + 1);
    }
    return text;
  }
  std::string AllMessage(Code code = Code::kCorrupt) {
    WriteAll();
    return Message(code);
  }

  // The experts of layer 0, gate, up and down of each.
  void AddExperts(const std::function<Stored(std::vector<std::uint64_t>, int)>& make) {
    for (int e = 0; e < 2; ++e) {
      const std::string at = "model.layers.0.mlp.experts." + std::to_string(e) + ".";
      tensors_[at + "gate_proj.weight"] = make({4, 4}, 10 * e);
      tensors_[at + "up_proj.weight"] = make({4, 4}, 10 * e + 1);
      tensors_[at + "down_proj.weight"] = make({4, 4}, 10 * e + 2);
    }
  }

  std::string folder_ = TempDir();
  Json config_;
  Tensors tensors_;
};

inline constexpr char kQ[] = "model.layers.0.self_attn.q_proj.weight";

}  // namespace vt::test
