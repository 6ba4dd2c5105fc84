// What would fit: contexts and remedies; and what holds of every answer.
#include "place/fit_search.h"

#include <random>

#include "place/fit_case.h"
#include "place/fit_document.h"
#include "place/fit_plot.h"

namespace vt::test {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;

std::vector<DeviceInfo> Desk(std::uint64_t card) {
  return {DeviceOfSize("cpu", DeviceKind::kCpu, 64 * kGiB),
          DeviceOfSize("cuda:0", DeviceKind::kCuda, card)};
}

TEST(FitContext, TheLargestFitsAndABlockMoreDoesNot) {
  std::mt19937 random(7);
  int found = 0;
  for (const std::string_view name : HeaderModelNames()) {
    if (name == "unknown-arch") continue;
    FitCase model(name, Desk(24 * kGiB), "cpu");
    for (int i = 0; i < 4; ++i) {
      model.request.options.sequences = 1 + static_cast<int>(random() % 4);
      model.request.options.ubatch = 1 << (4 + random() % 7);
      model.request.options.kv_type = random() % 2 == 0 ? DType::kF16 : DType::kF32;
      const Fit small = model.At(64, model.request.options.sequences, model.request.options.ubatch);
      model.Give("cpu", On(small, "cpu").need_bytes + random() % (8 * kGiB));
      const auto largest = model.Largest();
      ASSERT_TRUE(largest.has_value()) << name;
      EngineOptions options = model.request.options;
      const auto fits = [&](std::uint64_t context) {
        return model.At(context, options.sequences, options.ubatch).yes();
      };
      EXPECT_TRUE(fits(*largest)) << name << " " << *largest;
      if (*largest == MostPositions(model.spec())) continue;
      ++found;
      EXPECT_EQ(*largest % 64, 0u);
      EXPECT_FALSE(fits(*largest + 64)) << name << " " << *largest;
    }
  }
  EXPECT_GE(found, 30);
}

TEST(FitContext, NoneFitsWhereNotEvenABlockDoes) {
  FitCase model("llama-8b", Desk(24 * kGiB));
  model.Give("cpu", kGiB);
  EXPECT_EQ(model.Largest(), std::nullopt);
}

// The context that the model was trained for, or what the memory holds of it: no other bound.
TEST(FitContext, AutoReducesByMemory) {
  FitCase glm("glm-5.2", {DeviceOfSize("cpu", DeviceKind::kCpu, 460 * kGiB)});
  auto choice = ChooseContext(glm.file(), glm.spec(), glm.request);
  ASSERT_TRUE(choice.ok()) << choice.status().message();
  EXPECT_EQ(choice->from, 1048576u);
  EXPECT_LT(choice->to, choice->from);
  EXPECT_GT(choice->to, 8192u);
  EXPECT_EQ(choice->to, glm.Largest());
  EXPECT_EQ(glm.request.options.context, choice->to);
  EXPECT_NE(choice->why.find("at 1048576 cpu needs "), std::string::npos) << choice->why;
  EXPECT_TRUE(glm.Judge().yes());

  const std::uint64_t before = choice->to;
  glm.Give("cpu", 500 * kGiB);
  choice = ChooseContext(glm.file(), glm.spec(), glm.request);
  EXPECT_GT(choice->to, before);
  glm.Give("cpu", 4096 * kGiB);
  choice = ChooseContext(glm.file(), glm.spec(), glm.request);
  EXPECT_EQ(choice->to, 1048576u);
  EXPECT_EQ(choice->why, "");
}

// Every remedy is what the planner says when it is done.
TEST(FitRemedies, HoldWhenTheyAreTaken) {
  struct Case {
    const char* model;
    std::uint64_t card;
    std::uint64_t context;
    std::int64_t ubatch;
  };
  std::set<std::string_view> kinds;
  for (const Case& one : {Case{"llama-8b", 8, 40960, 512}, Case{"llama-8b", 7, 8192, 8192},
                          Case{"moe-48x928", 24, 32768, 512}, Case{"qwen3-30b-a3b", 18, 16384, 512},
                          Case{"gemma-4-26b", 18, 131072, 2048}, Case{"llama-70b", 24, 8192, 512},
                          Case{"llama-8b", 6, 131072, 4096}}) {
    FitCase model(one.model, Desk(one.card * kGiB), "cuda:0");
    const Fit fit = model.At(one.context, 1, one.ubatch);
    EXPECT_EQ(fit.verdict, FitVerdict::kDoesNotFit) << one.model;
    EXPECT_FALSE(fit.remedies.empty()) << one.model;
    for (const Remedy& remedy : fit.remedies) {
      kinds.insert(remedy.kind);
      FitRequest request = model.request;
      request.options.context = remedy.context;
      request.options.kv_type = remedy.kv_type;
      request.options.ubatch = remedy.ubatch;
      if (!remedy.device.empty()) request.options.device = remedy.device;
      if (remedy.expert_layers > 0) {
        request.options.placement = ExpertsOnHost(model.file(), model.spec(), request.devices[1],
                                                  request.devices[0], remedy.expert_layers);
      }
      const auto taken = JudgeFit(model.file(), model.spec(), request);
      ASSERT_TRUE(taken.ok()) << taken.status().message();
      EXPECT_EQ(taken->verdict, remedy.verdict) << one.model << " " << RemedyText(remedy, fit);
      EXPECT_EQ(NeedAt(*taken, remedy.where), remedy.need_bytes);
      EXPECT_EQ(static_cast<std::int64_t>(NeedAt(fit, remedy.where)) - remedy.saved_bytes,
                static_cast<std::int64_t>(remedy.need_bytes));
    }
  }
  for (const char* kind : {"context", "kv_type", "ubatch", "experts_on_cpu", "device"}) {
    EXPECT_TRUE(kinds.contains(kind)) << kind;
  }
}

TEST(FitRemedies, AreTheLeastThatHelps) {
  FitCase moe("moe-48x928", Desk(24 * kGiB), "cuda:0");
  const Fit fit = moe.At(32768);
  const Remedy* remedy = FindRemedy(fit, "experts_on_cpu");
  ASSERT_NE(remedy, nullptr);
  moe.request.options.placement = ExpertsOnHost(moe.file(), moe.spec(), moe.request.devices[1],
                                                moe.request.devices[0], remedy->expert_layers - 1);
  EXPECT_FALSE(moe.Judge().yes());
  EXPECT_EQ(RemedyText(*remedy, fit).substr(0, 23),
            "experts of " + std::to_string(remedy->expert_layers) + " layers on");
}

TEST(FitRemedies, NoneWhereNothingHelps) {
  FitCase llama("llama-70b", {DeviceOfSize("cpu", DeviceKind::kCpu, 512 * kMiB)});
  llama.Give("cpu", 30 * kMiB);
  const Fit fit = llama.At(64, 1, 16);
  EXPECT_EQ(fit.verdict, FitVerdict::kDoesNotFit);
  EXPECT_TRUE(fit.remedies.empty());
}

// More of anything never needs less, and nothing is absurd.
TEST(FitProperties, NeedsGrowWithContextSequencesAndSteps) {
  for (const std::string_view name : HeaderModelNames()) {
    if (name == "unknown-arch") continue;
    FitCase model(name, ProfileDevices("rtx-4090"), "cuda:0");
    const auto needs = [&](std::uint64_t context, std::int64_t sequences, std::int64_t ubatch) {
      const Fit fit = model.At(context, sequences, ubatch);
      for (const DeviceFit& device : fit.devices) {
        EXPECT_LT(device.need_bytes, kMostBytes) << name;
        std::uint64_t sum = 0;
        for (const FitRow& row : device.rows) sum += row.bytes;
        EXPECT_EQ(sum, device.need_bytes);
      }
      EXPECT_EQ(fit.file.sum(), model.file().total_bytes()) << name;
      EXPECT_EQ(fit.file.bytes, model.file().total_bytes()) << name;
      return On(fit, "cuda:0").need_bytes;
    };
    const std::vector<std::uint64_t> contexts = {1, 63, 64, 65, 500, 4096, 5000, 65536, 1048576};
    const std::vector<std::int64_t> sequences = {1, 2, 5, 16};
    const std::vector<std::int64_t> steps = {1, 16, 100, 512, 2048};
    std::uint64_t last = 0;
    for (const std::uint64_t context : contexts) {
      const std::uint64_t need = needs(context, 2, 512);
      EXPECT_GE(need, last) << name << " context " << context;
      last = need;
    }
    last = 0;
    for (const std::int64_t some : sequences) {
      const std::uint64_t need = needs(4096, some, 512);
      EXPECT_GT(need, last) << name << " sequences " << some;
      last = need;
    }
    last = 0;
    for (const std::int64_t step : steps) {
      const std::uint64_t need = needs(4096, 1, step);
      EXPECT_GT(need, last) << name << " ubatch " << step;
      last = need;
    }
  }
}

TEST(FitProperties, TheSameQuestionHasTheSameAnswer) {
  const auto text = [] {
    FitCase model("gemma-4-26b", ProfileDevices("strix-halo-gfx1151"), "hip:0");
    JsonWriter json;
    json.BeginObject();
    WriteFitBody(json, {}, model.At(32768), {});
    return json.EndObject().Take();
  };
  EXPECT_EQ(text(), text());
}

TEST(FitCurves, OfEveryTypeOfKeys) {
  FitCase llama("llama-8b", Desk(8 * kGiB), "cuda:0");
  const Fit fit = llama.At(5000);
  const auto curves = FitCurves(llama.file(), llama.spec(), llama.request, fit);
  ASSERT_TRUE(curves.ok()) << curves.status().message();
  ASSERT_EQ(curves->size(), 4u);
  for (const FitCurve& curve : *curves) {
    EXPECT_EQ(curve.refused, "");
    ASSERT_TRUE(curve.max_context.has_value());
    ASSERT_GT(curve.points.size(), 5u);
    EXPECT_EQ(curve.points.front().context, 512u);
    EXPECT_EQ(curve.points.back().context, llama.spec().context_train);
    for (const FitCurve::Point& point : curve.points) {
      EXPECT_EQ(point.verdict == FitVerdict::kFits, point.context <= *curve.max_context);
    }
  }
  EXPECT_GT(curves->at(3).max_context, curves->at(1).max_context);
  EXPECT_EQ(curves->at(1).max_context, curves->at(2).max_context);
  EXPECT_GT(curves->at(1).max_context, curves->at(0).max_context);
  FitModel named;
  named.name = "A < B & C";
  const std::string plot = FitPlot(named, fit, *curves);
  EXPECT_EQ(plot.substr(0, 4), "<svg");
  EXPECT_NE(plot.find("A &lt; B &amp; C"), std::string::npos);
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = plot.find("<polyline", at)) != std::string::npos; ++at) ++lines;
  EXPECT_EQ(lines, 4u);
  EXPECT_EQ(plot.find("nan"), std::string::npos);
  EXPECT_EQ(plot.find("inf"), std::string::npos);
}

TEST(FitCurves, SayWhichTypesAModelCannotHave) {
  EqualLayers sizes;
  sizes.experts = 0;
  sizes.head_dim = 80;
  FitCase odd(EqualLayersHeader("odd", sizes).Open(), Desk(8 * kGiB));
  const auto curves = FitCurves(odd.file(), odd.spec(), odd.request, odd.At(512));
  ASSERT_TRUE(curves.ok()) << curves.status().message();
  EXPECT_EQ(curves->at(0).refused, "");
  EXPECT_NE(curves->at(3).refused.find("80"), std::string::npos);
}

}  // namespace
}  // namespace vt::test
