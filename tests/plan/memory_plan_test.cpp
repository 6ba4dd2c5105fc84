#include "plan/memory_plan.h"

#include <gtest/gtest.h>

#include "support/test_files.h"

namespace vt {
namespace {

struct Opened {
  GgufFile file;
  ModelSpec spec;
};

Opened Open(const char* name) {
  Result<GgufFile> file = GgufFile::Open(test::TinyPath(name));
  EXPECT_TRUE(file.ok()) << file.status().message();
  Result<ModelSpec> spec = ReadModelSpec(*file);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return {std::move(*file), std::move(*spec)};
}

DeviceInfo Device(std::uint64_t available) {
  DeviceInfo device;
  device.id = "cpu";
  device.cores = 2;
  device.memory_available = {available, "a test"};
  return device;
}

EnginePlan Plan(const Opened& model, const EngineOptions& options) {
  Result<EnginePlan> plan = MakePlan(model.file, model.spec, options, {Device(1u << 30)});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return std::move(*plan);
}

TEST(MemoryPlan, KvIsPagesTimesCellsOfEveryLayer) {
  const Opened model = Open("llama-dense.gguf");  // 2 layers, 2 key heads of 16
  EngineOptions options;
  options.context = 200;  // 4 pages of 64
  options.sequences = 3;
  options.kv_type = DType::kF16;
  EXPECT_EQ(Plan(model, options).RowBytes("kv.full"), 2u * 2 * (4 * 64 * 3) * (2 * 16) * 2);
  options.kv_type = DType::kF32;
  EXPECT_EQ(Plan(model, options).RowBytes("kv.full"), 2u * 2 * (4 * 64 * 3) * (2 * 16) * 4);
}

TEST(MemoryPlan, WindowedLayersStopGrowingWithTheContext) {
  const Opened model = Open("gemma3-dense.gguf");  // layer 0 sees 32 positions, layer 1 all
  EngineOptions options;
  options.ubatch = 16;
  std::uint64_t before = 0;
  std::uint64_t step = 0;
  for (const std::uint64_t context : {1024u, 2048u, 3072u}) {
    options.context = context;
    const EnginePlan plan = Plan(model, options);
    ASSERT_EQ(plan.groups.size(), 2u);
    EXPECT_EQ(plan.groups[0].window, 32);
    EXPECT_EQ(plan.groups[0].pages, 3);  // the window, cut by a page's end; a step's tokens
    EXPECT_EQ(plan.groups[1].pages, static_cast<std::int64_t>(context / 64));
    if (step != 0) {
      EXPECT_EQ(plan.RowBytes("kv.full") - before, step);
    }
    EXPECT_EQ(plan.RowBytes("kv.window"), 3u * 64 * 2 * (2 * 16) * 2);
    step = before != 0 ? plan.RowBytes("kv.full") - before : 0;
    before = plan.RowBytes("kv.full");
  }
}

TEST(MemoryPlan, UbatchRaisesActivationsAndLogitRowsRaiseLogits) {
  const Opened model = Open("qwen2-dense.gguf");
  EngineOptions options;
  options.context = 4096;
  options.ubatch = 64;
  const EnginePlan small = Plan(model, options);
  options.ubatch = 128;
  const EnginePlan large = Plan(model, options);
  EXPECT_GT(large.RowBytes("activations"), small.RowBytes("activations") * 19 / 10);
  EXPECT_EQ(large.RowBytes("logits"), small.RowBytes("logits"));
  options.logit_rows = 64;
  EXPECT_GE(Plan(model, options).RowBytes("logits"), 64u * 128 * 4);
}

TEST(MemoryPlan, RefusesWithTheRowThatDoesNotFit) {
  const Opened model = Open("llama-dense.gguf");
  EngineOptions options;
  options.context = 1u << 20;
  const EnginePlan plan = Plan(model, options);
  const Status status = CheckFits(plan, Device(1u << 20));
  EXPECT_EQ(status.code(), Code::kNoMemory);
  EXPECT_NE(status.message().find("\"kv.full\""), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(std::to_string(plan.RowBytes("kv.full"))), std::string::npos)
      << status.message();
  DeviceInfo unknown = Device(0);
  unknown.memory_available = {};
  EXPECT_TRUE(CheckFits(plan, unknown).ok());
  EXPECT_TRUE(CheckFits(plan, Device(1ull << 40)).ok());
}

TEST(MemoryPlan, RefusesOptionsOutOfRange) {
  const Opened model = Open("gpt2-dense.gguf");
  const auto refused = [&](auto set, const char* words) {
    EngineOptions options;
    options.context = 256;
    set(options);
    const Result<EnginePlan> plan = MakePlan(model.file, model.spec, options, {Device(1u << 30)});
    ASSERT_FALSE(plan.ok()) << words;
    EXPECT_NE(plan.status().message().find(words), std::string::npos) << plan.status().message();
  };
  refused([](EngineOptions& o) { o.context = 0; }, "context");
  refused([](EngineOptions& o) { o.context = 257; },
          "256 positions");  // learned positions end there
  refused([](EngineOptions& o) { o.sequences = 0; }, "sequences");
  refused([](EngineOptions& o) { o.ubatch = -1; }, "ubatch");
  refused([](EngineOptions& o) { o.threads = -2; }, "threads");
  refused([](EngineOptions& o) { o.kv_type = DType::kQ8_0; }, "q8_0");  // heads of 16
}

}  // namespace
}  // namespace vt
