#include "bench/synth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/whole_file.h"
#include "cpu/quants/dequantize.h"
#include "support/test_files.h"
#include "vt/engine.h"

namespace vt {
namespace {

std::string Write(SynthModel model, const std::string& type, std::uint64_t seed) {
  const std::string path = test::TempDir() + "/m.gguf";
  EXPECT_TRUE(SetTypes(model, type).ok());
  const auto answer =
      WriteSynth(model, {.path = path, .seed = seed, .cancel = nullptr, .progress = nullptr});
  EXPECT_TRUE(answer.ok()) << answer.status().message();
  if (answer.ok()) {
    EXPECT_EQ(std::filesystem::file_size(path), answer->bytes);
  }
  return path;
}

TEST(Synth, WeightsOfEveryTypeAreFiniteAndOfTheSizeAskedFor) {
  int types = 0;
  for (const DTypeInfo& info : AllDTypes()) {
    const DequantizeFn decode = FindDequantize(info.type);
    if (!decode || static_cast<std::uint32_t>(info.type) >= kFirstOwnDType) continue;
    ++types;
    const double sigma = 0.03;
    RandomData random(5);
    std::vector<std::uint8_t> bytes(std::size_t{256} * info.block_bytes);
    WeightMaker(info.type, sigma).Fill(random, bytes);
    std::vector<float> values(std::size_t{256} * info.block);
    decode(bytes.data(), values.data(), static_cast<std::int64_t>(values.size()));
    double sum = 0, squares = 0;
    for (const float value : values) {
      ASSERT_TRUE(std::isfinite(value)) << info.name;
      ASSERT_LT(std::abs(value), 20 * sigma) << info.name;
      sum += value;
      squares += double{value} * value;
    }
    const double count = static_cast<double>(values.size());
    const bool exponents = info.type == DType::kMXFP4 || info.type == DType::kNVFP4;
    EXPECT_NEAR(std::sqrt(squares / count), sigma, exponents ? sigma * 0.55 : sigma * 0.3)
        << info.name;
    EXPECT_LT(std::abs(sum / count), sigma) << info.name;
  }
  EXPECT_GT(types, 20);
}

TEST(Synth, TheSameSeedGivesTheSameFile) {
  const auto tiny = NamedShape("tiny");
  ASSERT_TRUE(tiny.ok());
  const std::string a = test::ReadFile(Write(*tiny, "q4_k_m", 1));
  EXPECT_EQ(a, test::ReadFile(Write(*tiny, "q4_k_m", 1)));
  EXPECT_NE(a, test::ReadFile(Write(*tiny, "q4_k_m", 2)));
}

TEST(Synth, RunsAndGivesFiniteLogits) {
  for (const char* type : {"q4_k_m", "q8_0", "f16"}) {
    const auto file = GgufFile::Open(Write(*NamedShape("tiny"), type, 3));
    ASSERT_TRUE(file.ok()) << file.status().message();
    const auto spec = ReadModelSpec(*file);
    ASSERT_TRUE(spec.ok()) << spec.status().message();
    EXPECT_TRUE(spec->tied);
    EngineOptions options;
    options.context = 64;
    options.threads = 1;
    auto engine = Engine::Load(*file, *spec, options);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    const auto tokenizer = Tokenizer::Load(*file);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    const std::vector<TokenId> ids = tokenizer->Encode("and the thing\xff");
    EXPECT_EQ(tokenizer->Decode(ids), "and the thing\xff");
    EXPECT_EQ(ids.front(), tokenizer->facts().bos);
    EXPECT_LT(ids.size(), 14u) << "merges";
    std::size_t reused = 0;
    const auto sequence = (*engine)->Open(ids, &reused);
    ASSERT_TRUE(sequence.ok());
    const StepTokens entry{.sequence = *sequence, .tokens = ids};
    double squares = 0;
    const Status status =
        (*engine)->Step({&entry, 1}, [&](std::size_t, std::size_t, std::span<const float> logits) {
          EXPECT_EQ(logits.size(), 512u);
          for (const float logit : logits) squares += double{logit} * logit;
          return Status();
        });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(std::isfinite(squares));
    EXPECT_GT(squares, 0.1);
    EXPECT_LT(squares, 512 * 100.0);
  }
}

TEST(Synth, GeometryIsThatOfTheNamedModels) {
  // Parameter counts of the models' pages: 1.23 B, 8.03 B, 596 M, 134.5 M.
  for (const auto& [name, parameters] : {std::pair("llama-1b", 1235814400ull),
                                         {"llama-8b", 8030261248ull},
                                         {"qwen3-0.6b", 596049920ull},
                                         {"smollm-135m", 134515008ull}}) {
    std::uint64_t values = 0;
    const auto shape = NamedShape(name);
    ASSERT_TRUE(shape.ok());
    for (const SynthTensor& tensor : shape->tensors) {
      values += std::accumulate(tensor.dims.begin(), tensor.dims.end(), std::uint64_t{1},
                                std::multiplies<>());
    }
    EXPECT_EQ(values, parameters) << name;
  }
}

TEST(Synth, TypesFollowTheMixAndTheRowLength) {
  SynthModel model = *NamedShape("smollm-135m");
  ASSERT_TRUE(SetTypes(model, "Q4_K_M").ok());
  const auto type = [&](std::string_view name) {
    for (const SynthTensor& tensor : model.tensors) {
      if (tensor.name == name) return std::string(NameOf(tensor.type));
    }
    return std::string("none");
  };
  // 576 columns are no whole blocks of 256; 1536 are.
  EXPECT_EQ(type("blk.0.attn_q.weight"), "q5_0");
  EXPECT_EQ(type("blk.0.ffn_down.weight"), "q6_k");
  EXPECT_EQ(type("blk.3.ffn_down.weight"), "q4_k");
  EXPECT_EQ(type("token_embd.weight"), "q8_0");
  EXPECT_EQ(type("blk.0.attn_norm.weight"), "f32");
  EXPECT_FALSE(SetTypes(model, "q9").ok());
  EXPECT_FALSE(SetTypes(model, "i32").ok());
}

TEST(Synth, CopiesTheShapeOfAFileAndCutsLayers) {
  const auto source = GgufFile::Open(Write(*NamedShape("tiny"), "q8_0", 1));
  ASSERT_TRUE(source.ok());
  auto model = ShapeOf(*source);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->layers, 2);
  EXPECT_FALSE(CutLayers(*model, 3).ok());
  ASSERT_TRUE(CutLayers(*model, 1).ok());
  const auto copy = GgufFile::Open(Write(*model, "as-is", 1));
  ASSERT_TRUE(copy.ok()) << copy.status().message();
  const auto spec = ReadModelSpec(*copy);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->layers.size(), 1u);
  EXPECT_EQ(copy->FindTensor("blk.0.ffn_up.weight")->type, DType::kQ8_0);
}

TEST(Synth, LeavesNothingBehindWhenItFails) {
  const std::string folder = test::TempDir();
  SynthModel model = *NamedShape("tiny");
  std::atomic<bool> cancel = true;
  const auto stopped = WriteSynth(
      model, {.path = folder + "/m.gguf", .seed = 1, .cancel = &cancel, .progress = nullptr});
  EXPECT_EQ(stopped.status().code(), Code::kInterrupted);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  SynthModel huge = model;
  huge.tensors.push_back({"huge.weight", {256, std::uint64_t{1} << 44}, DType::kF32});
  const auto refused = WriteSynth(
      huge, {.path = folder + "/m.gguf", .seed = 1, .cancel = nullptr, .progress = nullptr});
  EXPECT_EQ(refused.status().code(), Code::kNoMemory) << refused.status().message();
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_FALSE(WriteWhole(folder, "x").ok());
  EXPECT_FALSE(WriteWhole(folder + "/none/x", "x").ok());
}

}  // namespace
}  // namespace vt
