// What is planned is what is allocated, for every small model.
#include <gtest/gtest.h>

#include "support/model_run.h"
#include "support/test_files.h"
#include "support/tiny_models.h"

namespace vt {
namespace {

TEST(MemoryRows, PredictedIsAllocatedForEveryModel) {
  std::size_t rows = 0;
  for (const char* name : test::kTinyModels) {
    for (const DType kv_type : {DType::kF16, DType::kF32}) {
      for (const std::int64_t sequences : {1, 3}) {
        EngineOptions options;
        options.context = 100;
        options.sequences = sequences;
        options.ubatch = 40;
        options.kv_type = kv_type;
        options.threads = 1;
        const test::LoadedModel model =
            test::LoadModel(test::TinyPath(std::string(name) + ".gguf"), options);
        ASSERT_TRUE(model.engine) << name;
        for (const MemoryRow& row : model.engine->Memory()) {
          EXPECT_EQ(row.predicted_bytes, row.allocated_bytes) << name << " " << row.row;
          ++rows;
        }
      }
    }
  }
  EXPECT_GE(rows, std::size(test::kTinyModels) * 4 * 5);
}

std::uint64_t RowBytes(const char* name, const char* wanted, std::uint64_t context) {
  const Result<GgufFile> file = GgufFile::Open(test::TinyPath(std::string(name) + ".gguf"));
  EXPECT_TRUE(file.ok()) << file.status().message();
  if (!file.ok()) return 0;
  const Result<ModelSpec> spec = ReadModelSpec(*file);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  if (!spec.ok()) return 0;
  EngineOptions options;
  options.context = context;
  options.kv_type = DType::kF16;
  const auto rows = PlanMemory(*file, *spec, options);
  EXPECT_TRUE(rows.ok()) << rows.status().message();
  if (!rows.ok()) return 0;
  std::uint64_t bytes = 0;
  for (const MemoryRow& row : *rows) {
    if (row.row.starts_with(wanted)) bytes += row.predicted_bytes;
  }
  return bytes;
}

// A latent of 32 values and 16 rotated ones for each of 2 layers; an indexer's key of 64 beside it.
TEST(MemoryRows, LatentLayersKeepOneRowAPosition) {
  EXPECT_EQ(RowBytes("deepseek2-moe", "kv", 128), 128u * 2 * (32 + 16) * 2);
  EXPECT_EQ(RowBytes("glm-dsa-moe", "kv.latent", 128), 128u * 2 * (32 + 16) * 2);
  EXPECT_EQ(RowBytes("glm-dsa-moe", "kv.indexer", 128), 128u * 2 * 64 * 2);
}

// Layers 6 and 7 of 8 read the keys of layers 4 and 5; those that see 8 positions keep 2 pages.
TEST(MemoryRows, ATailThatSharesKeysCostsNothing) {
  const std::uint64_t full = 2 * (2 * 1 * 32) * 2;      // two layers, keys and values, f16
  const std::uint64_t windowed = 4 * (2 * 2 * 16) * 2;  // four layers
  EXPECT_EQ(RowBytes("gemma4-e4b", "kv.full", 6400), 6400 * full);
  EXPECT_EQ(RowBytes("gemma4-e4b", "kv.window", 6400), (2 + 512 / 64 - 1) * 64 * windowed);
}

TEST(MemoryRows, RecurrentStateDoesNotGrowWithTheContext) {
  for (const char* name : {"mamba2-dense", "qwen3next-moe", "lfm2-dense"}) {
    const std::uint64_t state = RowBytes(name, "kv.state", 128);
    EXPECT_GT(state, 0u) << name;
    EXPECT_EQ(RowBytes(name, "kv.state", 4096), state) << name;
  }
  EXPECT_EQ(RowBytes("mamba2-dense", "kv.full", 4096), 0u);
  EXPECT_GT(RowBytes("lfm2-dense", "kv.", 4096), RowBytes("lfm2-dense", "kv.", 128));
}

}  // namespace
}  // namespace vt
