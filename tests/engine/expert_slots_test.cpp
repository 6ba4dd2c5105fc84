// Experts that take turns in slots: the bits of the run that holds them all, who makes room, and
// what becomes of slots that a device may still be reading.
#include "engine/expert_slots.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/held_memory.h"
#include "plan/placement.h"
#include "support/model_run.h"
#include "support/sim_run.h"
#include "support/test_files.h"
#include "support/tiny_models.h"

namespace vt {
namespace {

using Ids = std::vector<std::int32_t>;

Status NotAsked() { return InternalError("nothing was being read"); }

// The slots that are filled, as a step without failures fills them.
Ids Fill(SlotCache& cache, const Ids& experts) {
  const auto fills = cache.MakeRoom(experts, NotAsked);
  EXPECT_TRUE(fills.ok()) << fills.status().message();
  Ids slots;
  if (!fills.ok()) return slots;
  for (const SlotCache::Fill& fill : *fills) {
    cache.Filled(fill);
    slots.push_back(fill.slot);
  }
  return slots;
}

TEST(SlotCache, TheLeastRecentlyUsedMakesRoom) {
  SlotCache cache(10, 3);
  EXPECT_EQ(Fill(cache, {4}), Ids{0});
  EXPECT_EQ(Fill(cache, {7}), Ids{1});
  EXPECT_EQ(Fill(cache, {1}), Ids{2});
  EXPECT_EQ(Fill(cache, {4}), Ids{});   // touched: 7 is the oldest now
  EXPECT_EQ(Fill(cache, {9}), Ids{1});  // in the place of 7
  EXPECT_EQ(cache.SlotOf(7), -1);
  EXPECT_EQ(cache.SlotOf(4), 0);
  EXPECT_EQ(cache.SlotOf(9), 1);
  EXPECT_EQ(Fill(cache, {7, 9}), Ids{2});  // 1 goes; 9 is asked for, and stays
  EXPECT_EQ(Fill(cache, {0, 2, 3}), (Ids{0, 1, 2}));
  const ExpertSlotCounts& counts = cache.counts();
  EXPECT_EQ(counts.hits, 2u);
  EXPECT_EQ(counts.misses, 8u);
  EXPECT_EQ(counts.evictions, 5u);
}

TEST(SlotCache, ServesManyTimesMoreExpertsThanItHasSlots) {
  SlotCache cache(64, 4);
  for (int round = 0; round < 3; ++round) {
    for (std::int32_t e = 0; e < 64; ++e) {
      EXPECT_EQ(Fill(cache, {e}).size(), 1u) << e;  // the last four are others
      EXPECT_GE(cache.SlotOf(e), 0);
    }
  }
  EXPECT_EQ(cache.counts().misses, 192u);
  EXPECT_EQ(cache.counts().evictions, 188u);
  EXPECT_EQ(cache.MakeRoom(Ids{1, 2, 3, 4, 5}, NotAsked).status().code(), Code::kInternal);
}

TEST(SlotCache, WaitsForWhoeverReadsASlotBeforeItIsFilled) {
  SlotCache cache(10, 2);
  Fill(cache, {0, 1});
  const Ids first = {0};
  { const SlotReads reads(cache, first); }
  int waits = 0;
  const auto wait = [&] {
    ++waits;
    cache.Observed(true);
    return Status();
  };
  Fill(cache, {1});  // nothing is filled
  ASSERT_TRUE(cache.MakeRoom(Ids{2, 1}, wait).ok());
  EXPECT_EQ(waits, 1);  // 0's slot was being read
  cache.Filled({2, 0});
  ASSERT_TRUE(cache.MakeRoom(Ids{3, 2}, wait).ok());
  EXPECT_EQ(waits, 1);  // 1's slot was not
  // While launches are made, those that were observed to be done are not all.
  cache.Filled({3, 1});
  {
    const Ids both = {2, 3};
    const SlotReads reads(cache, both);
    cache.Observed(true);
  }
  ASSERT_TRUE(cache.MakeRoom(Ids{4}, wait).ok());
  EXPECT_EQ(waits, 2);
}

TEST(SlotCache, SlotsWhoseReadersNobodySawEndAreUsedNoMore) {
  SlotCache cache(10, 3);
  Fill(cache, {0, 1, 2});
  const Ids read = {0, 2};
  { const SlotReads reads(cache, read); }
  const auto fails = [&] {
    cache.Observed(false);
    return Status(Code::kDevice, "lost");
  };
  EXPECT_EQ(cache.MakeRoom(Ids{5}, fails).status().code(), Code::kDevice);
  EXPECT_EQ(cache.counts().quarantined_slots, 2u);
  EXPECT_EQ(cache.usable(), 1);
  EXPECT_EQ(cache.SlotOf(0), -1);
  EXPECT_EQ(cache.SlotOf(1), 1);
  EXPECT_EQ(cache.SlotOf(2), -1);
  cache.Observed(true);
  for (const std::int32_t expert : {0, 5, 2, 8}) EXPECT_EQ(Fill(cache, {expert}), Ids{1});
  EXPECT_EQ(cache.usable(), 1);
  EXPECT_EQ(cache.MakeRoom(Ids{3, 4}, NotAsked).status().code(), Code::kInternal);
}

using test::kModelStep;
using test::Sim;
using Opened = test::TinyModel;

EngineOptions OnSims(int count) { return test::OnSims(count, 64); }

// Of the layers with experts: all have as many.
const MoeSpec* MoeOf(const Opened& model) {
  for (const LayerSpec& layer : model.spec.layers) {
    if (layer.moe.experts > 0) return &layer.moe;
  }
  return nullptr;
}

Opened Open(const std::string& name) { return test::OpenTiny(name); }

Placement WithSlots(const Opened& model, std::int64_t slots, std::vector<std::string> devices,
                    int experts_on = 0) {
  Placement placement;
  placement.devices = std::move(devices);
  for (const LayerSpec& layer : model.spec.layers) {
    const bool experts = layer.moe.experts > 0;
    placement.layers.push_back({0, 0, experts ? experts_on : 0, experts ? slots : 0});
  }
  PlaceTensors(model.file, model.spec, placement);
  return placement;
}

std::vector<TokenId> Prompt(const ModelSpec& spec, int count = 26) {
  std::vector<TokenId> prompt;
  for (int i = 0; i < count; ++i) {
    prompt.push_back(static_cast<TokenId>((i * 37 + 11) % spec.vocab));
  }
  return prompt;
}

std::unique_ptr<Engine> Load(const Opened& model, const EngineOptions& options) {
  Result<std::unique_ptr<Engine>> engine = Engine::Load(model.file, model.spec, options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return engine.ok() ? std::move(*engine) : nullptr;
}

std::uint64_t ExpectAllocatedAsPlanned(const Engine& engine, std::string_view wanted) {
  std::uint64_t bytes = 0;
  for (const MemoryRow& row : engine.Memory()) {
    EXPECT_EQ(row.allocated_bytes, row.predicted_bytes) << row.device << " " << row.row;
    if (row.row == wanted) bytes += row.allocated_bytes;
  }
  return bytes;
}

// Of the matrices of experts, in the file.
std::uint64_t ExpertBytes(const Opened& model) {
  std::set<int> tensors;
  for (const LayerSpec& layer : model.spec.layers) {
    for (const ExpertRef* ref : {&layer.moe.gate, &layer.moe.up, &layer.moe.down}) {
      if (*ref) tensors.insert(ref->weight.tensor);
    }
  }
  std::uint64_t bytes = 0;
  for (const int t : tensors) bytes += model.file.tensors()[static_cast<std::size_t>(t)].bytes;
  return bytes;
}

void ExpectCounts(const Engine& engine, const MoeSpec& moe, std::int64_t slots) {
  ASSERT_EQ(engine.SlotCounts().size(), 1u);
  const ExpertSlotCounts counts = engine.SlotCounts().front();
  EXPECT_EQ(counts.device, "sim:0");
  EXPECT_EQ(counts.quarantined_slots, 0u);
  // The first ones were there from the load, and every slot was taken: a copy makes room.
  EXPECT_EQ(counts.misses, counts.evictions);
  EXPECT_EQ(counts.misses == 0, counts.uploaded_bytes == 0);
  EXPECT_LE(counts.misses > 0, slots < moe.experts);
  EXPECT_GE(counts.misses > 0, slots == 1);
  EXPECT_GT(counts.hits, 0u);
}

TEST(ExpertSlots, GiveTheBitsOfTheRunThatHoldsAllExperts) {
  std::size_t models = 0, runs = 0;
  std::uint64_t misses = 0;
  for (std::size_t m = 0; m < std::size(test::kTinyModels); ++m) {
    const std::string name = test::kTinyModels[m];
    const Opened model = Open(name);
    if (!MoeOf(model) || models++ % kModelStep != 0) continue;
    SCOPED_TRACE(name);
    const MoeSpec& moe = *MoeOf(model);
    EngineOptions options = OnSims(1);
    const std::vector<TokenId> prompt = Prompt(model.spec);
    const std::unique_ptr<Engine> whole = Load(model, options);
    ASSERT_TRUE(whole);
    const test::LogitTable want = test::PromptLogits(*whole, prompt, 24);
    std::uint64_t before = 0;
    for (const std::int64_t slots :
         std::set<std::int64_t>{1, 2, moe.used, moe.experts - 1, moe.experts}) {
      SCOPED_TRACE("slots " + std::to_string(slots));
      options.placement = WithSlots(model, slots, {"sim:0"});
      const std::unique_ptr<Engine> engine = Load(model, options);
      ASSERT_TRUE(engine);
      for (const auto& [chunk, tokens] : {std::pair(24, 26), {7, 15}, {1, 9}}) {
        const std::vector<TokenId> part(prompt.begin(), prompt.begin() + tokens);
        const test::LogitTable first(want.begin(), want.begin() + tokens);
        EXPECT_TRUE(test::PromptLogits(*engine, part, static_cast<std::size_t>(chunk)) == first)
            << "steps of " << chunk;
        ++runs;
      }
      const std::uint64_t bytes = ExpectAllocatedAsPlanned(*engine, "weights.slots");
      EXPECT_GT(bytes, before);
      before = bytes;
      EXPECT_GE(ExpectAllocatedAsPlanned(*engine, "weights.streamed"), ExpertBytes(model));
      ExpectCounts(*engine, moe, slots);
      misses += engine->SlotCounts().front().misses;
    }
    EXPECT_GE(before, ExpertBytes(model));
  }
  EXPECT_GE(models, 30u);
  EXPECT_GE(runs, models / kModelStep * 9);
  EXPECT_GT(misses, 0u);
}

// Experts on a device of their own, whose inputs cross to it.
TEST(ExpertSlots, OfADeviceThatHasNothingElse) {
  for (const char* name : {"qwen3moe-moe", "gpt-oss-moe", "gemma4-26b", "llama4-moe"}) {
    SCOPED_TRACE(name);
    const Opened model = Open(name);
    EngineOptions options = OnSims(2);
    const std::vector<TokenId> prompt = Prompt(model.spec);
    const std::unique_ptr<Engine> whole = Load(model, options);
    options.placement = WithSlots(model, 2, {"sim:0", "sim:1"}, 1);
    const std::unique_ptr<Engine> engine = Load(model, options);
    ASSERT_TRUE(whole && engine);
    const test::LogitTable want = test::PromptLogits(*whole, prompt, 24);
    EXPECT_TRUE(test::PromptLogits(*engine, prompt, 5) == want);
    EXPECT_GT(ExpectAllocatedAsPlanned(*engine, "weights.slots"), 0u);
    ASSERT_EQ(engine->SlotCounts().size(), 1u);
    EXPECT_EQ(engine->SlotCounts().front().device, "sim:1");
  }
}

// Steps of many rows, sorted with and without slots; what they leave in the slots serves the next.
TEST(ExpertSlots, ServeLongSteps) {
  const Opened model = Open("qwen3moe-moe");
  EngineOptions options = OnSims(1);
  options.context = 128;
  options.ubatch = options.logit_rows = 100;
  const std::vector<TokenId> prompt = Prompt(model.spec, 100);
  const std::unique_ptr<Engine> whole = Load(model, options);
  options.placement = WithSlots(model, 3, {"sim:0"});
  const std::unique_ptr<Engine> engine = Load(model, options);
  ASSERT_TRUE(whole && engine);
  EXPECT_TRUE(test::PromptLogits(*engine, prompt, 100) == test::PromptLogits(*whole, prompt, 100));
  const ExpertSlotCounts one = engine->SlotCounts().front();
  EXPECT_GT(one.misses, 0u);
  // The next step begins with what the last one left.
  EXPECT_TRUE(test::PromptLogits(*engine, prompt, 100) == test::PromptLogits(*whole, prompt, 100));
  const ExpertSlotCounts two = engine->SlotCounts().front();
  EXPECT_GE(two.hits, 2 * one.hits);
  EXPECT_EQ(two.hits + two.misses, 2 * (one.hits + one.misses));
  EXPECT_EQ(two.uploaded_bytes % two.misses, 0u);
}

// Logits of a prompt's last token, or the error of the step.
Result<std::vector<float>> LastLogits(Engine& engine, const std::vector<TokenId>& prompt) {
  VT_ASSIGN_OR_RETURN(const SequenceId id, engine.Open(prompt, nullptr));
  std::vector<float> logits;
  const StepTokens step{.sequence = id, .tokens = prompt};
  const Status status =
      engine.Step({&step, 1}, [&](std::size_t, std::size_t, std::span<const float> row) {
        logits.assign(row.begin(), row.end());
        return Status();
      });
  engine.Close(id);
  if (!status.ok()) return status;
  return logits;
}

TEST(ExpertSlots, AreQuarantinedWhereTheQueueFailsWhileTheyAreRead) {
  const Opened model = Open("qwen3moe-moe");
  EngineOptions options = OnSims(1);
  const std::vector<TokenId> prompt = Prompt(model.spec, 20);
  const std::unique_ptr<Engine> whole = Load(model, options);
  ASSERT_TRUE(whole);
  const std::vector<float> want = LastLogits(*whole, prompt).value();
  options.placement = WithSlots(model, 3, {"sim:0"});
  std::size_t failed = 0, quarantined = 0, given_up = 0;
  for (std::uint64_t wait = 1;; ++wait) {
    options.sims[0].sim->fail_at_wait = wait;
    const std::uint64_t held = HeldMemory::quarantined_bytes();
    std::unique_ptr<Engine> engine = Load(model, options);
    ASSERT_TRUE(engine);
    const Result<std::vector<float>> first = LastLogits(*engine, prompt);
    if (first.ok()) break;  // the step has fewer waits
    ++failed;
    EXPECT_EQ(first.status().code(), Code::kDevice);
    const std::uint64_t lost = engine->SlotCounts().front().quarantined_slots;
    EXPECT_LE(lost, 3u);
    quarantined += lost > 0;
    // What is left serves on, with the same bits; where nothing is, the step says so.
    const Result<std::vector<float>> again = LastLogits(*engine, prompt);
    if (lost < 3) {
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_EQ(*again, want) << "wait " << wait;
    } else {
      ++given_up;
      EXPECT_NE(again.status().message().find("none of its expert slots on sim:0 can be used"),
                std::string::npos)
          << again.status().message();
    }
    EXPECT_EQ(engine->SlotCounts().front().quarantined_slots, lost);
    // Nothing of a device whose queue failed is freed.
    EXPECT_EQ(HeldMemory::quarantined_bytes(), held);
    engine.reset();
    EXPECT_GT(HeldMemory::quarantined_bytes(), held);
  }
  EXPECT_GT(failed, 20u);
  EXPECT_GT(quarantined, 5u);
  EXPECT_GT(given_up, 0u);
  EXPECT_LT(quarantined, failed);
}

TEST(ExpertSlots, AnEngineWhoseQueueEndsWellFreesItsMemory) {
  const Opened model = Open("qwen3moe-moe");
  EngineOptions options = OnSims(1);
  options.placement = WithSlots(model, 2, {"sim:0"});
  const std::uint64_t held = HeldMemory::quarantined_bytes();
  std::unique_ptr<Engine> engine = Load(model, options);
  ASSERT_TRUE(engine);
  EXPECT_TRUE(LastLogits(*engine, Prompt(model.spec, 5)).ok());
  engine.reset();
  EXPECT_EQ(HeldMemory::quarantined_bytes(), held);
}

// A device that lacks an op of the experts is refused before a byte is allocated there.
TEST(ExpertSlots, AMissingOpIsKnownBeforeAnythingIsAllocated) {
  const Opened model = Open("qwen3moe-moe");
  for (const std::string missing : {"expert_matmul", "expert_sort"}) {
    EngineOptions options = OnSims(1);
    options.sims[0].lacks_ops = {missing};
    options.sims[0].sim->fail_at_byte = 0;
    options.placement = WithSlots(model, 2, {"sim:0"});
    const auto engine = Engine::Load(model.file, model.spec, options);
    ASSERT_FALSE(engine.ok());
    EXPECT_EQ(engine.status().code(), Code::kUnsupported);
    EXPECT_NE(engine.status().message().find("op " + missing + " on device sim:0: "),
              std::string::npos)
        << engine.status().message();
  }
}

TEST(ExpertSlots, PlacementsSayWhereThereCanBeNone) {
  const Opened model = Open("glm4moe-moe");  // its first layer has no experts
  const std::size_t last = model.spec.layers.size() - 1;
  const MoeSpec& moe = model.spec.layers[last].moe;
  ASSERT_GT(moe.experts, 0);
  ASSERT_EQ(model.spec.layers[0].moe.experts, 0);
  const auto refused = [&](auto change, const std::string& words) {
    EngineOptions options = OnSims(1);
    Placement placement = WithSlots(model, 2, {"sim:0", "cpu"});
    change(placement);
    options.placement = placement;
    const auto engine = Engine::Load(model.file, model.spec, options);
    ASSERT_FALSE(engine.ok()) << words;
    EXPECT_EQ(engine.status().code(), Code::kInvalid);
    EXPECT_NE(engine.status().message().find(words), std::string::npos)
        << engine.status().message();
  };
  const auto up = static_cast<std::size_t>(moe.up.weight.tensor);
  const std::string name(model.file.tensors()[up].name);
  const std::string subject = "placement: expert slots of layer " + std::to_string(last) + ": ";
  const std::string most = std::to_string(moe.experts);
  refused([&](Placement& p) { p.layers[last].expert_slots = moe.experts + 1; },
          subject + std::to_string(moe.experts + 1) + " is out of range (allowed 0 to " + most);
  refused([&](Placement& p) { p.layers[last].expert_slots = -1; },
          subject + "-1 is out of range (allowed 0 to " + most);
  refused([](Placement& p) { p.layers[0].expert_slots = 1; },
          "placement: expert slots of layer 0: 1 is out of range (allowed 0 to 0");
  refused([&](Placement& p) { p.layers[last].experts = 1; }, subject + "2 on cpu, which reads");
  refused([&](Placement& p) { p.tensors[up] = 1; },
          subject + "tensor " + name + " does not lie on sim:0");
  refused([&](Placement& p) { p.held[up] = Held::kExpanded; },
          subject + "tensor " + name + " is held decoded");
}

}  // namespace
}  // namespace vt
