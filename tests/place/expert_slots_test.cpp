// Plans whose accelerator holds some experts of a layer at a time: bytes, prices, and the document.
#include <gtest/gtest.h>

#include <set>

#include "place/fit.h"
#include "place/place.h"
#include "place/planned_model.h"
#include "place/slot_cost.h"
#include "support/header_models.h"

namespace vt {
namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

DeviceInfo Fast(const std::string& id, DeviceKind kind, double gb_per_s, double tflops) {
  DeviceInfo device = test::Described(id, kind);
  device.cores = 16;
  device.features = kFeatureAvx2;
  device.memory_gb_per_s = {gb_per_s, "a test"};
  device.compute_tflops["f32"] = {tflops, "a test"};
  return device;
}

struct Case {
  explicit Case(std::string_view name, std::uint64_t host = 64 * kGib,
                std::uint64_t card = 24 * kGib)
      : file(test::HeaderModel(name)), spec(ReadModelSpec(file).value()) {
    request.devices = {Fast("cpu", DeviceKind::kCpu, 60, 1),
                       Fast("cuda:0", DeviceKind::kCuda, 1000, 80)};
    request.options.context = 4096;
    request.options.ubatch = 512;
    request.budgets.resize(2);
    for (std::size_t i = 0; i < 2; ++i) {
      request.budgets[i].device = request.devices[i].id;
      request.budgets[i].bytes = i == 0 ? host : card;
      request.budgets[i].source = "a test";
    }
  }
  GgufFile file;
  ModelSpec spec;
  PlaceRequest request;

  Result<PlaceAnswer> Place(std::int64_t slots) {
    request.expert_slots = slots;
    return PlaceModel(file, spec, request);
  }
  // Everything on the card, with so many slots.
  EnginePlan OnCard(std::int64_t slots) const {
    Placement placement = Whole(slots);
    EngineOptions options = request.options;
    options.placement = std::move(placement);
    return MakePlan(file, spec, options, {request.devices[1]}).value();
  }
  Placement Whole(std::int64_t slots) const;
};

Placement Case::Whole(std::int64_t slots) const {
  Placement placement;
  placement.devices = {"cuda:0"};
  for (const LayerSpec& layer : spec.layers) {
    placement.layers.push_back({0, 0, 0, layer.moe.experts > 0 ? slots : 0});
  }
  PlaceTensors(file, spec, placement);
  return placement;
}

// Bytes of the matrices of experts in the file.
std::uint64_t ExpertBytes(const GgufFile& file) {
  std::uint64_t bytes = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    if (tensor.name.find("_exps.weight") != std::string_view::npos) bytes += tensor.bytes;
  }
  return bytes;
}

TEST(ExpertSlotPlans, SlotsTakeTheirShareAndTheFileStaysMapped) {
  const Case c("qwen3-30b-a3b");  // 128 experts, no biases
  const std::uint64_t all = ExpertBytes(c.file);
  const EnginePlan whole = c.OnCard(0);
  EXPECT_EQ(whole.RowBytes("weights.slots"), 0u);
  EXPECT_EQ(whole.RowBytes("weights.streamed"), 0u);
  for (const std::int64_t slots : {1, 8, 100, 128}) {
    const EnginePlan plan = c.OnCard(slots);
    EXPECT_EQ(plan.RowBytes("cuda:0", "weights.slots"),
              all / 128 * static_cast<std::uint64_t>(slots));
    EXPECT_EQ(plan.RowBytes("cuda:0", "weights.kept"),
              whole.RowBytes("cuda:0", "weights.kept") - all);
    EXPECT_EQ(plan.RowBytes("cpu", "weights.streamed"), all);
    const FileAccount account = AccountFor(c.file, plan);
    EXPECT_EQ(account.streamed_bytes, all);
    EXPECT_EQ(account.kept_bytes + all, AccountFor(c.file, whole).kept_bytes);
    EXPECT_EQ(account.sum(), c.file.total_bytes());
  }
}

TEST(ExpertSlotPlans, BiasesGoAlongAsF32) {
  const Case c("gpt-oss-20b");
  const EnginePlan plan = c.OnCard(3);
  std::uint64_t want = 0;
  for (const GgufTensor& tensor : c.file.tensors()) {
    if (tensor.name.find("_exps.") == std::string_view::npos) continue;
    const bool bias = tensor.name.ends_with(".bias");
    const std::uint64_t bytes = bias ? tensor.cols() * tensor.rows() * 4 : tensor.bytes;
    want += (bytes / 32 * 3 + 63) / 64 * 64;
  }
  EXPECT_EQ(plan.RowBytes("cuda:0", "weights.slots"), want);
  EXPECT_EQ(AccountFor(c.file, plan).sum(), c.file.total_bytes());
}

TEST(ExpertSlotPlans, MoreSlotsAreNeverPredictedSlower) {
  for (const char* name : {"qwen3-30b-a3b", "gpt-oss-20b"}) {
    const Case c(name);
    double decode = 0, prefill = 0;
    const std::int64_t experts = c.spec.layers.back().moe.experts;
    for (std::int64_t slots = 1; slots <= experts; slots += slots < 12 ? 1 : 7) {
      const Prediction p = PredictSpeed(c.file, c.spec, c.OnCard(slots)).value();
      EXPECT_GE(*p.decode_tok_per_s, decode) << name << " " << slots;
      EXPECT_GE(*p.prefill_tok_per_s, prefill) << name << " " << slots;
      decode = *p.decode_tok_per_s;
      prefill = *p.prefill_tok_per_s;
      if (slots > 1) continue;
      EXPECT_NE(p.decode_bottleneck.find("copying experts"), std::string::npos);
    }
    const Prediction whole = PredictSpeed(c.file, c.spec, c.OnCard(0)).value();
    EXPECT_GE(*whole.decode_tok_per_s, decode);
    EXPECT_GE(*whole.prefill_tok_per_s, prefill);
  }
}

TEST(ExpertSlotPlans, CopiesAreTheChosenThatAreNotThere) {
  SlotLayer layer{.layer = 0, .experts = 64, .slots = 16, .tensors = {{0, false, 10, 10}}};
  EXPECT_DOUBLE_EQ(CopiesOf(layer, 8, 1).experts, 8 * 0.75);
  EXPECT_DOUBLE_EQ(CopiesOf(layer, 8, 100).experts, 64 * 0.75);
  EXPECT_DOUBLE_EQ(CopiesOf(layer, 8, 1).bytes, 60 + 8 * 8);
  layer.slots = 64;
  EXPECT_DOUBLE_EQ(CopiesOf(layer, 8, 100).experts, 0);
}

// A card too small for the experts runs them all the same, and the plan says at what price.
TEST(ExpertSlotPlans, PlacesExpertsOnACardThatCannotHoldThem) {
  Case c("qwen3-30b-a3b", 64 * kGib, 8 * kGib);
  // The search may leave experts on the host where that is faster.
  c.request.pins = {{"_exps", "cuda:0"}};
  const auto refused = c.Place(0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kNo);
  const auto answer = c.Place(32);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  const Placement& placement = answer->plan.placement;
  for (const LayerPlacement& layer : placement.layers) {
    EXPECT_EQ(placement.devices[static_cast<std::size_t>(layer.experts)], "cuda:0");
    EXPECT_EQ(layer.expert_slots, 32);
  }
  EXPECT_EQ(answer->plan.RowBytes("cuda:0", "weights.slots"), ExpertBytes(c.file) / 4);
  ASSERT_FALSE(answer->notes.empty());
  EXPECT_TRUE(answer->notes[0].starts_with("cuda:0: 32 of 128 experts at a time in 48 layers, "))
      << answer->notes[0];
  EXPECT_NE(answer->notes[0].find("of 384.0 that a token chooses 288.0 are copied there"),
            std::string::npos)
      << answer->notes[0];
  const auto tensor = static_cast<std::size_t>(c.file.FindTensor("blk.3.ffn_up_exps.weight") -
                                               c.file.tensors().data());
  EXPECT_EQ(answer->reasons[tensor],
            "pin _exps=cuda:0; 32 of 128 experts at a time (--expert-slots)");
  // The host's share of them is pages of the file, and counts there.
  const FitRequest judge{c.request.options, c.request.devices, c.request.budgets, {}};
  const Fit fit = JudgePlan(c.file, c.spec, answer->plan, judge);
  EXPECT_EQ(fit.verdict, FitVerdict::kFits);
  for (const DeviceFit& device : fit.devices) {
    EXPECT_EQ(device.mapped_bytes, device.id == "cpu" ? ExpertBytes(c.file) : 0);
  }
}

TEST(ExpertSlotPlans, WithoutPinsNoSlowerThanTheHost) {
  Case c("qwen3-30b-a3b", 64 * kGib, 8 * kGib);
  const auto held = c.Place(0);
  const auto slots = c.Place(16);
  ASSERT_TRUE(held.ok() && slots.ok());
  // Every layer may be left to the host, and what is not is on the card with its slots.
  std::int64_t on_card = 0;
  for (const LayerPlacement& layer : slots->plan.placement.layers) {
    const std::string& device =
        slots->plan.placement.devices[static_cast<std::size_t>(layer.experts)];
    EXPECT_EQ(layer.expert_slots, device == "cpu" ? 0 : 16);
    on_card += device != "cpu";
  }
  RecordProperty("on_card", std::to_string(on_card));
  c.request.pins = {{"_exps", "cpu"}};
  const auto host = c.Place(16);
  ASSERT_TRUE(host.ok());
  EXPECT_GE(*slots->prediction.decode_tok_per_s, 0.999 * *host->prediction.decode_tok_per_s);
}

TEST(ExpertSlotPlans, AHostTooSmallForTheFilePages) {
  Case c("qwen3-30b-a3b", 8 * kGib, 12 * kGib);
  c.request.pins = {{"_exps", "cuda:0"}};
  const auto answer = c.Place(16);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_TRUE(answer->paging);
}

TEST(ExpertSlotPlans, LayersWithNoMoreExpertsHoldThemAll) {
  Case c("gpt-oss-20b");  // 32 experts
  const auto answer = c.Place(32);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  for (const LayerPlacement& layer : answer->plan.placement.layers) {
    EXPECT_EQ(layer.expert_slots, 0);
  }
  EXPECT_EQ(answer->plan.RowBytes("weights.slots"), 0u);
  ASSERT_FALSE(answer->notes.empty());
  EXPECT_TRUE(answer->notes[0].starts_with("--expert-slots 32: no layer has slots"))
      << answer->notes[0];
  Case dense("llama-8b");
  const auto refused = dense.Place(8);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kInvalid);
  EXPECT_TRUE(refused.status().message().starts_with("--expert-slots: the model has no experts"));
}

TEST(ExpertSlotPlans, TheDocumentCarriesThem) {
  Case c("gpt-oss-20b");
  c.request.pins = {{"_exps", "cuda:0"}};
  c.request.options.threads = 3;
  const PlaceAnswer answer = c.Place(4).value();
  const PlannedModel model{"m.gguf", c.file.HeaderDigest(), c.spec.architecture, c.spec.name,
                           c.file.total_bytes()};
  const std::string text = WritePlanDocument(c.file, c.spec, model, c.request, answer, test::kTool);
  PlanDocument read = ReadPlanDocument(text).value();
  EXPECT_EQ(read.wishes.expert_slots, 4);
  ASSERT_TRUE(BindPlan(c.file, c.spec, read).ok());
  EXPECT_EQ(read.options.placement->layers, answer.plan.placement.layers);
  EXPECT_EQ(read.options.placement->layers[5].expert_slots, 4);
  EXPECT_EQ(read.notes, answer.notes);
  const EnginePlan again = MakePlan(c.file, c.spec, read.options, {c.request.devices[1]}).value();
  ASSERT_EQ(again.rows.size(), answer.plan.rows.size());
  for (std::size_t i = 0; i < again.rows.size(); ++i) {
    EXPECT_EQ(again.rows[i].row, answer.plan.rows[i].row);
    EXPECT_EQ(again.rows[i].predicted_bytes, answer.plan.rows[i].predicted_bytes);
  }
  // Slots that the placement cannot have are refused with the place.
  PlanDocument wrong = ReadPlanDocument(text).value();
  wrong.options.placement->layers[5].expert_slots = 33;
  const Status status = BindPlan(c.file, c.spec, wrong);
  EXPECT_EQ(status.at(), "/parts");
  EXPECT_NE(status.message().find("expert slots of layer 5: 33 is out of range"), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace vt
