// Folders of DeepSeek V3 and V3.2 and GLM-5: the tiny GGUF models come back from them, and the
// joint matrix of keys and values is cut right whatever its type.
#include "formats/hf_folder_fixture.h"
#include "support/latent_folder.h"

namespace vt {
namespace {

using test::F32;
using test::F8;
using test::HfFolder;
using test::Json;
using test::Stored;

GgufFile Open(const std::string& path) {
  Result<GgufFile> file = GgufFile::Open(path);
  if (!file.ok()) throw std::runtime_error(file.status().message());
  return std::move(file).value();
}

class HfLatentTwin : public testing::TestWithParam<const char*> {
 protected:
  GgufFile Folder(int ahead) {
    const std::string folder = test::TempDir();
    test::LatentFolder(twin_).Write(folder, ahead);
    return Open(folder);
  }
  const GgufFile twin_ = Open(test::TinyPath(std::string(GetParam()) + ".gguf"));
};

TEST_P(HfLatentTwin, HasEveryTensorWithItsShapeAndValues) {
  const GgufFile folder = Folder(0);
  std::size_t compared = 0;
  for (const GgufTensor& want : twin_.tensors()) {
    SCOPED_TRACE(want.name);
    if (want.name.ends_with("ffn_gate_up_exps.weight")) continue;  // two tensors in the folder
    const GgufTensor* const got = folder.FindTensor(want.name);
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->dims, want.dims);
    EXPECT_EQ(got->bytes, want.bytes);
    EXPECT_EQ(test::Values(folder, *got), test::Values(twin_, want));
    ++compared;
  }
  EXPECT_GE(compared, twin_.tensors().size() - 1);
}

TEST_P(HfLatentTwin, HasTheSameMetadata) {
  const GgufFile folder = Folder(0);
  const std::string architecture(*twin_.GetString("general.architecture").value());
  EXPECT_EQ(folder.GetString("general.architecture").value(), architecture);
  for (const auto& [key, want] : twin_.metadata()) {
    if (!key.starts_with(architecture)) continue;
    SCOPED_TRACE(key);
    const GgufValue* const got = folder.Find(key);
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->AsF64(), want.AsF64());
    EXPECT_EQ(got->AsBool(), want.AsBool());
    EXPECT_EQ(got->text, want.text);
  }
  EXPECT_EQ(folder.Find(architecture + ".nextn_predict_layers"), nullptr);
}

TEST_P(HfLatentTwin, LayersThatPredictAheadComeAfterTheOthers) {
  const GgufFile folder = Folder(2);
  const std::string architecture(*twin_.GetString("general.architecture").value());
  EXPECT_EQ(folder.GetU64(architecture + ".block_count").value(), 4u);
  EXPECT_EQ(folder.GetU64(architecture + ".nextn_predict_layers").value(), 2u);
  for (const char* const name :
       {"eh_proj", "enorm", "hnorm", "embed_tokens", "shared_head_norm", "shared_head_head"}) {
    EXPECT_NE(folder.FindTensor(std::string("blk.3.nextn.") + name + ".weight"), nullptr) << name;
  }
  EXPECT_NE(folder.FindTensor("blk.3.attn_k_b.weight"), nullptr);
}

TEST_P(HfLatentTwin, ACutTensorIsCopiedFromAnywhere) {
  const GgufFile folder = Folder(0);
  for (const char* const name : {"blk.1.attn_k_b.weight", "blk.1.attn_v_b.weight"}) {
    const GgufTensor& tensor = *folder.FindTensor(name);
    EXPECT_FALSE(folder.Contiguous(tensor));
    EXPECT_EQ(folder.Data(tensor), nullptr);
    std::vector<std::byte> all(tensor.bytes), range(100);
    folder.CopyTo(tensor, all.data());
    folder.CopyRange(tensor, 1234, range.size(), range.data());
    EXPECT_TRUE(std::equal(range.begin(), range.end(), all.begin() + 1234)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, HfLatentTwin,
                         testing::Values("deepseek2-moe", "deepseek2-yarn", "deepseek32-moe",
                                         "glm-dsa-moe"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

constexpr char kJoint[] = "model.layers.0.self_attn.kv_b_proj.weight";

class HfLatent : public HfFolder {
 protected:
  static constexpr std::uint64_t kHeads = 3, kKeys = 50, kValues = 40, kRank = 140;

  HfLatent() {
    config_ = {
        {"model_type", "deepseek_v3"}, {"vocab_size", 4},           {"hidden_size", 4},
        {"num_hidden_layers", 1},      {"intermediate_size", 4},    {"num_attention_heads", kHeads},
        {"kv_lora_rank", kRank},       {"qk_nope_head_dim", kKeys}, {"qk_rope_head_dim", 4},
        {"v_head_dim", kValues},       {"rms_norm_eps", 1e-6},      {"n_routed_experts", 2},
        {"num_experts_per_tok", 1},    {"n_shared_experts", 1},     {"moe_intermediate_size", 4},
        {"first_k_dense_replace", 1},  {"rope_theta", 10000.0},     {"hidden_act", "silu"}};
  }

  // Each value of the two parts, against the joint matrix at its own place.
  void ExpectCut(const std::vector<float>& joint, DType type) {
    WriteAll();
    const GgufFile file = MustOpen();
    const GgufTensor& k = *file.FindTensor("blk.0.attn_k_b.weight");
    const GgufTensor& v = *file.FindTensor("blk.0.attn_v_b.weight");
    EXPECT_EQ(k.type, type);
    EXPECT_EQ(v.type, type);
    ASSERT_EQ(k.dims, (std::vector<std::uint64_t>{kKeys, kRank, kHeads}));
    ASSERT_EQ(v.dims, (std::vector<std::uint64_t>{kRank, kValues, kHeads}));
    const std::vector<float> keys = test::StoredValues(file, k);
    const std::vector<float> values = test::StoredValues(file, v);
    for (std::uint64_t h = 0; h < kHeads; ++h) {
      for (std::uint64_t r = 0; r < kRank; ++r) {
        for (std::uint64_t n = 0; n < kKeys; ++n) {
          ASSERT_EQ(keys[(h * kRank + r) * kKeys + n],
                    joint[(h * (kKeys + kValues) + n) * kRank + r]);
        }
        for (std::uint64_t n = 0; n < kValues; ++n) {
          ASSERT_EQ(values[(h * kValues + n) * kRank + r],
                    joint[(h * (kKeys + kValues) + kKeys + n) * kRank + r]);
        }
      }
    }
  }
  static constexpr std::uint64_t kRows = kHeads * (kKeys + kValues);
};

TEST_F(HfLatent, FloatsStayOfTheirType) {
  tensors_[kJoint] = F32({kRows, kRank});
  std::vector<float> joint(kRows * kRank);
  for (std::size_t i = 0; i < joint.size(); ++i) joint[i] = 1 + static_cast<float>(i);
  ExpectCut(joint, DType::kF32);

  std::string halves;
  for (std::size_t i = 0; i < joint.size(); ++i) {
    const auto half = static_cast<std::uint16_t>(0x3f80 + i % 0x80);
    joint[i] = std::bit_cast<float>(std::uint32_t{half} << 16);
    halves.append(reinterpret_cast<const char*>(&half), sizeof(half));
  }
  tensors_[kJoint] = {"BF16", {kRows, kRank}, halves};
  ExpectCut(joint, DType::kBF16);
}

// Heads of 90 rows lie across blocks of 128.
TEST_F(HfLatent, Fp8IsDecodedWithItsScales) {
  const std::string scale = std::string(kJoint) + "_scale_inv";
  tensors_[kJoint] = F8({kRows, kRank});
  const auto joint = [&](auto scale_of) {
    std::vector<float> values(kRows * kRank);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto code = static_cast<std::uint8_t>(tensors_[kJoint].data[i]);
      values[i] = test::DecodeE4M3(code) * scale_of(i / kRank, i % kRank);
    }
    return values;
  };
  tensors_[scale] = F32({3, 2}, 0.3f);
  ExpectCut(joint([](std::uint64_t row, std::uint64_t col) {
              return 0.3f + static_cast<float>(row / 128 * 2 + col / 128);
            }),
            DType::kF32);
  tensors_[scale] = F32({kRows, 1}, 0.3f);
  ExpectCut(joint([](std::uint64_t row, std::uint64_t) { return 0.3f + static_cast<float>(row); }),
            DType::kF32);
  tensors_[scale] = F32({}, 0.3f);
  ExpectCut(joint([](std::uint64_t, std::uint64_t) { return 0.3f; }), DType::kF32);
  // One of 16 bits: 1.5 as bfloat16, -0.75 as binary16.
  tensors_[scale] = {"BF16", {1}, std::string("\xc0\x3f", 2)};
  ExpectCut(joint([](std::uint64_t, std::uint64_t) { return 1.5f; }), DType::kF32);
  tensors_[scale] = {"F16", {1}, std::string("\x00\xba", 2)};
  ExpectCut(joint([](std::uint64_t, std::uint64_t) { return -0.75f; }), DType::kF32);
}

TEST_F(HfLatent, JointMatricesThatAreWrong) {
  tensors_[kJoint] = F32({kRows - 1, kRank});
  EXPECT_EQ(AllMessage(),
            "model.safetensors: tensor \"model.layers.0.self_attn.kv_b_proj.weight\": shape [269, "
            "140] (want 270 rows: 3 heads of 50 of keys and 40 of values)");
  tensors_[kJoint] = F8({kRows, kRank});
  EXPECT_EQ(AllMessage(),
            "model.safetensors: tensor \"model.layers.0.self_attn.kv_b_proj.weight\": is F8_E4M3, "
            "but no shard has its scale (looked for "
            "\"model.layers.0.self_attn.kv_b_proj.weight_scale\" and "
            "\"model.layers.0.self_attn.kv_b_proj.weight_scale_inv\"); fetch the folder again");
  tensors_[std::string(kJoint) + "_scale_inv"] = F32({2, 2});
  EXPECT_NE(AllMessage().find("shape [2, 2] (want [270], [270, 1], [1] or [3, 2] for the weight of "
                              "shape [270, 140])"),
            std::string::npos)
      << AllMessage();
}

TEST_F(HfLatent, ConfigurationsThatAreNotRead) {
  const auto message = [&](const std::string& key, const Json& value) {
    const Json before = config_;
    config_[key] = value;
    const std::string text = AllMessage(Code::kUnsupported);
    config_ = before;
    return text;
  };
  EXPECT_EQ(message("scoring_func", "softmax"),
            "config.json: key \"scoring_func\": \"softmax\" is not supported (allowed: sigmoid)");
  EXPECT_NE(message("moe_layer_freq", 2).find("2 is not supported (want 1)"), std::string::npos);
  EXPECT_NE(message("rope_interleave", false).find("false is not supported"), std::string::npos);
  EXPECT_NE(message("rope_scaling", {{"type", "yarn"},
                                     {"factor", 4},
                                     {"original_max_position_embeddings", 16},
                                     {"mscale", 1.0},
                                     {"mscale_all_dim", 0.5}})
                .find("mscale_all_dim\": 0.500000 with mscale 1.000000 is not supported (want "
                      "them equal)"),
            std::string::npos);
  config_["num_nextn_predict_layers"] = 1;
  tensors_["model.layers.2.enorm.weight"] = F32({4});
  EXPECT_EQ(AllMessage(),
            "model.safetensors: tensor \"model.layers.2.enorm.weight\": layer 2 (num_hidden_layers "
            "is 1, with 1 after them)");
}

TEST_F(HfLatent, LayersWithAnIndexerOfTheirOwn) {
  config_["model_type"] = "glm_moe_dsa";
  config_["num_hidden_layers"] = 8;
  config_["index_n_heads"] = 2;
  config_["index_head_dim"] = 8;
  config_["index_topk"] = 4;
  const auto types = [&] {
    WriteAll();
    const GgufFile file = MustOpen();
    const GgufValue* const value = file.Find("glm-dsa.attention.indexer.types");
    std::string text;
    for (std::uint64_t i = 0; value && i < value->count; ++i) {
      text += std::to_string(*value->ElementI64(i));
    }
    return text;
  };
  EXPECT_EQ(types(), "");
  config_["index_topk_freq"] = 4;
  config_["index_skip_topk_offset"] = 3;
  EXPECT_EQ(types(), "11100010");
  config_["indexer_types"] = {"full",   "full", "shared", "shared",
                              "shared", "full", "shared", "full"};
  EXPECT_EQ(types(), "11000101");
  config_["indexer_types"][2] = "none";
  EXPECT_EQ(AllMessage(Code::kUnsupported),
            "config.json: key \"indexer_types.2\": \"none\" is not supported (allowed: full, "
            "shared)");
  config_["indexer_types"] = {"full"};
  EXPECT_EQ(AllMessage(),
            "config.json: key \"indexer_types\": 1 elements (want num_hidden_layers, 8)");
}

TEST_F(HfLatent, DenseLayersAsAList) {
  config_.erase("first_k_dense_replace");
  config_["num_hidden_layers"] = 3;
  config_["mlp_layer_types"] = {"dense", "dense", "sparse"};
  WriteAll();
  EXPECT_EQ(MustOpen().GetU64("deepseek2.leading_dense_block_count").value(), 2u);
  config_["mlp_layer_types"] = {"dense", "sparse", "dense"};
  EXPECT_EQ(AllMessage(Code::kUnsupported),
            "config.json: key \"mlp_layer_types.2\": \"dense\" (want \"dense\" layers, then "
            "\"sparse\" ones)");
}

}  // namespace
}  // namespace vt
