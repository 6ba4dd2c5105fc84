// Runs over several devices: the bits of the run on one, what was planned is what is allocated, and
// what a placement may not ask for.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "models/spec_weights.h"
#include "plan/memory_plan.h"
#include "plan/placement.h"
#include "support/golden.h"
#include "support/model_run.h"
#include "support/sim_run.h"
#include "support/test_files.h"
#include "support/tiny_models.h"

namespace vt {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

using test::kModelStep;
using test::Sim;
using Opened = test::TinyModel;

EngineOptions OnSims(int count) { return test::OnSims(count, 192); }

Opened Open(const std::string& name) { return test::OpenTiny(name); }

// Every part on a device of its own choice, and one matrix in six away from its part.
Placement RandomPlacement(const Opened& model, std::vector<std::string> devices,
                          std::mt19937& random) {
  const int count = static_cast<int>(devices.size());
  const auto pick = [&] { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  Placement placement;
  placement.devices = std::move(devices);
  placement.input = pick();
  placement.output = pick();
  for (const LayerSpec& layer : model.spec.layers) {
    LayerPlacement place{pick(), pick(), pick()};
    if (layer.kv_source >= 0) {
      place.mixer = placement.layers[static_cast<std::size_t>(layer.kv_source)].mixer;
    }
    placement.layers.push_back(place);
  }
  placement.tensors.assign(model.file.tensors().size(), -1);
  VisitWeights(model.spec, [&](int, const char*, WeightUse use, const WeightRef& ref) {
    if (use != WeightUse::kMatrix || random() % 6 != 0) return;
    placement.tensors[static_cast<std::size_t>(ref.tensor)] = pick();
  });
  PlaceTensors(model.file, model.spec, placement);
  return placement;
}

std::vector<TokenId> Prompt(const ModelSpec& spec) {
  std::vector<TokenId> prompt;
  for (int i = 0; i < 26; ++i) {
    prompt.push_back(static_cast<TokenId>((i * 37 + 11) % spec.vocab));
  }
  return prompt;
}

std::size_t FirstDifference(const test::LogitTable& a, const test::LogitTable& b) {
  std::size_t row = 0;
  while (row < std::min(a.size(), b.size()) && a[row] == b[row]) ++row;
  return row;
}

// What is where, for a failure's message.
std::string Text(const Opened& model, const Placement& placement) {
  std::string text =
      "; input " + std::to_string(placement.input) + ", output " + std::to_string(placement.output);
  for (const LayerPlacement& l : placement.layers) {
    text +=
        ", layer " + std::to_string(l.mixer) + std::to_string(l.ffn) + std::to_string(l.experts);
  }
  Placement homes = placement;
  homes.tensors.assign(homes.tensors.size(), -1);
  PlaceTensors(model.file, model.spec, homes);
  for (std::size_t i = 0; i < homes.tensors.size(); ++i) {
    if (homes.tensors[i] == placement.tensors[i]) continue;
    text.append(", ").append(model.file.tensors()[i].name).append(" ");
    text += std::to_string(placement.tensors[i]);
  }
  return text;
}

void ExpectAllocatedAsPlanned(const Engine& engine, const std::string& what) {
  for (const MemoryRow& row : engine.Memory()) {
    EXPECT_EQ(row.allocated_bytes, row.predicted_bytes)
        << what << " " << row.device << " " << row.row;
  }
}

TEST(PlacedRun, EqualsTheRunOnOneDeviceBitForBit) {
  std::mt19937 random(7);
  std::size_t runs = 0;
  std::size_t crossed = 0;
  for (std::size_t m = 0; m < std::size(test::kTinyModels); m += kModelStep) {
    const char* name = test::kTinyModels[m];
    const Opened model = Open(name);
    EngineOptions options = OnSims(3);
    const std::vector<TokenId> prompt = Prompt(model.spec);
    Result<std::unique_ptr<Engine>> whole = Engine::Load(model.file, model.spec, options);
    ASSERT_TRUE(whole.ok()) << name << ": " << whole.status().message();
    const test::LogitTable want = test::PromptLogits(**whole, prompt, 24);
    for (int run = 0; run < 3; ++run, ++runs) {
      options.placement = RandomPlacement(model, {"sim:0", "sim:1", "sim:2"}, random);
      Result<std::unique_ptr<Engine>> placed = Engine::Load(model.file, model.spec, options);
      ASSERT_TRUE(placed.ok()) << name << ": " << placed.status().message();
      const std::size_t chunks[] = {24, 7, 1};
      const test::LogitTable got = test::PromptLogits(**placed, prompt, chunks[run]);
      EXPECT_TRUE(got == want) << name << " run " << run << ": row " << FirstDifference(got, want)
                               << Text(model, *options.placement);
      ExpectAllocatedAsPlanned(**placed, name);
      std::set<std::string> ran;
      for (const KernelLaunches& row : (*placed)->Launches()) ran.insert(row.device);
      crossed += ran.size() > 1;
    }
  }
  EXPECT_EQ(runs, (std::size(test::kTinyModels) + kModelStep - 1) / kModelStep * 3);
  EXPECT_GT(crossed, runs * 9 / 10);
}

// Host and device at once: the answer is the device's, not the same bits.
TEST(PlacedRun, MatchesSomebodyElsesLogitsOverHostAndDevice) {
  std::mt19937 random(11);
  for (const char* name : {"llama-dense", "qwen3moe-moe", "gemma4-e4b", "gemma4-26b", "glm-dsa-moe",
                           "qwen3next-moe", "gpt-oss-moe"}) {
    SCOPED_TRACE(name);
    const Opened model = Open(name);
    EngineOptions options = OnSims(1);
    options.context = 256;
    options.placement = RandomPlacement(model, {"cpu", "sim:0"}, random);
    Result<std::unique_ptr<Engine>> engine = Engine::Load(model.file, model.spec, options);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    ExpectAllocatedAsPlanned(**engine, name);
    for (const test::GoldenCase& golden :
         test::ReadGolden(test::TinyPath(std::string(name) + ".json"))) {
      const test::LogitTable rows = test::PromptLogits(**engine, golden.prompt, 24);
      ASSERT_EQ(rows.size(), golden.dense.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        ASSERT_LE(test::Nmse(rows[i], golden.dense[i]), 1e-6) << "position " << i;
      }
    }
  }
}

// What is predicted of any placement, context, cache type and batch is what is allocated.
std::size_t CheckRandomPlans(const Opened& model, const std::string& name, int plans,
                             std::mt19937& random) {
  const DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0};
  const std::vector<std::vector<std::string>> kDevices = {
      {"cpu", "sim:0"}, {"sim:0", "sim:1"}, {"sim:2", "cpu", "sim:0"}, {"sim:0", "sim:1", "sim:2"}};
  std::size_t checked = 0;
  for (int i = 0; i < plans; ++i) {
    EngineOptions options = OnSims(3);
    for (DeviceInfo& sim : options.sims) sim.memory_total.bytes = 2048 * kMib;
    options.context = 1 + random() % (model.spec.position_embedding ? 64 : 2000);
    options.sequences = 1 + static_cast<std::int64_t>(random() % 3);
    options.ubatch = 1 + static_cast<std::int64_t>(random() % 200);
    options.logit_rows = 1 + static_cast<std::int64_t>(random() % 4);
    options.threads = 1 + static_cast<int>(random() % 3);
    options.kv_type = kTypes[random() % 4];
    options.exact = random() % 4 == 0;
    options.placement = RandomPlacement(model, kDevices[random() % 4], random);
    for (std::size_t t = 0; t < options.placement->held.size(); ++t) {
      if (random() % 8 == 0) options.placement->held[t] = Held::kExpanded;
    }
    Result<std::unique_ptr<Engine>> engine = Engine::Load(model.file, model.spec, options);
    if (engine.status().code() == Code::kUnsupported) continue;  // cells of no whole blocks
    EXPECT_TRUE(engine.ok()) << name << ": " << engine.status().message();
    if (!engine.ok()) return checked;
    ExpectAllocatedAsPlanned(**engine, name);
    const auto planned = PlanMemory(model.file, model.spec, options);
    EXPECT_TRUE(planned.ok());
    EXPECT_EQ(planned->size(), (*engine)->Memory().size());
    ++checked;
  }
  return checked;
}

TEST(PlacedRun, AllocatesWhatIsPredictedForAnyPlan) {
  std::mt19937 random(23);
  std::size_t checked = 0;
  for (std::size_t m = 0; m < std::size(test::kTinyModels); m += kModelStep) {
    checked += CheckRandomPlans(Open(test::kTinyModels[m]), test::kTinyModels[m], 5, random);
  }
  EXPECT_GE(checked, 200u / kModelStep);
}

TEST(PlacedRun, AllocatesWhatIsPredictedForAnyPlanOfRealModels) {
  std::mt19937 random(29);
  for (const char* name : {"SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf",
                           "qwen2.5-coder-0.5b-q4_k_m.gguf"}) {
    const auto path = test::ModelPath(name);
    if (!path) VT_NOT_RUN(name);
    Result<GgufFile> file = GgufFile::Open(*path);
    ASSERT_TRUE(file.ok());
    Result<ModelSpec> spec = ReadModelSpec(*file);
    ASSERT_TRUE(spec.ok());
    EXPECT_GE(CheckRandomPlans({std::move(*file), std::move(*spec)}, name, 3, random), 2u);
  }
}

TEST(PlacedRun, AnUnusedDeviceIsNotTouched) {
  const Opened model = Open("llama-dense");
  EngineOptions options = OnSims(2);
  options.sims[1].sim->fail_at_byte = 0;
  Placement placement = WholePlacement(model.file, model.spec, "sim:0");
  placement.devices.emplace_back("sim:1");
  options.placement = placement;
  Result<std::unique_ptr<Engine>> engine = Engine::Load(model.file, model.spec, options);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_EQ((*engine)->devices().size(), 1u);
  for (const MemoryRow& row : (*engine)->Memory()) EXPECT_EQ(row.device, "sim:0");
}

TEST(PlacedRun, ExpandsWhatADeviceDoesNotKeepWhereThePlacementSaysSo) {
  const Opened model = Open("llama-dense");
  EngineOptions options = OnSims(1);
  Result<std::unique_ptr<Engine>> kept = Engine::Load(model.file, model.spec, options);
  ASSERT_TRUE(kept.ok());
  Placement placement = WholePlacement(model.file, model.spec, "sim:0");
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < placement.tensors.size(); ++i) {
    const GgufTensor& tensor = model.file.tensors()[i];
    if (placement.tensors[i] < 0) continue;
    placement.held[i] = Held::kExpanded;
    bytes += tensor.cols() * tensor.rows() * 2;
  }
  options.placement = placement;
  Result<std::unique_ptr<Engine>> expanded = Engine::Load(model.file, model.spec, options);
  ASSERT_TRUE(expanded.ok()) << expanded.status().message();
  ExpectAllocatedAsPlanned(**expanded, "expanded");
  std::uint64_t row_bytes = 0;
  for (const MemoryRow& row : (*expanded)->Memory()) {
    if (row.row == "weights.expanded") row_bytes += row.allocated_bytes;
  }
  EXPECT_GE(row_bytes, bytes);
  EXPECT_LT(row_bytes, bytes + 64 * placement.tensors.size());
  const std::vector<TokenId> prompt = Prompt(model.spec);
  const test::LogitTable want = test::PromptLogits(**kept, prompt, 24);
  const test::LogitTable got = test::PromptLogits(**expanded, prompt, 24);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LE(test::Nmse(got[i], want[i]), 1e-4);
}

TEST(PlacedRun, RefusesPlacementsThatContradictTheModel) {
  const Opened model = Open("gemma4-e4b");
  EngineOptions options = OnSims(2);
  const auto refused = [&](auto change, const std::string& words) {
    Placement placement = WholePlacement(model.file, model.spec, "sim:0");
    placement.devices.emplace_back("sim:1");
    change(placement);
    options.placement = placement;
    const auto engine = Engine::Load(model.file, model.spec, options);
    ASSERT_FALSE(engine.ok()) << words;
    EXPECT_EQ(engine.status().code(), Code::kInvalid);
    EXPECT_NE(engine.status().message().find(words), std::string::npos)
        << engine.status().message();
  };
  refused([](Placement& p) { p.layers.pop_back(); }, "layers, the model has");
  refused([](Placement& p) { p.tensors.pop_back(); }, "tensors, the model has");
  refused([](Placement& p) { p.devices[1] = "sim:0"; }, "stands there twice");
  refused([](Placement& p) { p.output = 2; }, "is not listed");
  refused([](Placement& p) { p.layers[6].mixer = 1; }, "reads the keys of layer");
  refused([](Placement& p) { p.tensors[static_cast<std::size_t>(-1 + p.tensors.size())] = 7; },
          "is not listed");
  options.placement = WholePlacement(model.file, model.spec, "sim:7");
  EXPECT_EQ(Engine::Load(model.file, model.spec, options).status().code(), Code::kNotFound);
}

// A window of pages that a step's cut does not fit runs in parts, with the same bits.
TEST(PlacedRun, StepsThatWindowsCutUnfavourablyRunInParts) {
  const Opened model = Open("gemma3-dense");
  EngineOptions options;
  options.context = 1024;
  options.ubatch = 128;
  options.logit_rows = 128;
  options.threads = 1;
  std::vector<TokenId> prompt;
  for (int i = 0; i < 700; ++i) prompt.push_back(static_cast<TokenId>(i * 31 % model.spec.vocab));
  Result<std::unique_ptr<Engine>> engine = Engine::Load(model.file, model.spec, options);
  ASSERT_TRUE(engine.ok());
  const test::LogitTable want = test::PromptLogits(**engine, prompt, 1);
  for (const std::size_t chunk : {128u, 127u, 100u, 65u}) {
    Result<std::unique_ptr<Engine>> again = Engine::Load(model.file, model.spec, options);
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(test::PromptLogits(**again, prompt, chunk) == want) << chunk;
  }
}

}  // namespace
}  // namespace vt
