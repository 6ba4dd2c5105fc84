// Which files make a Hugging Face folder, what its experts become, and what each kind of damage is
// told.
#include "formats/hf_folder_fixture.h"

namespace vt {
namespace {

using test::F32;
using test::F8;
using test::HfFolder;
using test::Json;
using test::Tensors;

TEST_F(HfFolder, KeysOfTheConfiguration) {
  WriteAll();
  const GgufFile file = MustOpen();
  EXPECT_EQ(file.GetString("general.architecture").value(), "qwen3moe");
  EXPECT_EQ(file.GetU64("qwen3moe.block_count").value(), 1u);
  EXPECT_EQ(file.GetU64("qwen3moe.context_length").value(), 16u);
  EXPECT_EQ(file.GetU64("qwen3moe.expert_count").value(), 2u);
  EXPECT_EQ(file.GetU64("qwen3moe.attention.key_length").value(), 2u);
  EXPECT_EQ(file.GetF64("qwen3moe.attention.layer_norm_rms_epsilon").value(), double{1e-6f});
  EXPECT_EQ(file.GetU64("general.architecture").status().message(),
            At("config.json") +
                ": key \"general.architecture\": type string (want an integer); the file was "
                "written wrongly, convert it again");
}

TEST_F(HfFolder, TensorsOfSeveralShards) {
  const Tensors first = {*tensors_.begin()}, second = {*std::next(tensors_.begin())};
  WriteShards(
      {{"model-00001-of-00002.safetensors", first}, {"model-00002-of-00002.safetensors", second}});
  const GgufFile file = MustOpen();
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.FindTensor("token_embd.weight")->shard, 2u);
  EXPECT_EQ(file.FindTensor("output_norm.weight")->shard, 3u);
  EXPECT_EQ(test::Values(file, *file.FindTensor("output_norm.weight")),
            (std::vector<float>{1, 2, 3, 4}));
  const GgufFile by_shard =
      std::move(GgufFile::Open(At("model-00002-of-00002.safetensors")).value());
  EXPECT_EQ(by_shard.HeaderDigest(), file.HeaderDigest());
  EXPECT_EQ(by_shard.ContentDigest(), file.ContentDigest());
}

TEST_F(HfFolder, DigestsChangeWithEveryFile) {
  WriteAll();
  const std::string header = MustOpen().HeaderDigest(), content = MustOpen().ContentDigest();
  std::string bytes = test::ReadFile(At("model.safetensors"));
  bytes.back() ^= 1;
  test::WriteBytes(At("model.safetensors"), bytes);
  EXPECT_EQ(MustOpen().HeaderDigest(), header);
  EXPECT_NE(MustOpen().ContentDigest(), content);
  test::WriteBytes(At("chat_template.jinja"), "{{ messages }}");
  EXPECT_NE(MustOpen().HeaderDigest(), header);
}

TEST_F(HfFolder, WhichFilesMakeOne) {
  EXPECT_EQ(Message(), folder_ +
                           ": a folder without config.json (a model's folder has one); give a GGUF "
                           "file or a Hugging Face model folder");
  WriteConfig();
  EXPECT_EQ(Message(), folder_ +
                           ": has a config.json but no *.safetensors file; fetch the weights, or "
                           "give a GGUF file");
  test::WriteBytes(At("some.safetensors"), Bytes(tensors_));
  EXPECT_EQ(Message(), "no error");
  test::WriteBytes(At("other.safetensors"), Bytes(tensors_));
  EXPECT_EQ(Message(), folder_ +
                           ": 2 safetensors files (other.safetensors, some.safetensors) but no "
                           "model.safetensors.index.json that says which belong to the model; "
                           "fetch it");
}

TEST_F(HfFolder, Index) {
  const Tensors first = {*tensors_.begin()}, second = {*std::next(tensors_.begin())};
  WriteShards({{"a.safetensors", first}, {"b.safetensors", second}});
  const Json good = Json::parse(test::ReadFile(At("model.safetensors.index.json")));
  const auto with = [&](const char* tensor, const char* file) {
    Json index = good;
    index["weight_map"][tensor] = file;
    WriteIndex(index);
    return Message();
  };
  EXPECT_EQ(with("model.norm.weight", "c.safetensors"),
            "model.safetensors.index.json: 1 of the 2 files that it names are missing: "
            "c.safetensors; put all of them in one folder");
  EXPECT_EQ(with("model.norm.weight", "a.safetensors"),
            "model.safetensors.index.json: tensor \"model.norm.weight\": is not in "
            "\"a.safetensors\" nor in any other shard; the index is of another model, fetch the "
            "folder again");
  EXPECT_EQ(with("lm_head.weight", "a.safetensors"),
            "model.safetensors.index.json: tensor \"lm_head.weight\": is not in \"a.safetensors\" "
            "nor in any other shard; the index is of another model, fetch the folder again");
  EXPECT_EQ(with("lm_head.weight", "../a.safetensors"),
            "model.safetensors.index.json: tensor \"lm_head.weight\": file \"../a.safetensors\" "
            "(want the name of a file beside it)");
  test::WriteBytes(At("model.safetensors.index.json"), R"({"weight_map":{"a":"x","a":"x"}})");
  EXPECT_EQ(Message(), "model.safetensors.index.json: tensor \"a\" occurs twice");
  test::WriteBytes(At("model.safetensors.index.json"), "{}");
  EXPECT_EQ(Message(),
            "model.safetensors.index.json: key \"weight_map\" is missing (want an object)");
  test::WriteBytes(At("model.safetensors.index.json"), R"({"weight_map":{"a")");
  EXPECT_EQ(Message(),
            "model.safetensors.index.json: not valid JSON: ends where a colon is wanted (byte 18)");
  WriteShards({{"a.safetensors", tensors_}, {"b.safetensors", second}});
  EXPECT_EQ(Message(), "b.safetensors: tensor \"model.norm.weight\" is also in a.safetensors");
}

TEST_F(HfFolder, ACutShardIsRefused) {
  WriteAll();
  const std::string bytes = test::ReadFile(At("model.safetensors"));
  test::WriteBytes(At("model.safetensors"), bytes.substr(0, bytes.size() - 1));
  EXPECT_EQ(
      Message(),
      "model.safetensors: tensor \"model.norm.weight\": its data end at 80, outside the file: "
      "80 bytes of data expected, 79 present; the file is cut short or damaged, fetch it "
      "again");
}

TEST_F(HfFolder, Architecture) {
  config_["model_type"] = "bert";
  EXPECT_EQ(AllMessage(Code::kUnsupported),
            "config.json: key \"model_type\": \"bert\" is not read from a folder (known: "
            "deepseek_v3, deepseek_v32, gemma4, gemma4_text, glm_moe_dsa, llama, mistral, qwen2, "
            "qwen3, qwen3_moe); convert the model to GGUF");
  config_.erase("model_type");
  EXPECT_EQ(AllMessage(),
            "config.json: key \"model_type\": missing (want the name of an architecture)");
  config_["model_type"] = "qwen3_moe";
  config_["num_experts"] = -1;
  EXPECT_EQ(AllMessage(), "config.json: key \"num_experts\": -1 (want a whole number, 0 or more)");
  config_["num_experts"] = 2;
  config_["rope_scaling"] = {{"rope_type", "spiral"}};
  EXPECT_EQ(AllMessage(Code::kUnsupported),
            "config.json: key \"rope_scaling.rope_type\": \"spiral\" is not supported (allowed: "
            "default, linear, yarn, llama3)");
  test::WriteBytes(At("config.json"), "{");
  EXPECT_EQ(Message().substr(0, 18), "config.json: JSON:");
}

TEST_F(HfFolder, ATensorWithoutAPlace) {
  tensors_["model.layers.0.self_attn.gate.weight"] = F32({4, 4});
  tensors_["model.layers.0.extra"] = F32({4});
  EXPECT_EQ(AllMessage(Code::kUnsupported),
            "model.safetensors: tensor \"model.layers.0.extra\": has no place in a model of "
            "architecture qwen3moe, nor have \"model.layers.0.self_attn.gate.weight\"; convert the "
            "model to GGUF");
}

TEST_F(HfFolder, TensorsThatDoNotFit) {
  const Tensors good = tensors_;
  tensors_["model.layers.1.input_layernorm.weight"] = F32({4});
  EXPECT_EQ(AllMessage(),
            "model.safetensors: tensor \"model.layers.1.input_layernorm.weight\": "
            "layer 1 (num_hidden_layers is 1)");
  tensors_ = good;
  tensors_["model.norm.weight"] = {"I64", {1}, std::string(8, 'x')};
  EXPECT_EQ(AllMessage(Code::kUnsupported),
            "model.safetensors: tensor \"model.norm.weight\": dtype I64 (allowed: F32, F16, BF16, "
            "F8_E4M3)");
  tensors_ = good;
  tensors_["norm.weight"] = F32({4});
  EXPECT_EQ(AllMessage(),
            "model.safetensors: tensor \"norm.weight\": stands for output_norm.weight, as tensor "
            "\"model.norm.weight\" does; one of them must go");
}

TEST_F(HfFolder, ATiedHeadIsNotRead) {
  tensors_["lm_head.weight"] = F8({4, 4});
  tensors_["lm_head.weight_scale"] = F32({4});
  WriteAll();
  EXPECT_EQ(MustOpen().FindTensor("output.weight"), nullptr);
  config_["tie_word_embeddings"] = false;
  WriteAll();
  EXPECT_NE(MustOpen().FindTensor("output.weight"), nullptr);
}

TEST_F(HfFolder, UnalignedTensorsAreGathered) {
  // Names are stored in order: one or two bytes come before the embedding.
  std::size_t gathered = 0;
  for (const std::uint64_t bytes : {1, 2}) {
    tensors_["a.input_scale"] = {"U8", {bytes}, std::string(bytes, 'x')};
    WriteAll();
    const GgufFile file = MustOpen();
    const GgufTensor& embedding = *file.FindTensor("token_embd.weight");
    EXPECT_EQ(file.Contiguous(embedding), embedding.offset % 4 == 0);
    EXPECT_EQ(test::Values(file, embedding)[3], 4.0f);
    gathered += file.Contiguous(embedding) ? 0 : 1;
  }
  EXPECT_GT(gathered, 0u);
}

TEST_F(HfFolder, ExpertsBecomeOneTensor) {
  AddExperts([](const auto& shape, int first) { return F32(shape, static_cast<float>(first)); });
  WriteAll();
  const GgufFile file = MustOpen();
  const GgufTensor& up = *file.FindTensor("blk.0.ffn_up_exps.weight");
  EXPECT_EQ(up.dims, (std::vector<std::uint64_t>{4, 4, 2}));
  EXPECT_FALSE(file.Contiguous(up));
  ASSERT_EQ(up.parts.size(), 2u);
  const std::vector<float> values = test::Values(file, up);
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[16], 11.0f);
}

TEST_F(HfFolder, ExpertsThatFollowEachOtherStayWhereTheyAre) {
  for (int e = 0; e < 2; ++e) {
    tensors_["model.layers.0.mlp.experts." + std::to_string(e) + ".up_proj.weight"] = F32({4, 4});
  }
  WriteAll();
  const GgufFile file = MustOpen();
  EXPECT_TRUE(file.Contiguous(*file.FindTensor("blk.0.ffn_up_exps.weight")));
}

TEST_F(HfFolder, ExpertsMustBeCompleteAndAlike) {
  AddExperts([](const auto& shape, int) { return F32(shape); });
  const Tensors good = tensors_;
  tensors_.erase("model.layers.0.mlp.experts.1.up_proj.weight");
  EXPECT_EQ(AllMessage(),
            "model.safetensors: tensor \"model.layers.0.mlp.experts.0.up_proj.weight\": stands for "
            "a part of blk.0.ffn_up_exps.weight, whose part of expert 1 is missing");
  tensors_ = good;
  tensors_["model.layers.0.mlp.experts.2.up_proj.weight"] = F32({4, 4});
  EXPECT_EQ(AllMessage(),
            "model.safetensors: tensor \"model.layers.0.mlp.experts.2.up_proj.weight\": expert 2 "
            "(the configuration has 2)");
  tensors_ = good;
  tensors_["model.layers.0.mlp.experts.1.up_proj.weight"] = F32({2, 4});
  EXPECT_EQ(AllMessage(),
            "model.safetensors: tensor \"model.layers.0.mlp.experts.1.up_proj.weight\": F32 of "
            "shape [2, 4], but tensor \"model.layers.0.mlp.experts.0.up_proj.weight\" is F32 of "
            "[4, 4] (all parts of blk.0.ffn_up_exps.weight must be alike)");
  tensors_["model.layers.0.mlp.experts.1.up_proj.weight"] = {"BF16", {4, 4}, std::string(32, 'x')};
  EXPECT_EQ(AllMessage(),
            "model.safetensors: tensor \"model.layers.0.mlp.experts.1.up_proj.weight\": BF16 of "
            "shape [4, 4], but tensor \"model.layers.0.mlp.experts.0.up_proj.weight\" is F32 of "
            "[4, 4] (all parts of blk.0.ffn_up_exps.weight must be alike)");
}

// Each file of a folder cut after every byte, and with every byte changed: an error, or a folder
// whose tensors can all be read.
TEST_F(HfFolder, DamageIsAnErrorOrHarmless) {
  AddExperts([](const auto& shape, int first) { return F8(shape, first); });
  Tensors scales;
  for (const auto& [name, t] : tensors_) {
    if (t.dtype == "F8_E4M3") scales[name + "_scale"] = F32({4});
  }
  config_["rope_scaling"] = {{"rope_type", "llama3"},
                             {"factor", 8.0},
                             {"low_freq_factor", 1.0},
                             {"high_freq_factor", 4.0},
                             {"original_max_position_embeddings", 8}};
  config_["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
  WriteShards({{"a.safetensors", tensors_}, {"b.safetensors", scales}});
  std::size_t opened = 0, refused = 0;
  const auto open = [&] {
    const Result<GgufFile> file = GgufFile::Open(folder_);
    ++(file.ok() ? opened : refused);
    if (!file.ok()) return;
    for (const GgufTensor& tensor : file->tensors()) {
      std::vector<std::byte> bytes(tensor.bytes);
      file->CopyTo(tensor, bytes.data());
    }
  };
  for (const char* const name : {"config.json", "model.safetensors.index.json"}) {
    const std::string good = test::ReadFile(At(name));
    for (std::size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
      test::WriteBytes(At(name), bad);
      open();
      test::WriteBytes(At(name), good.substr(0, at));
      open();
    }
    test::WriteBytes(At(name), good);
  }
  EXPECT_GT(opened, 0u);
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace vt
