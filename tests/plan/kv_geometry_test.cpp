// Bytes of the KV cache for models of real geometry, against figures that others published: what a
// user's report gave as right, or as the wrong answer of some estimator.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "plan/memory_plan.h"
#include "support/header_models.h"

namespace vt {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

struct Model {
  explicit Model(std::string_view name) : Model(test::HeaderOf(name)) {}
  explicit Model(const test::ModelHeader& header) : file(header.Open()) {
    Result<ModelSpec> read = ReadModelSpec(file);
    EXPECT_TRUE(read.ok()) << read.status().message();
    if (read.ok()) spec = std::move(*read);
  }
  GgufFile file;
  ModelSpec spec;
};

EngineOptions At(std::uint64_t context, std::int64_t ubatch = 512, std::int64_t sequences = 1) {
  EngineOptions options;
  options.context = context;
  options.ubatch = ubatch;
  options.sequences = sequences;
  options.kv_type = DType::kF16;
  return options;
}

EnginePlan Plan(const Model& model, const EngineOptions& options) {
  DeviceInfo device;
  device.id = "cpu";
  device.cores = 2;
  Result<EnginePlan> plan = MakePlan(model.file, model.spec, options, {device});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? std::move(*plan) : EnginePlan();
}

// What of the cache grows with tokens.
std::uint64_t CellBytes(const EnginePlan& plan) {
  return plan.RowBytes("kv.full") + plan.RowBytes("kv.window") + plan.RowBytes("kv.latent") +
         plan.RowBytes("kv.indexer");
}

std::uint64_t AllBytes(const EnginePlan& plan) {
  std::uint64_t bytes = 0;
  for (const MemoryRow& row : plan.rows) bytes += row.predicted_bytes;
  return bytes;
}

double GiB(std::uint64_t bytes) { return static_cast<double>(bytes) / (1u << 30); }

// Positions of one windowed layer.
std::int64_t WindowCells(const EnginePlan& plan) {
  for (const KvGroup& group : plan.groups) {
    if (group.window > 0) return group.pages * kPageCells;
  }
  return 0;
}

// llama.cpp's for one stream: window and ubatch, in steps of 256.
std::int64_t PublishedWindowCells(std::int64_t window, std::int64_t ubatch) {
  return (window + ubatch + 255) / 256 * 256;
}

// ollama PR #16958: 0.40, 0.48, 0.99 and 3.00 GB; it had estimated 56.4 GB for the last, with all
// layers taken for full ones.
TEST(KvGeometry, Gemma4ChargesWindowedLayersForTheirWindow) {
  const Model model("gemma-4-26b");
  const struct {
    std::uint64_t context, full_mib, all_mib;
  } kPublished[] = {{4096, 80, 380}, {8192, 160, 460}, {32768, 640, 940}, {131072, 2560, 2860}};
  for (const auto& [context, full_mib, all_mib] : kPublished) {
    SCOPED_TRACE(context);
    const EnginePlan plan = Plan(model, At(context));
    EXPECT_EQ(plan.RowBytes("kv.full"), full_mib * kMiB);
    EXPECT_EQ(CellBytes(plan), all_mib * kMiB);
  }
}

// gpustack/gguf-parser-go#32: 6.00 GiB was the wrong answer.
TEST(KvGeometry, GptOss20bHasHalfOfItsLayersFull) {
  const EnginePlan plan = Plan(Model("gpt-oss-20b"), At(131072));
  EXPECT_EQ(plan.RowBytes("kv.full"), 3072 * kMiB);
  // 18 MiB are 768 positions: 128 and 512, and what llama.cpp rounds up.
  EXPECT_LE(plan.RowBytes("kv.window"), 18 * kMiB);
  EXPECT_GE(plan.RowBytes("kv.window"), 12u * 2048 * (128 + 512));
}

// alvarobartt/hf-mem#60: vLLM's log has 73,728 bytes for each token of gpt-oss-120b; 36,864 were
// too few, for windowed layers hold tokens too.
TEST(KvGeometry, GptOss120bHoldsATokenInAllLayersAndGrowsInHalf) {
  const Model model("gpt-oss-120b");
  const EnginePlan one = Plan(model, At(1, 1));
  EXPECT_EQ(CellBytes(one) / kPageCells, 73728u);
  EXPECT_EQ(CellBytes(one) % kPageCells, 0u);
  const EnginePlan short_one = Plan(model, At(4096));
  const EnginePlan long_one = Plan(model, At(8192));
  EXPECT_EQ(CellBytes(long_one) - CellBytes(short_one), 4096u * 36864);
}

// 17.18 GiB was the answer with the block that predicts ahead.
TEST(KvGeometry, Glm5HoldsLatentRowsOf78Layers) {
  const EnginePlan plan = Plan(Model("glm-5"), At(202752));
  EXPECT_NEAR(GiB(plan.RowBytes("kv.latent")), 16.97, 0.005);
  EXPECT_EQ(plan.RowBytes("kv.latent"), 202752ull * 78 * (512 + 64) * 2);
  EXPECT_EQ(plan.RowBytes("kv.indexer"), 202752ull * 78 * 128 * 2);
  EXPECT_EQ(plan.RowBytes("kv.full"), 0u);
  EXPECT_EQ(plan.RowBytes("kv.window"), 0u);
}

// ik_llama.cpp PR #2093, llama.cpp PR #26474: 672 MiB; about 2.5 GiB with all 78 layers, whose
// tensors the file has.
TEST(KvGeometry, Glm52HoldsIndexerKeysOfTheLayersThatOwnThem) {
  for (const char* name : {"glm-5.2", "glm-5.3"}) {
    SCOPED_TRACE(name);
    const EnginePlan plan = Plan(Model(name), At(131072));
    EXPECT_EQ(plan.RowBytes("kv.indexer"), 672 * kMiB);
    EXPECT_EQ(CellBytes(plan), 131072ull * 95232);
  }
  EXPECT_EQ(Plan(Model("glm-5"), At(131072)).RowBytes("kv.indexer"), 2496 * kMiB);
}

// gpustack/gguf-parser-go#8: 321 GiB more for 64k of DeepSeek-V3 than for one token.
TEST(KvGeometry, DeepSeekV3SaysByItsRowWhichCacheItHas) {
  const EnginePlan latent = Plan(Model("deepseek-v3"), At(65536));
  EXPECT_NEAR(GiB(latent.RowBytes("kv.latent")), 4.29, 0.005);
  EXPECT_EQ(CellBytes(latent), latent.RowBytes("kv.latent"));
  // An older file, whose cache holds what the heads read: 128 heads, keys of 192, values of 128.
  const EnginePlan expanded = Plan(Model("deepseek-v3-expanded"), At(65536));
  EXPECT_EQ(expanded.RowBytes("kv.full"), 65536ull * 61 * 128 * (192 + 128) * 2);
  EXPECT_EQ(CellBytes(expanded), expanded.RowBytes("kv.full"));
}

// tobocop2/lilbee PR #721: LFM2 was read as having no KV, its key heads being an array.
TEST(KvGeometry, Lfm2HasKeysInItsAttentionLayersAlone) {
  const Model model("lfm2-350m");
  const EnginePlan plan = Plan(model, At(32768));
  EXPECT_EQ(CellBytes(plan), 32768u * 6 * (8 * 64 * 2) * 2);
  ASSERT_EQ(plan.kv.size(), 16u);
  for (const int layer : {2, 5, 8, 10, 12, 14}) {
    EXPECT_GE(plan.kv[static_cast<std::size_t>(layer)].group, 0) << layer;
  }
  // Ten convolutions remember two positions of 1024 channels.
  EXPECT_EQ(plan.RowBytes("kv.state"), 10u * 2 * 1024 * 4);
}

// The same: Qwen3.6-27B Q4_K_M at 65,536 tokens of q8_0 takes 17.6 GiB; 24.83 had been estimated.
TEST(KvGeometry, Qwen36HasKeysInEveryFourthLayerAndAStateThatContextDoesNotChange) {
  const Model model("qwen3.6-27b");
  EngineOptions options = At(65536);
  options.kv_type = DType::kQ8_0;
  const EnginePlan plan = Plan(model, options);
  EXPECT_EQ(CellBytes(plan), 2176 * kMiB);
  // 48 layers: 10,240 channels of 3 positions, 48 heads of 128 x 128.
  const std::uint64_t state = 48u * (3 * 10240 + 48 * 128 * 128) * 4;
  EXPECT_EQ(plan.RowBytes("kv.state"), state);
  EXPECT_NEAR(GiB(model.file.total_bytes() + CellBytes(plan) + state), 17.6, 0.2);
  EXPECT_EQ(Plan(model, At(262144)).RowBytes("kv.state"), state);
  EXPECT_EQ(Plan(model, At(4096, 512, 5)).RowBytes("kv.state"), 5 * state);
}

TEST(KvGeometry, LayersThatReadOthersKeysCostNothing) {
  test::ModelHeader header = test::HeaderOf("gemma-4-26b");
  header.Count("attention.shared_kv_layers", 6);  // five windowed ones and a full one
  const EnginePlan plan = Plan(Model(header), At(131072));
  const EnginePlan all = Plan(Model("gemma-4-26b"), At(131072));
  EXPECT_EQ(plan.RowBytes("kv.full") * 5, all.RowBytes("kv.full") * 4);
  EXPECT_EQ(plan.RowBytes("kv.window") * 5, all.RowBytes("kv.window") * 4);
}

TEST(KvGeometry, WhichLayersAreWindowedIsReadFromTheFile) {
  test::ModelHeader header = test::HeaderOf("gpt-oss-20b");
  header.Count("attention.sliding_window_pattern", 4);
  EXPECT_EQ(Plan(Model(header), At(131072)).RowBytes("kv.full"), 131072ull * 6 * 2048);
  std::vector<bool> windowed(24, false);
  windowed[3] = true;
  header.Flags("attention.sliding_window_pattern", windowed);
  EXPECT_EQ(Plan(Model(header), At(131072)).RowBytes("kv.full"), 131072ull * 23 * 2048);
}

// With windows that are not the ubatch, and sequences that share the pages of one pool: never fewer
// positions than the sequences' windows and a step's new tokens, never more than llama.cpp with a
// stream for each.
TEST(KvGeometry, WindowsHoldWhatTheySeeAndAStep) {
  for (const std::uint32_t window : {128u, 512u, 1024u, 4096u}) {
    test::ModelHeader header = test::HeaderOf("gpt-oss-20b");
    header.Count("attention.sliding_window", window);
    const Model model(header);
    for (const std::int64_t ubatch : {1, 64, 128, 512, 2048}) {
      for (const std::int64_t sequences : {1, 2, 4, 16}) {
        SCOPED_TRACE("window " + std::to_string(window) + ", ubatch " + std::to_string(ubatch) +
                     ", sequences " + std::to_string(sequences));
        const EnginePlan plan = Plan(model, At(131072, ubatch, sequences));
        const std::int64_t cells = WindowCells(plan);
        const std::int64_t step = std::max(ubatch, sequences);
        EXPECT_GE(cells, sequences * (window - 1) + step);
        EXPECT_LE(cells, sequences * PublishedWindowCells(window, ubatch));
      }
    }
  }
}

TEST(KvGeometry, AWindowNeverHoldsMoreThanTheContext) {
  const EnginePlan plan = Plan(Model("gemma-4-26b"), At(512, 512, 3));
  EXPECT_EQ(WindowCells(plan), 3 * 512);
}

TEST(KvGeometry, BytesGrowWithContextSequencesAndUbatchAndStayInReason) {
  for (const std::string_view name : test::HeaderModelNames()) {
    if (name == "unknown-arch") continue;
    SCOPED_TRACE(name);
    const Model model(name);
    const EngineOptions grid[][5] = {
        {At(1), At(100), At(4096), At(4097), At(131072)},
        {At(4096, 512, 1), At(4096, 512, 2), At(4096, 512, 3), At(4096, 512, 16),
         At(4096, 512, 64)},
        {At(4096, 1), At(4096, 63), At(4096, 64), At(4096, 512), At(4096, 2048)},
    };
    for (const auto& line : grid) {
      std::uint64_t before = 0;
      for (const EngineOptions& options : line) {
        const std::uint64_t bytes = AllBytes(Plan(model, options));
        EXPECT_GE(bytes, before) << options.context << " " << options.sequences << " "
                                 << options.ubatch;
        EXPECT_LT(bytes, std::uint64_t{1} << 50);
        before = bytes;
      }
    }
  }
}

}  // namespace
}  // namespace vt
