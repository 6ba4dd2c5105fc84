#include "vt/engine.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/model_run.h"
#include "support/test_files.h"

namespace vt {
namespace {

EngineOptions Small() {
  EngineOptions options;
  options.context = 128;
  options.threads = 2;
  return options;
}

TEST(Engine, AllocatesWhatWasPredictedRowByRow) {
  for (const char* name :
       {"llama-dense.gguf", "gemma3-dense.gguf", "gpt2-dense.gguf", "phi3-dense.gguf"}) {
    for (const DType kv : {DType::kF32, DType::kF16, DType::kBF16}) {
      EngineOptions options = Small();
      options.kv_type = kv;
      options.sequences = 3;
      options.ubatch = 40;
      const Result<GgufFile> file = GgufFile::Open(test::TinyPath(name));
      ASSERT_TRUE(file.ok());
      const auto planned = PlanMemory(*file, *ReadModelSpec(*file), options);
      ASSERT_TRUE(planned.ok());
      test::LoadedModel model = test::LoadModel(test::TinyPath(name), options);
      ASSERT_TRUE(model.engine);
      const std::vector<MemoryRow> rows = model.engine->Memory();
      ASSERT_EQ(rows.size(), planned->size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].row, (*planned)[i].row);
        EXPECT_EQ(rows[i].predicted_bytes, (*planned)[i].predicted_bytes)
            << name << " " << rows[i].row;
        EXPECT_EQ(rows[i].allocated_bytes, rows[i].predicted_bytes) << name << " " << rows[i].row;
      }
    }
  }
}

TEST(Engine, RefusesWhatNoKernelMayRun) {
  const Result<GgufFile> file = GgufFile::Open(test::TinyPath("llama-dense.gguf"));
  ASSERT_TRUE(file.ok());
  const Result<ModelSpec> spec = ReadModelSpec(*file);
  EngineOptions options = Small();
  options.isa = "scalar";
  options.lowest_tier = "native";
  const auto refused = Engine::Load(*file, *spec, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kUnsupported);
  EXPECT_NE(refused.status().message().find("tier reference is below"), std::string::npos)
      << refused.status().message();

  options = Small();
  options.forced_kernels = {{"matmul", "cpu.nosuch"}};
  EXPECT_EQ(Engine::Load(*file, *spec, options).status().code(), Code::kInvalid);
  options.forced_kernels = {{"nosuch", "cpu.scalar.f32"}};
  EXPECT_EQ(Engine::Load(*file, *spec, options).status().code(), Code::kInvalid);
}

TEST(Engine, StepChecksItsTokens) {
  test::LoadedModel model = test::LoadModel(test::TinyPath("llama-dense.gguf"), Small());
  ASSERT_TRUE(model.engine);
  const Result<SequenceId> sequence = model.engine->Open({}, nullptr);
  ASSERT_TRUE(sequence.ok());
  const auto step = [&](std::vector<TokenId> tokens) {
    StepTokens entry;
    entry.sequence = *sequence;
    entry.tokens = tokens;
    return model.engine->Step({&entry, 1}, [](auto, auto, auto) { return Status(); });
  };
  EXPECT_EQ(step({128}).code(), Code::kInvalid);  // the vocabulary has 128 ids
  EXPECT_EQ(step({-1}).code(), Code::kInvalid);
  EXPECT_TRUE(step(std::vector<TokenId>(128, 1)).ok());
  const Status full = step({1});
  EXPECT_EQ(full.code(), Code::kInvalid);
  EXPECT_NE(full.message().find("129"), std::string::npos) << full.message();
}

TEST(Engine, CountsLaunchesByKernel) {
  test::LoadedModel model = test::LoadModel(test::TinyPath("llama-dense.gguf"), Small());
  ASSERT_TRUE(model.engine);
  test::PromptLogits(*model.engine, {1, 2, 3}, 3);
  std::uint64_t matmuls = 0;
  for (const KernelLaunches& row : model.engine->Launches()) {
    EXPECT_EQ(row.device, "cpu");
    if (row.op == "matmul") matmuls += row.launches;
  }
  // Seven a layer; the logits of three rows come one row at a time.
  EXPECT_EQ(matmuls, 2u * 7 + 3);
}

TEST(Engine, CheckNamesTheFirstOpThatMakesANan) {
  const std::string path = test::TempDir() + "/nan.gguf";
  const std::string source = test::TinyPath("llama-dense.gguf");
  std::filesystem::copy_file(source, path);
  Result<GgufFile> original = GgufFile::Open(source);
  ASSERT_TRUE(original.ok());
  const GgufTensor* tensor = original->FindTensor("blk.1.ffn_up.weight");
  ASSERT_TRUE(tensor);
  FILE* file = std::fopen(path.c_str(), "r+b");
  ASSERT_TRUE(file);
  std::fseek(file, static_cast<long>(tensor->offset), SEEK_SET);
  const std::uint32_t nan = 0x7fc00000;
  ASSERT_EQ(std::fwrite(&nan, 4, 1, file), 1u);
  std::fclose(file);

  EngineOptions options = Small();
  options.check = true;
  test::LoadedModel model = test::LoadModel(path, options);
  ASSERT_TRUE(model.engine);
  const Result<SequenceId> sequence = model.engine->Open({}, nullptr);
  StepTokens entry;
  entry.sequence = *sequence;
  const std::vector<TokenId> tokens = {3, 4};
  entry.tokens = tokens;
  const Status status = model.engine->Step({&entry, 1}, [](auto, auto, auto) { return Status(); });
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("op matmul at blk.1.ffn_up"), std::string::npos)
      << status.message();
}

TEST(Engine, CancelStopsLoadAndStep) {
  const Result<GgufFile> file = GgufFile::Open(test::TinyPath("llama-dense.gguf"));
  ASSERT_TRUE(file.ok());
  std::atomic<bool> cancel{true};
  LoadControl control;
  control.cancel = &cancel;
  EXPECT_EQ(Engine::Load(*file, *ReadModelSpec(*file), Small(), control).status().code(),
            Code::kInterrupted);
  cancel = false;
  auto engine = Engine::Load(*file, *ReadModelSpec(*file), Small(), control);
  ASSERT_TRUE(engine.ok());
  cancel = true;
  const Result<SequenceId> sequence = (*engine)->Open({}, nullptr);
  StepTokens entry;
  entry.sequence = *sequence;
  const std::vector<TokenId> tokens = {3, 4};
  entry.tokens = tokens;
  EXPECT_EQ((*engine)->Step({&entry, 1}, [](auto, auto, auto) { return Status(); }).code(),
            Code::kInterrupted);
}

}  // namespace
}  // namespace vt
