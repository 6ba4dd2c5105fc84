// The scales of FP8 weights in Hugging Face folders.
#include "formats/hf_folder_fixture.h"

namespace vt {
namespace {

using test::F32;
using test::F8;
using test::HfFolder;
using test::Json;
using test::kQ;
using test::Tensors;

TEST_F(HfFolder, AScalePerRow) {
  for (const std::vector<std::uint64_t>& shape : {std::vector<std::uint64_t>{3}, {3, 1}}) {
    tensors_[kQ] = F8({3, 4});
    tensors_[std::string(kQ) + "_scale"] = F32(shape, 2);
    WriteAll();
    const GgufFile file = MustOpen();
    EXPECT_EQ(file.FindTensor("blk.0.attn_q.weight_scale")->dims, std::vector<std::uint64_t>{3});
    const std::vector<float> values = test::Values(file, *file.FindTensor("blk.0.attn_q.weight"));
    EXPECT_EQ(values[5], test::DecodeE4M3(35) * 3);
    EXPECT_EQ(values[11], test::DecodeE4M3(77) * 4);
  }
}

TEST_F(HfFolder, OneScaleForAllRows) {
  for (const std::vector<std::uint64_t>& shape : {std::vector<std::uint64_t>{}, {1}, {1, 1}}) {
    tensors_[kQ] = F8({3, 4});
    tensors_[std::string(kQ) + "_scale"] = F32(shape, 2);
    WriteAll();
    const GgufFile file = MustOpen();
    EXPECT_EQ(test::StoredValues(file, *file.FindTensor("blk.0.attn_q.weight_scale")),
              (std::vector<float>{2, 2, 2}));
    EXPECT_TRUE(file.shards().back().computed);
  }
}

TEST_F(HfFolder, ScalesOfBlocksWithRaggedEdges) {
  tensors_[kQ] = F8({130, 257});
  tensors_[std::string(kQ) + "_scale_inv"] = F32({2, 3}, 2);
  WriteAll();
  const GgufFile file = MustOpen();
  const GgufTensor& scale = *file.FindTensor("blk.0.attn_q.weight_scale_inv");
  EXPECT_EQ(scale.dims, (std::vector<std::uint64_t>{3, 2}));
  EXPECT_EQ(file.FindTensor("blk.0.attn_q.weight_scale"), nullptr);
  const GgufTensor& weight = *file.FindTensor("blk.0.attn_q.weight");
  const std::vector<float> stored = test::StoredValues(file, weight);
  const std::vector<float> values = test::Values(file, weight);
  const auto at = [](std::uint64_t row, std::uint64_t col) { return row * 257 + col; };
  EXPECT_EQ(values[at(127, 127)], stored[at(127, 127)] * 2);
  EXPECT_EQ(values[at(127, 128)], stored[at(127, 128)] * 3);
  EXPECT_EQ(values[at(0, 256)], stored[at(0, 256)] * 4);
  EXPECT_EQ(values[at(128, 0)], stored[at(128, 0)] * 5);
  EXPECT_EQ(values[at(129, 256)], stored[at(129, 256)] * 7);
}

TEST_F(HfFolder, AScaleInAnotherShard) {
  Tensors second;
  tensors_[kQ] = F8({3, 4});
  second[std::string(kQ) + "_scale"] = F32({3}, 2);
  WriteShards({{"a.safetensors", tensors_}, {"b.safetensors", second}});
  const GgufFile file = MustOpen();
  EXPECT_NE(file.FindTensor("blk.0.attn_q.weight_scale")->shard,
            file.FindTensor("blk.0.attn_q.weight")->shard);
}

TEST_F(HfFolder, ScalesOfExperts) {
  AddExperts([](const auto& shape, int first) { return F8(shape, first); });
  const std::vector<std::string> weights = [&] {
    std::vector<std::string> names;
    for (const auto& [name, t] : tensors_) {
      if (t.dtype == "F8_E4M3") names.push_back(name);
    }
    return names;
  }();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    tensors_[weights[i] + "_scale"] = F32({4, 1}, static_cast<float>(100 * i));
  }
  WriteAll();
  GgufFile file = MustOpen();
  const GgufTensor& scale = *file.FindTensor("blk.0.ffn_down_exps.weight_scale");
  EXPECT_EQ(scale.dims, (std::vector<std::uint64_t>{4, 2}));
  EXPECT_EQ(test::StoredValues(file, scale), (std::vector<float>{0, 1, 2, 3, 300, 301, 302, 303}));
  // And one for each expert.
  for (std::size_t i = 0; i < weights.size(); ++i) {
    tensors_[weights[i] + "_scale"] = F32({}, static_cast<float>(i));
  }
  WriteAll();
  file = MustOpen();
  EXPECT_EQ(test::StoredValues(file, *file.FindTensor("blk.0.ffn_up_exps.weight_scale")),
            (std::vector<float>{2, 2, 2, 2, 5, 5, 5, 5}));
}

TEST_F(HfFolder, ScalesThatAreMissingOrLeftOver) {
  tensors_[kQ] = F8({3, 4});
  EXPECT_EQ(AllMessage(),
            "model.safetensors: tensor \"model.layers.0.self_attn.q_proj.weight\": is F8_E4M3, but "
            "no shard has its scale (looked for "
            "\"model.layers.0.self_attn.q_proj.weight_scale\" and "
            "\"model.layers.0.self_attn.q_proj.weight_scale_inv\"); fetch the folder again");
  tensors_[std::string(kQ) + "_scale"] = F32({3});
  tensors_["model.layers.0.self_attn.k_proj.weight_scale"] = F32({3});
  tensors_["model.layers.0.self_attn.v_proj.scale_weight"] = F32({3});
  EXPECT_EQ(AllMessage(),
            "model.safetensors: tensor \"model.layers.0.self_attn.k_proj.weight_scale\": a scale "
            "that no FP8 weight uses (and 1 more); its weight is missing or is not F8_E4M3, fetch "
            "the folder again");
  tensors_.erase("model.layers.0.self_attn.k_proj.weight_scale");
  tensors_.erase("model.layers.0.self_attn.v_proj.scale_weight");
  tensors_["model.layers.0.self_attn.q_proj.input_scale"] = F32({1});
  EXPECT_EQ(AllMessage(), "no error");
  // Both spellings for one weight: the second is left over.
  tensors_[std::string(kQ) + "_scale_inv"] = F32({1, 1});
  EXPECT_EQ(
      AllMessage().substr(0, 85),
      "model.safetensors: tensor \"model.layers.0.self_attn.q_proj.weight_scale_inv\": a scale");
}

TEST_F(HfFolder, ScalesOfAnotherShape) {
  tensors_[kQ] = F8({3, 4});
  tensors_[std::string(kQ) + "_scale"] = F32({4});
  EXPECT_EQ(AllMessage(),
            "model.safetensors: scale \"model.layers.0.self_attn.q_proj.weight_scale\": shape [4] "
            "(want [3], [3, 1], [1] or [1, 1] for the weight of shape [3, 4])");
  tensors_[std::string(kQ) + "_scale"] = {"I32", {3}, std::string(12, 'x')};
  EXPECT_EQ(AllMessage(Code::kUnsupported),
            "model.safetensors: tensor \"model.layers.0.self_attn.q_proj.weight_scale\": dtype I32 "
            "(allowed for a scale: F32, BF16, F16)");
  tensors_["model.norm.weight"] = F8({4});
  tensors_[std::string(kQ) + "_scale"] = F32({3});
  EXPECT_EQ(
      AllMessage(Code::kUnsupported),
      "model.safetensors: tensor \"model.norm.weight\": is F8_E4M3 of shape [4] (matrices can "
      "be, this must be F32, F16 or BF16)");
}

TEST_F(HfFolder, QuantisationSchemes) {
  const auto with = [&](const char* json) {
    config_["quantization_config"] = Json::parse(json);
    return AllMessage(Code::kUnsupported);
  };
  const std::string allowed =
      " is no FP8 scheme that is read (allowed: quant_method compressed-tensors with 8-bit float "
      "weights, strategy channel, tensor or block of 128 x 128; quant_method fp8, "
      "weight_block_size 128 x 128 or none); give an unquantised folder or a GGUF file";
  const std::string key = "config.json: key \"quantization_config.";
  EXPECT_EQ(with(R"({"quant_method":"gptq","bits":4})"),
            key + "quant_method\": \"gptq\"" + allowed);
  EXPECT_EQ(with(R"({"quant_method":"fp8","weight_block_size":[64,128]})"),
            key + "weight_block_size\": [64, 128]" + allowed);
  EXPECT_EQ(with(R"({"quant_method":"fp8","fmt":"e5m2"})"), key + "fmt\": \"e5m2\"" + allowed);
  EXPECT_EQ(with(R"({"quant_method":"compressed-tensors","format":"pack-quantized"})"),
            key + "format\": \"pack-quantized\"" + allowed);
  const auto weights = [&](const std::string& members) {
    const std::string json =
        R"({"quant_method":"compressed-tensors","config_groups":{"group_0":{"weights":{)" +
        members + "}}}}";
    return with(json.c_str());
  };
  const std::string group = key + "config_groups.group_0.weights.";
  EXPECT_EQ(weights(R"("num_bits":4,"type":"float","strategy":"channel")"),
            group + "num_bits\": 4" + allowed);
  EXPECT_EQ(weights(R"("num_bits":8,"type":"int","strategy":"channel")"),
            group + "type\": \"int\"" + allowed);
  EXPECT_EQ(weights(R"("num_bits":8,"type":"float","strategy":"group")"),
            group + "strategy\": \"group\"" + allowed);
  EXPECT_EQ(weights(R"("num_bits":8,"type":"float","strategy":"block")"),
            group + "block_structure\": nothing" + allowed);
  EXPECT_EQ(weights(R"("num_bits":8,"type":"float","strategy":"channel","symmetric":false)"),
            group + "symmetric\": false" + allowed);
  EXPECT_EQ(
      weights(R"("num_bits":8,"type":"float","strategy":"block","block_structure":[128,128])"),
      "no error");
  EXPECT_EQ(with(R"({"quant_method":"fp8","fmt":"e4m3","weight_block_size":[128,128]})"),
            "no error");
}

// Gemma-4 stores gate and up of an expert apart; they are joined where scales allow.
class HfGemma4Blocks : public HfFolder {
 protected:
  void Write(std::uint64_t width) {
    config_ = Json::parse(test::ReadFile(test::TinyPath("gemma4-26b-hf/config.json")));
    config_.erase("quantization_config");
    Json& text = config_["text_config"];
    text["num_experts"] = 1;
    text["moe_intermediate_size"] = width;
    tensors_.clear();
    const std::string at = "model.language_model.layers.0.experts.0.";
    const std::uint64_t blocks = (width + 127) / 128;
    tensors_[at + "gate_proj.weight"] = F8({width, 64});
    tensors_[at + "up_proj.weight"] = F8({width, 64}, 3);
    tensors_[at + "gate_proj.weight_scale_inv"] = F32({blocks, 1}, 1);
    tensors_[at + "up_proj.weight_scale_inv"] = F32({blocks, 1}, 10);
    WriteAll();
  }
};

TEST_F(HfGemma4Blocks, JoinedWhereTheSeamEndsABlock) {
  Write(256);
  const GgufFile file = MustOpen();
  EXPECT_EQ(file.FindTensor("blk.0.ffn_gate_up_exps.weight")->dims,
            (std::vector<std::uint64_t>{64, 512, 1}));
  const GgufTensor& scale = *file.FindTensor("blk.0.ffn_gate_up_exps.weight_scale_inv");
  EXPECT_EQ(scale.dims, (std::vector<std::uint64_t>{1, 4, 1}));
  EXPECT_EQ(test::StoredValues(file, scale), (std::vector<float>{1, 2, 10, 11}));
}

TEST_F(HfGemma4Blocks, ApartWhereItDoesNot) {
  Write(200);
  const GgufFile file = MustOpen();
  EXPECT_EQ(file.FindTensor("blk.0.ffn_gate_up_exps.weight"), nullptr);
  EXPECT_EQ(file.FindTensor("blk.0.ffn_gate_exps.weight")->dims,
            (std::vector<std::uint64_t>{64, 200, 1}));
  EXPECT_EQ(test::StoredValues(file, *file.FindTensor("blk.0.ffn_up_exps.weight_scale_inv")),
            (std::vector<float>{10, 11}));
}

TEST_F(HfGemma4Blocks, PackedExperts) {
  Write(128);
  tensors_.clear();
  const std::string at = "model.language_model.layers.0.experts.";
  tensors_[at + "gate_up_proj"] = F8({1, 256, 64});
  tensors_[at + "gate_up_proj_scale"] = F32({1, 256, 1});
  tensors_[at + "down_proj"] = F32({1, 64, 128});
  WriteAll();
  const GgufFile file = MustOpen();
  const GgufTensor& joined = *file.FindTensor("blk.0.ffn_gate_up_exps.weight");
  EXPECT_EQ(joined.dims, (std::vector<std::uint64_t>{64, 256, 1}));
  EXPECT_EQ(file.FindTensor("blk.0.ffn_gate_up_exps.weight_scale")->dims,
            (std::vector<std::uint64_t>{256, 1}));
  EXPECT_EQ(test::Values(file, joined)[64 * 3 + 1], test::DecodeE4M3(193 * 7 % 0x70) * 4);
  EXPECT_EQ(file.FindTensor("blk.0.ffn_down_exps.weight")->dims,
            (std::vector<std::uint64_t>{128, 64, 1}));
}

TEST_F(HfGemma4Blocks, WhatTheConfigurationMayNotSay) {
  Write(128);
  const Json good = config_;
  const auto with = [&](const char* key, const Json& value, Code code) {
    config_ = good;
    config_["text_config"][key] = value;
    WriteConfig();
    return Message(code);
  };
  EXPECT_EQ(with("layer_types", Json::array({"full_attention"}), Code::kCorrupt),
            "config.json: key \"layer_types\": 1 elements (want num_hidden_layers, 6)");
  EXPECT_EQ(with("hidden_activation", "relu", Code::kUnsupported),
            "config.json: key \"hidden_activation\": \"relu\" is not supported (allowed: "
            "gelu_pytorch_tanh)");
  EXPECT_EQ(with("global_head_dim", 7, Code::kCorrupt),
            "config.json: key \"global_head_dim\": 7 (want an even number from 2 to 65536)");
  EXPECT_EQ(with("num_kv_shared_layers", 7, Code::kCorrupt),
            "config.json: key \"num_kv_shared_layers\": 7 (want at most num_hidden_layers, 6)");
  Json rope = good["text_config"]["rope_parameters"];
  rope["full_attention"]["rope_type"] = "default";
  EXPECT_EQ(with("rope_parameters", rope, Code::kUnsupported),
            "config.json: key \"rope_parameters.full_attention.rope_type\": \"default\" is not "
            "supported (allowed: proportional)");
}

}  // namespace
}  // namespace vt
