// What layers leave, kept in a golden: faults that logits do not show.
#include "golden/checkpoint.h"

#include <cmath>
#include <cstdio>

#include "golden/diff.h"
#include "golden/support.h"

namespace vt {
namespace {

constexpr const char* kModel = "gemma4-26b";

bool AllSame(const std::vector<CaseReport>& cases) {
  for (const CaseReport& one : cases) {
    if (one.state != CaseState::kSame) return false;
  }
  return !cases.empty();
}

// A model of which nothing but the last layer's scale is other: the norm before the logits takes
// that out again.
std::string ScaledLastLayer() {
  return test::EditedModel(kModel, "blk.5.layer_output_scale.weight",
                           [](std::span<float> scale) { scale[0] *= 3; });
}

// Of SplitMix64 from state 0 (Steele, Lea, Flood 2014) the first outputs end in the bytes af, f4,
// 4f.
TEST(Sketch, SumsHaveTheSignsOfSplitMix64) {
  const Sketch sketch = SketchOf(std::vector<float>{1, 10, 100});
  const unsigned bytes[] = {0xaf, 0xf4, 0x4f};
  for (std::size_t k = 0; k < kSketchSums; ++k) {
    double want = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      want += ((bytes[i] >> k & 1) != 0 ? -1 : 1) * std::pow(10, i);
    }
    EXPECT_EQ(sketch.sums[k], want) << k;
  }
  EXPECT_DOUBLE_EQ(sketch.norm, std::sqrt(10101));
}

TEST(Sketch, ErrorsAreOfTheRightSize) {
  std::vector<float> x(3000);
  std::uint32_t state = 7;
  const auto next = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) / (1 << 24) - 0.5f;
  };
  for (float& value : x) value = next();
  double mean = 0;
  constexpr int kTries = 50;
  for (int i = 0; i < kTries; ++i) {
    std::vector<float> y = x;
    for (float& value : y) value += 0.01f * next();
    mean += SketchError(SketchOf(x), SketchOf(y)) / kTries;
  }
  EXPECT_NEAR(mean, 0.01, 0.002);
  std::vector<float> tripled = x;
  for (float& value : tripled) value *= 3;
  EXPECT_GE(SketchError(SketchOf(x), SketchOf(tripled)), 2);
  EXPECT_EQ(SketchError(SketchOf(x), SketchOf(x)), 0);
  EXPECT_EQ(SketchError(Sketch(), Sketch()), 0);
  x[5] = NAN;
  EXPECT_TRUE(std::isinf(SketchError(SketchOf(tripled), SketchOf(x))));
}

TEST(Checkpoints, OfAllLayersOrOfSome) {
  const Golden all = test::RecordedWithCheckpoints(kModel, {});
  const GoldenCase& one = all.cases[0];
  ASSERT_EQ(one.checkpoints.size(), 12u);  // six layers, each of a mixture of experts
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(one.checkpoints[i].layer, static_cast<int>(i / 2));
    EXPECT_EQ(one.checkpoints[i].what,
              i % 2 == 0 ? CheckpointWhat::kExperts : CheckpointWhat::kStream);
    EXPECT_EQ(one.checkpoints[i].rows.size(), one.prompt.size() + one.generated.size() - 1);
  }
  const Golden some = test::RecordedWithCheckpoints("llama-dense", {1});
  ASSERT_EQ(some.cases[0].checkpoints.size(), 1u);
  EXPECT_EQ(some.cases[0].checkpoints[0].layer, 1);
}

// The stream itself, taken from the ops that make it: what the last layer leaves is what the norm
// before the logits reads.
TEST(Checkpoints, TheStreamIsWhatTheOutputNormReads) {
  std::vector<float> stream;
  std::vector<float> read;
  EngineOptions options;
  options.on_op = [&](const OpEvent& event) {
    if (event.place == kLayerEnd) stream.assign(event.out.begin(), event.out.end());
    if (event.place == "output_rows") read.assign(event.out.begin(), event.out.end());
    return Status();
  };
  const test::TinyModel tiny = test::LoadTiny(kModel, options);
  test::PromptLogits(*tiny.model.engine, tiny.golden.cases[0].prompt, 1);
  ASSERT_EQ(stream.size(), 64u);
  EXPECT_EQ(stream, read);
}

TEST(Checkpoints, HoldForOtherWaysToCompute) {
  const Golden golden = test::RecordedWithCheckpoints(kModel, {});
  EngineOptions exact = test::LikeTheOracle();
  exact.exact = true;
  EngineOptions small_steps = test::LikeTheOracle();
  small_steps.ubatch = 3;
  for (const EngineOptions& options : {test::LikeTheOracle(), exact, small_steps}) {
    const auto cases = test::CheckPath(test::TinyPath("gemma4-26b.gguf"), golden, options);
    EXPECT_TRUE(AllSame(cases));
    for (const CaseReport& one : cases) {
      ASSERT_TRUE(one.worst_checkpoint);
      EXPECT_GE(one.checkpoint_rows, 12 * 16u);
      std::printf("  worst %.1e at layer %d row %zu\n", one.worst_checkpoint->error,
                  one.worst_checkpoint->layer, one.worst_checkpoint->row);
      // Six digits are kept of each number.
      EXPECT_LT(one.worst_checkpoint->error, options.exact ? 0.02 : 1e-4);
    }
  }
}

TEST(Checkpoints, FindWhatCancelsInTheLogits) {
  const std::string path = ScaledLastLayer();
  Golden golden = test::RecordedWithCheckpoints(kModel, {0, 5});
  const auto red = test::CheckPath(path, golden);
  ASSERT_EQ(red.size(), 2u);
  for (const CaseReport& one : red) {
    EXPECT_EQ(one.state, CaseState::kWrong);
    EXPECT_EQ(one.wrong, 0u);
    ASSERT_TRUE(one.first_checkpoint);
    EXPECT_EQ(one.first_checkpoint->layer, 5);
    EXPECT_EQ(one.first_checkpoint->what, CheckpointWhat::kStream);
    EXPECT_EQ(one.first_checkpoint->row, 0u);
    EXPECT_NE(one.reasons[0].find("the stream after layer 5 is off by"), std::string::npos)
        << one.reasons[0];
  }
  // Tokens and logits say nothing.
  for (GoldenCase& one : golden.cases) one.checkpoints.clear();
  EXPECT_TRUE(AllSame(test::CheckPath(path, golden)));
  const Golden oracle = test::MustParse(test::ReadFile(test::TinyPath("gemma4-26b.json")));
  EXPECT_TRUE(AllSame(test::CheckPath(path, oracle)));
}

// The scale of a whole layer's experts is of those faults; a scale among others is not.
struct ScaleFault {
  const char* what;
  void (*edit)(std::span<float>);
  bool hidden;  // by the norm after the experts
};
constexpr ScaleFault kScaleFaults[] = {
    {"one expert's doubled", [](std::span<float> s) { s[1] *= 2; }, false},
    {"all lost", [](std::span<float> s) { std::fill(s.begin(), s.end(), 1.0f); }, false},
    {"all tripled",
     [](std::span<float> s) {
       for (float& v : s) v *= 3;
     },
     true},
};

TEST(Checkpoints, NameTheLayerWithAWrongExpertScale) {
  const Golden golden = test::RecordedWithCheckpoints(kModel, {});
  const Golden oracle = test::MustParse(test::ReadFile(test::TinyPath("gemma4-26b.json")));
  for (const ScaleFault& fault : kScaleFaults) {
    const std::string path = test::EditedModel(kModel, "blk.2.ffn_down_exps.scale", fault.edit);
    const auto red = test::CheckPath(path, golden);
    EXPECT_FALSE(AllSame(red)) << fault.what;
    bool named = false;
    for (const CaseReport& one : red) {
      if (!one.first_checkpoint) continue;
      named = true;
      EXPECT_EQ(one.first_checkpoint->layer, 2) << fault.what;
      EXPECT_EQ(one.first_checkpoint->what, CheckpointWhat::kExperts) << fault.what;
    }
    EXPECT_TRUE(named) << fault.what;
    // By the logits of somebody else's golden alone.
    EXPECT_EQ(AllSame(test::CheckPath(path, oracle)), fault.hidden) << fault.what;
    // The digest of all bytes is wrong in any case.
    const Result<GgufFile> file = GgufFile::Open(path);
    FileDigests digests(*file);
    EXPECT_FALSE(CheckDigests(oracle.model, CompareDigests(oracle.model, digests)).ok());
  }
}

TEST(Checkpoints, OfTwoGoldensAreCompared) {
  const Golden a = test::RecordedWithCheckpoints(kModel, {1, 5});
  Golden b = test::RecordedWithCheckpoints(kModel, {5});
  const auto same = DiffGoldens(a, b, CheckLimits());
  EXPECT_TRUE(AllSame(same));
  // Experts and stream of layer 5, at all 24 + 16 - 1 positions.
  EXPECT_EQ(same[0].checkpoint_rows, 2 * 39u);
  b.cases[0].checkpoints[1].rows[7].norm *= 1.1;
  const auto other = DiffGoldens(a, b, CheckLimits());
  EXPECT_EQ(other[0].state, CaseState::kWrong);
  ASSERT_TRUE(other[0].first_checkpoint);
  EXPECT_EQ(other[0].first_checkpoint->row, 7u);
}

TEST(Checkpoints, MissingLayersAndRecordersAreNoPass) {
  Golden golden = test::RecordedWithCheckpoints(kModel, {1});
  const test::TinyModel tiny = test::LoadTiny(kModel);
  EXPECT_EQ(CheckCases(golden, *tiny.model.engine, nullptr, CheckLimits(), {}).status().code(),
            Code::kInternal);
  golden.cases[0].checkpoints[0].layer = 77;
  const auto cases = test::CheckPath(test::TinyPath("gemma4-26b.gguf"), golden);
  EXPECT_EQ(cases[0].state, CaseState::kWrong);
  EXPECT_EQ(cases[0].missing_checkpoints, (std::vector<std::string>{"layer 77, experts"}));
  EXPECT_EQ(cases[1].state, CaseState::kSame);
}

}  // namespace
}  // namespace vt
