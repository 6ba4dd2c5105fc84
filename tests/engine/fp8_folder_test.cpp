// FP8 weights of Hugging Face folders, with scales by row and by 128 x 128 block, against a folder
// with the F32 numbers that they decode to: the same logits to the bit, since both products add the
// same numbers in the same order.
#include "support/fp8_folder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/memory_plan.h"
#include "plan/placement.h"
#include "support/model_run.h"
#include "support/test_files.h"

namespace vt {
namespace {

using test::Fp8Folders;
using test::ScaleForm;

constexpr std::uint64_t kVocab = 150, kWidth = 160, kLayers = 2;

// What Qwen models have beside the feed-forward; no size is a multiple of 128.
void AddAttention(Fp8Folders& folders, const std::string& layer, bool biases) {
  folders.Floats(layer + "input_layernorm.weight", {kWidth}, 1);
  folders.Floats(layer + "post_attention_layernorm.weight", {kWidth}, 1);
  const std::string at = layer + "self_attn.";
  folders.Matrix(at + "q_proj.weight", 160, kWidth);
  folders.Matrix(at + "k_proj.weight", 32, kWidth);
  folders.Matrix(at + "v_proj.weight", 32, kWidth);
  folders.Matrix(at + "o_proj.weight", kWidth, 160);
  if (biases) {
    folders.Floats(at + "q_proj.bias", {160});
    folders.Floats(at + "k_proj.bias", {32});
    folders.Floats(at + "v_proj.bias", {32});
  } else {
    folders.Floats(at + "q_norm.weight", {32}, 1);
    folders.Floats(at + "k_norm.weight", {32}, 1);
  }
}

void AddFeedForward(Fp8Folders& folders, const std::string& at, std::uint64_t width) {
  folders.Matrix(at + "gate_proj.weight", width, kWidth);
  folders.Matrix(at + "up_proj.weight", width, kWidth);
  folders.Matrix(at + "down_proj.weight", kWidth, width);
}

std::string Config(const std::string& type, const std::string& more,
                   const std::string& heads = "5") {
  return R"({"model_type":")" + type + R"(","vocab_size":150,"hidden_size":160,)" +
         R"("num_hidden_layers":2,"num_attention_heads":)" + heads +
         R"(,"num_key_value_heads":1,"head_dim":32,)" +
         R"("rms_norm_eps":1e-6,"hidden_act":"silu","rope_theta":10000.0,)" +
         R"("max_position_embeddings":256,"intermediate_size":200,)" + more +
         R"("tie_word_embeddings":false})";
}

// Dense with biases, or experts of 144 rows, which are no whole number of blocks.
std::string WriteModel(ScaleForm form, bool experts) {
  Fp8Folders folders(form);
  folders.Matrix("model.embed_tokens.weight", kVocab, kWidth, 1);
  folders.Matrix("lm_head.weight", kVocab, kWidth);
  folders.Floats("model.norm.weight", {kWidth}, 1);
  for (std::uint64_t i = 0; i < kLayers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    AddAttention(folders, layer, !experts);
    if (!experts) {
      AddFeedForward(folders, layer + "mlp.", 200);
      continue;
    }
    folders.Floats(layer + "mlp.gate.weight", {3, kWidth});
    for (int e = 0; e < 3; ++e) {
      AddFeedForward(folders, layer + "mlp.experts." + std::to_string(e) + ".", 144);
    }
  }
  const std::string folder = test::TempDir();
  folders.Write(
      folder, experts ? Config("qwen3_moe", R"("num_experts":3,"num_experts_per_tok":2,)"
                                            R"("moe_intermediate_size":144,"norm_topk_prob":true,)")
                      : Config("qwen2", ""));
  return folder;
}

EngineOptions Options() {
  EngineOptions options;
  options.context = 128;
  options.kv_type = DType::kF32;
  options.threads = 2;
  options.logit_rows = 80;
  return options;
}

std::vector<TokenId> Prompt(std::size_t count) {
  std::vector<TokenId> prompt;
  for (std::size_t i = 0; i < count; ++i) prompt.push_back(static_cast<TokenId>(i * 37 % kVocab));
  return prompt;
}

class Fp8Folder : public testing::TestWithParam<std::pair<ScaleForm, bool>> {};

TEST_P(Fp8Folder, RunsAsTheNumbersItDecodesTo) {
  const auto [form, experts] = GetParam();
  const std::string folder = WriteModel(form, experts);
  // 70 rows are sorted by expert; fewer are not.
  const std::vector<TokenId> prompt = Prompt(70);
  for (const std::string isa : {"", "avx2", "scalar"}) {
    EngineOptions options = Options();
    options.isa = isa;
    if (!isa.empty() && !ChooseDevices(options).ok()) continue;  // this machine lacks it
    test::LoadedModel fp8 = test::LoadModel(folder + "/fp8", options);
    test::LoadedModel f32 = test::LoadModel(folder + "/f32", options);
    ASSERT_TRUE(fp8.engine && f32.engine);
    for (const std::size_t chunk : {std::size_t{70}, std::size_t{7}, std::size_t{1}}) {
      const test::LogitTable got = test::PromptLogits(*fp8.engine, prompt, chunk);
      const test::LogitTable want = test::PromptLogits(*f32.engine, prompt, chunk);
      ASSERT_EQ(got.size(), prompt.size());
      EXPECT_EQ(got, want) << "isa " << isa << ", chunk " << chunk;
    }
  }
}

// On the simulated device no op is given room for a decoded weight.
TEST_P(Fp8Folder, RunsOnTheSimulatedDevice) {
  const auto [form, experts] = GetParam();
  const std::string folder = WriteModel(form, experts);
  EngineOptions options = Options();
  test::LoadedModel cpu = test::LoadModel(folder + "/fp8", options);
  options.device = "sim:0";
  DeviceInfo& device = options.sims.emplace_back();
  device.id = "sim:0";
  device.kind = DeviceKind::kSim;
  device.name = "a simulated device";
  device.memory_total = {std::uint64_t{256} << 20, "a test"};
  device.sim.emplace();
  test::LoadedModel sim = test::LoadModel(folder + "/fp8", options);
  ASSERT_TRUE(cpu.engine && sim.engine);
  const std::vector<TokenId> prompt = Prompt(9);
  const test::LogitTable got = test::PromptLogits(*sim.engine, prompt, 9);
  const test::LogitTable want = test::PromptLogits(*cpu.engine, prompt, 9);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_LE(test::Nmse(got[i], want[i]), 1e-6) << "position " << i;
  }
}

// One expert at a time is copied to a slot, with its scales, from the pieces that a folder has it
// in.
TEST_P(Fp8Folder, RunsWithItsExpertsInSlots) {
  const auto [form, experts] = GetParam();
  if (!experts) return;
  const std::string folder = WriteModel(form, experts);
  Result<GgufFile> file = GgufFile::Open(folder + "/fp8");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Result<ModelSpec> spec = ReadModelSpec(*file);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EngineOptions options = Options();
  options.device = "sim:0";
  DeviceInfo& device = options.sims.emplace_back();
  device.kind = DeviceKind::kSim;
  device.memory_total = {std::uint64_t{256} << 20, "a test"};
  device.sim.emplace();
  const std::vector<TokenId> prompt = Prompt(9);
  const auto whole = Engine::Load(*file, *spec, options);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  const test::LogitTable want = test::PromptLogits(**whole, prompt, 9);
  options.placement = WholePlacement(*file, *spec, "sim:0");
  for (LayerPlacement& layer : options.placement->layers) layer.expert_slots = 1;
  const auto slots = Engine::Load(*file, *spec, options);
  ASSERT_TRUE(slots.ok()) << slots.status().message();
  EXPECT_EQ(test::PromptLogits(**slots, prompt, 9), want);
  EXPECT_EQ(test::PromptLogits(**slots, prompt, 2), want);
  for (const MemoryRow& row : (*slots)->Memory()) {
    EXPECT_EQ(row.allocated_bytes, row.predicted_bytes) << row.row;
  }
}

// Logits of a folder all of whose matrices are held as bf16.
test::LogitTable ExpandedLogits(const std::string& folder, const std::vector<TokenId>& prompt) {
  Result<GgufFile> file = GgufFile::Open(folder);
  if (!file.ok()) return {};
  const Result<ModelSpec> spec = ReadModelSpec(*file);
  if (!spec.ok()) return {};
  EngineOptions options = Options();
  options.placement = WholePlacement(*file, *spec, "cpu");
  for (std::size_t i = 0; i < file->tensors().size(); ++i) {
    if (options.placement->tensors[i] >= 0) options.placement->held[i] = Held::kExpanded;
  }
  const Result<std::unique_ptr<Engine>> engine = Engine::Load(*file, *spec, options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return engine.ok() ? test::PromptLogits(**engine, prompt, prompt.size()) : test::LogitTable{};
}

TEST_P(Fp8Folder, ExpandsToWhatItsNumbersExpandTo) {
  const auto [form, experts] = GetParam();
  const std::string folder = WriteModel(form, experts);
  const std::vector<TokenId> prompt = Prompt(9);
  const test::LogitTable got = ExpandedLogits(folder + "/fp8", prompt);
  EXPECT_EQ(got.size(), prompt.size());
  EXPECT_EQ(got, ExpandedLogits(folder + "/f32", prompt));
}

// Latent attention, whose joint matrix of keys and values is decoded when it is cut, and an
// indexer.
std::string WriteLatent(ScaleForm form) {
  constexpr std::uint64_t kHeads = 3, kKeys = 40, kRope = 16, kValues = 50, kRank = 136;
  Fp8Folders folders(form);
  folders.Floats("model.embed_tokens.weight", {kVocab, kWidth});
  folders.Matrix("lm_head.weight", kVocab, kWidth);
  folders.Floats("model.norm.weight", {kWidth}, 1);
  for (std::uint64_t i = 0; i < kLayers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    const std::string at = layer + "self_attn.";
    folders.Floats(layer + "input_layernorm.weight", {kWidth}, 1);
    folders.Floats(layer + "post_attention_layernorm.weight", {kWidth}, 1);
    folders.Matrix(at + "q_a_proj.weight", 130, kWidth);
    folders.Floats(at + "q_a_layernorm.weight", {130}, 1);
    folders.Matrix(at + "q_b_proj.weight", kHeads * (kKeys + kRope), 130);
    folders.Matrix(at + "kv_a_proj_with_mqa.weight", kRank + kRope, kWidth);
    folders.Floats(at + "kv_a_layernorm.weight", {kRank}, 1);
    folders.Matrix(at + "kv_b_proj.weight", kHeads * (kKeys + kValues), kRank);
    folders.Matrix(at + "o_proj.weight", kWidth, kHeads * kValues);
    folders.Matrix(at + "indexer.wq_b.weight", 2 * 32, 130);
    folders.Matrix(at + "indexer.wk.weight", 32, kWidth);
    folders.Floats(at + "indexer.k_norm.weight", {32}, 1);
    folders.Floats(at + "indexer.k_norm.bias", {32});
    folders.Floats(at + "indexer.weights_proj.weight", {2, kWidth});
    if (i == 0) {
      AddFeedForward(folders, layer + "mlp.", 200);
      continue;
    }
    folders.Floats(layer + "mlp.gate.weight", {3, kWidth});
    folders.Floats(layer + "mlp.gate.e_score_correction_bias", {3});
    AddFeedForward(folders, layer + "mlp.shared_experts.", 144);
    for (int e = 0; e < 3; ++e) {
      AddFeedForward(folders, layer + "mlp.experts." + std::to_string(e) + ".", 144);
    }
  }
  const std::string folder = test::TempDir();
  folders.Write(folder, Config("deepseek_v32",
                               R"("q_lora_rank":130,"kv_lora_rank":136,"qk_nope_head_dim":40,)"
                               R"("qk_rope_head_dim":16,"v_head_dim":50,"n_routed_experts":3,)"
                               R"("num_experts_per_tok":2,"n_shared_experts":1,)"
                               R"("moe_intermediate_size":144,"first_k_dense_replace":1,)"
                               R"("index_n_heads":2,"index_head_dim":32,"index_topk":8,)",
                               "3"));
  return folder;
}

TEST(Fp8LatentFolder, RunsAsTheNumbersItDecodesTo) {
  for (const ScaleForm form : {ScaleForm::kRow, ScaleForm::kBlock}) {
    const std::string folder = WriteLatent(form);
    test::LoadedModel fp8 = test::LoadModel(folder + "/fp8", Options());
    test::LoadedModel f32 = test::LoadModel(folder + "/f32", Options());
    ASSERT_TRUE(fp8.engine && f32.engine);
    for (const std::size_t chunk : {std::size_t{70}, std::size_t{1}}) {
      EXPECT_EQ(test::PromptLogits(*fp8.engine, Prompt(70), chunk),
                test::PromptLogits(*f32.engine, Prompt(70), chunk))
          << "chunk " << chunk;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Scales, Fp8Folder,
    testing::Values(std::pair(ScaleForm::kRow, false), std::pair(ScaleForm::kBlock, false),
                    std::pair(ScaleForm::kRow, true), std::pair(ScaleForm::kBlock, true)),
    [](const auto& param) {
      return std::string(param.param.first == ScaleForm::kRow ? "Rows" : "Blocks") +
             (param.param.second ? "OfExperts" : "OfDenseLayers");
    });

}  // namespace
}  // namespace vt
