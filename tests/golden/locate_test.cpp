// Where two configurations, or two models, part.
#include "golden/locate.h"

#include "golden/support.h"

namespace vt {
namespace {

TEST(Locate, NamesTheFirstOpThatDiffers) {
  OpRecorder ours;
  OpRecorder same;
  OpRecorder other;
  EngineOptions options;
  options.on_op = ours.Hook();
  const test::TinyModel a = test::LoadTiny("llama-dense", options);
  options.on_op = same.Hook();
  options.isa = "scalar";
  const test::TinyModel b = test::LoadTiny("llama-dense", options);
  options.on_op = other.Hook();
  options.kv_type = DType::kBF16;
  const test::TinyModel c = test::LoadTiny("llama-dense", options);
  ASSERT_TRUE(a.model.engine && b.model.engine && c.model.engine);
  const std::vector<TokenId>& tokens = a.golden.cases[0].prompt;
  const auto identical = Locate({a.model.engine.get(), &ours}, {b.model.engine.get(), &same},
                                "short", tokens, 1e-3, {});
  ASSERT_TRUE(identical.ok()) << identical.status().message();
  EXPECT_GT(identical->compared, 100u);
  EXPECT_FALSE(identical->not_identical);
  // Keys and values of fewer bits first tell in the attention of the first layer.
  const auto found = Locate({a.model.engine.get(), &ours}, {c.model.engine.get(), &other}, "short",
                            tokens, 1e-4, {});
  ASSERT_TRUE(found.ok());
  ASSERT_TRUE(found->not_identical && found->above_tolerance);
  EXPECT_EQ(found->not_identical->layer, 0);
  EXPECT_EQ(found->not_identical->op, "attention");
  EXPECT_GT(found->above_tolerance->error, 1e-4);
  EXPECT_EQ(found->layers.size(), a.model.engine->spec().layers.size() + 1);
}

// Both run the tokens of the golden's first case.
LocateReport LocateBetween(const std::string& name, const std::string& other_path) {
  OpRecorder ours;
  OpRecorder other;
  EngineOptions options;
  options.on_op = ours.Hook();
  const test::TinyModel a = test::LoadTiny(name, options);
  options.on_op = other.Hook();
  options.context = test::TinyContext(name);
  const test::LoadedModel b = test::LoadModel(other_path, options);
  EXPECT_TRUE(a.model.engine && b.engine);
  if (!a.model.engine || !b.engine) return {};
  const auto found =
      Locate({a.model.engine.get(), &ours, a.model.file.get()},
             {b.engine.get(), &other, b.file.get()}, "short", a.golden.cases[0].prompt, 1e-3, {});
  EXPECT_TRUE(found.ok()) << found.status().message();
  return found.ok() ? *found : LocateReport();
}

// Two rows of a router in each other's place: what chose the one expert now chooses the other, by
// the same margin.
TEST(Locate, NamesTheFirstLayerThatChoosesOtherExperts) {
  constexpr std::int32_t kA = 1;
  constexpr std::int32_t kB = 6;
  const std::string path =
      test::EditedModel("gemma4-26b", "blk.2.ffn_gate_inp.weight", [](std::span<float> w) {
        const auto cols = static_cast<std::ptrdiff_t>(w.size() / 8);
        std::swap_ranges(w.begin() + kA * cols, w.begin() + (kA + 1) * cols, w.begin() + kB * cols);
      });
  const LocateReport found = LocateBetween("gemma4-26b", path);
  ASSERT_TRUE(found.not_identical && found.other_experts);
  EXPECT_EQ(found.not_identical->layer, 2);
  EXPECT_EQ(found.not_identical->place, "ffn_gate_inp");
  const ExpertPlace& place = *found.other_experts;
  EXPECT_EQ(place.layer, 2);
  ASSERT_EQ(place.ours.experts.size(), 2u);
  std::vector<std::int32_t> swapped = place.ours.experts;
  for (std::int32_t& expert : swapped) expert = expert == kA ? kB : expert == kB ? kA : expert;
  EXPECT_NE(swapped, place.ours.experts);
  EXPECT_EQ(place.against.experts, swapped);
  EXPECT_GT(place.ours.margin, 0);
  EXPECT_FLOAT_EQ(static_cast<float>(place.against.margin), static_cast<float>(place.ours.margin));
  EXPECT_EQ(found.choices, 6 * 24u);
  EXPECT_GE(found.other_choices, 1u);
  const std::string text = LocateText(found);
  EXPECT_NE(text.find("choices differ, first in layer 2"), std::string::npos) << text;
  EXPECT_NE(text.find("(margin "), std::string::npos) << text;
}

// The margin of a router that ranks by sigmoid and bias: raising the biases of all experts alike
// changes nothing, raising one's makes it chosen.
TEST(Locate, MarginsKnowTheSelectionBias) {
  constexpr std::size_t kRaised = 3;
  const std::string name = "deepseek2-moe";
  const test::TinyModel tiny = test::LoadTiny(name);
  const GgufTensor* bias = tiny.model.file->FindTensor("blk.1.exp_probs_b.bias");
  if (!bias) bias = tiny.model.file->FindTensor("blk.1.exp_probs_b");
  ASSERT_TRUE(bias);
  const std::string path = test::EditedModel(name, std::string(bias->name),
                                             [](std::span<float> b) { b[kRaised] += 10; });
  const LocateReport found = LocateBetween(name, path);
  ASSERT_TRUE(found.other_experts);
  EXPECT_EQ(found.other_experts->layer, 1);
  EXPECT_EQ(found.other_experts->against.experts.front(), static_cast<std::int32_t>(kRaised));
  EXPECT_GT(found.other_experts->ours.margin, 0);
  EXPECT_LT(found.other_experts->ours.margin, 2);
  EXPECT_GT(found.other_experts->against.margin, 0);
}

// A scale that a norm hides from the logits shows at its op.
TEST(Locate, NamesTheLayerWhoseExpertScalesWereTripled) {
  const std::string path =
      test::EditedModel("gemma4-26b", "blk.3.ffn_down_exps.scale", [](std::span<float> scales) {
        for (float& scale : scales) scale *= 3;
      });
  const LocateReport found = LocateBetween("gemma4-26b", path);
  ASSERT_TRUE(found.above_tolerance);
  EXPECT_EQ(found.above_tolerance->layer, 3) << LocateText(found);
  EXPECT_EQ(found.above_tolerance->place, "ffn_route");
  EXPECT_NEAR(found.above_tolerance->error, 2, 1e-6);
}

}  // namespace
}  // namespace vt
