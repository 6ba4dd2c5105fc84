// A whole model on the simulated device: what it allocates, what it refuses and before what, and
// the same tokens as on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "support/golden.h"
#include "support/model_run.h"
#include "support/test_files.h"

namespace vt {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

DeviceInfo SimOf(std::uint64_t total_bytes) {
  DeviceInfo sim;
  sim.id = "sim:0";
  sim.kind = DeviceKind::kSim;
  sim.name = "a simulated device";
  sim.memory_total = {total_bytes, "a test"};
  sim.sim.emplace();
  return sim;
}

EngineOptions OnSim(DeviceInfo sim) {
  EngineOptions options;
  options.device = "sim:0";
  options.sims = {std::move(sim)};
  options.context = 128;
  options.threads = 2;
  options.ubatch = 16;
  options.kv_type = DType::kF32;
  return options;
}

// The refusal of a load, from the layer's public entry.
Status Refusal(const EngineOptions& options, const char* name = "llama-dense.gguf") {
  const Result<GgufFile> file = GgufFile::Open(test::TinyPath(name));
  EXPECT_TRUE(file.ok());
  const auto engine = Engine::Load(*file, *ReadModelSpec(*file), options);
  EXPECT_FALSE(engine.ok());
  return engine.status();
}

TEST(Sim, TinyModelsMatchSomebodyElsesLogits) {
  for (const std::string name : {"llama-dense", "gemma3-dense", "qwen3-dense", "gpt2-dense"}) {
    EngineOptions options = OnSim(SimOf(256 * kMib));
    options.context = 256;
    options.logit_rows = 16;
    test::LoadedModel model = test::LoadModel(test::TinyPath(name + ".gguf"), options);
    ASSERT_TRUE(model.engine) << name;
    const auto cases = test::ReadGolden(test::TinyPath(name + ".json"));
    for (const test::GoldenCase& golden : cases) {
      const test::LogitTable rows = test::PromptLogits(*model.engine, golden.prompt, 7);
      ASSERT_EQ(rows.size(), golden.dense.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        ASSERT_LE(test::Nmse(rows[i], golden.dense[i]), 1e-6) << name << " position " << i;
      }
    }
    std::map<std::string, std::uint64_t> launches;
    for (const KernelLaunches& row : model.engine->Launches()) {
      EXPECT_EQ(row.device, "sim:0");
      EXPECT_TRUE(row.kernel.starts_with("sim.")) << row.kernel;
      launches[row.tier] += row.launches;
    }
    EXPECT_GT(launches["native"], 0u) << name;
    EXPECT_GT(launches["reference"], 0u) << name;
  }
}

TEST(Sim, AllocatesWhatWasPredictedRowByRow) {
  const EngineOptions options = OnSim(SimOf(256 * kMib));
  const Result<GgufFile> file = GgufFile::Open(test::TinyPath("gemma3-dense.gguf"));
  ASSERT_TRUE(file.ok());
  const auto planned = PlanMemory(*file, *ReadModelSpec(*file), options);
  ASSERT_TRUE(planned.ok());
  test::LoadedModel model = test::LoadModel(test::TinyPath("gemma3-dense.gguf"), options);
  ASSERT_TRUE(model.engine);
  const std::vector<MemoryRow> rows = model.engine->Memory();
  ASSERT_EQ(rows.size(), planned->size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].device, "sim:0");
    EXPECT_EQ(rows[i].predicted_bytes, (*planned)[i].predicted_bytes) << rows[i].row;
    EXPECT_EQ(rows[i].allocated_bytes, rows[i].predicted_bytes) << rows[i].row;
  }
  EXPECT_EQ(rows[0].row, "weights.kept");
  EXPECT_GT(rows[0].allocated_bytes, 0u);
}

TEST(Sim, SmolLm2AnswersWithItsMissingOpsCounted) {
  const auto path = test::ModelPath("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!path) VT_NOT_RUN("SmolLM2-135M-Instruct.Q4_1.gguf");
  EngineOptions options = OnSim(SimOf(512 * kMib));
  options.context = 64;
  options.kv_type = DType::kF16;
  const std::vector<TokenId> prompt = {504, 3575, 282, 4649, 314};  // "The capital of France is"
  EngineOptions exact = options;
  exact.device = "cpu";
  exact.sims.clear();
  exact.exact = true;
  test::LoadedModel cpu = test::LoadModel(*path, exact);
  ASSERT_TRUE(cpu.engine);
  const test::Greedy want = test::RunGreedy(*cpu.engine, prompt, 3);
  test::LoadedModel model = test::LoadModel(*path, options);
  ASSERT_TRUE(model.engine);
  const test::Greedy got = test::RunGreedy(*model.engine, prompt, 3);
  EXPECT_EQ(got.tokens, want.tokens);
  std::map<std::string, std::map<std::string, std::uint64_t>> launches;  // tier -> op
  for (const KernelLaunches& row : model.engine->Launches()) {
    launches[row.tier][row.op] += row.launches;
  }
  EXPECT_GT(launches["native"]["rms_norm"], 0u);
  EXPECT_GT(launches["native"]["silu_mul"], 0u);
  // Matrices are q4_1, which the device's kernels do not take: 7 a layer, 30 layers, 3 steps.
  EXPECT_EQ(launches["reference"]["matmul"], 7u * 30 * 3 + (launches["native"]["matmul"] ? 0 : 3));
  EXPECT_EQ(launches["reference"]["attention"], 30u * 3);
}

TEST(Sim, TooSmallIsRefusedBeforeAnythingIsAllocated) {
  const Status status = Refusal(OnSim(SimOf(64 * 1024)));
  EXPECT_EQ(status.code(), Code::kNoMemory);
  EXPECT_TRUE(status.message().starts_with("memory row \"weights.kept\" on device sim:0: needs "))
      << status.message();
}

// A device that says less is free than there is: it is believed.
TEST(Sim, WrongFreeAnswerIsBelieved) {
  DeviceInfo sim = SimOf(256 * kMib);
  sim.sim->free_wrong_bytes = 4096;
  EXPECT_EQ(Refusal(OnSim(sim)).code(), Code::kNoMemory);
  // One that says more than it has is held to what it has.
  sim = SimOf(64 * 1024);
  sim.sim->free_wrong_bytes = 256 * kMib;
  EXPECT_EQ(Refusal(OnSim(sim)).code(), Code::kNoMemory);
}

// With no memory fact at all nothing can be refused before; the allocation itself must end well.
TEST(Sim, FailingAllocationNamesItsRow) {
  for (const std::uint64_t at :
       {std::uint64_t{1}, std::uint64_t{100'000}, std::uint64_t{300'000}}) {
    DeviceInfo sim = SimOf(0);
    sim.memory_total = {};
    sim.sim->free_known = false;
    sim.sim->fail_at_byte = at;
    const Status status = Refusal(OnSim(sim));
    EXPECT_EQ(status.code(), Code::kNoMemory) << at;
    EXPECT_TRUE(status.message().starts_with("memory row \"")) << status.message();
    EXPECT_NE(status.message().find("device sim:0: cannot allocate "), std::string::npos)
        << status.message();
    EXPECT_NE(status.message().find("(its profile says so)"), std::string::npos);
  }
}

TEST(Sim, UnknownFreeMemoryIsNoRefusal) {
  DeviceInfo sim = SimOf(256 * kMib);
  sim.memory_total = {};
  sim.sim->free_known = false;
  test::LoadedModel model = test::LoadModel(test::TinyPath("llama-dense.gguf"), OnSim(sim));
  EXPECT_TRUE(model.engine);
}

// The op exists, the device does not answer.
TEST(Sim, ProbeThatDoesNotAnswer) {
  DeviceInfo sim = SimOf(256 * kMib);
  sim.sim->probe_answers = false;
  const Status status = Refusal(OnSim(sim));
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_TRUE(status.message().starts_with("device \"sim:0\": not present (found: cpu"))
      << status.message();
  EXPECT_NE(status.message().find("probe does not answer"), std::string::npos) << status.message();
}

// The device answers, an op is missing.
TEST(Sim, MissingOpIsNamedWithItsPlace) {
  DeviceInfo sim = SimOf(256 * kMib);
  sim.lacks_ops = {"softmax"};  // not asked for by this model
  EXPECT_TRUE(test::LoadModel(test::TinyPath("llama-dense.gguf"), OnSim(sim)).engine);
  sim.lacks_ops = {"silu_mul"};
  const Status status = Refusal(OnSim(sim));
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_TRUE(status.message().starts_with("blk.0.ffn_act: op silu_mul on device sim:0: "))
      << status.message();
  EXPECT_NE(status.message().find("sim:0 lacks op silu_mul (its profile says so)"),
            std::string::npos)
      << status.message();
}

TEST(Sim, TierRefusesBeforeTheLoad) {
  EngineOptions options = OnSim(SimOf(256 * kMib));
  options.lowest_tier = "composed";
  const Status status = Refusal(options);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("allow it with --tier reference"), std::string::npos)
      << status.message();
}

TEST(Sim, InstructionSetsAreForTheCpu) {
  EngineOptions options = OnSim(SimOf(256 * kMib));
  options.isa = "scalar";
  EXPECT_EQ(Refusal(options).code(), Code::kInvalid);
}

}  // namespace
}  // namespace vt
