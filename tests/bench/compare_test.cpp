#include "bench/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bench/bench_export.h"
#include "bench/floors.h"
#include "ops/cases/random_data.h"

namespace vt {
namespace {

// As llama-bench -o json prints a test, by its documented field names.
constexpr char kLlamaBench[] = R"(some chatter of a backend
[
  {
    "build_commit": "8f3e7a1", "build_number": 6210, "cpu_info": "AMD Ryzen 9 7950X", "gpu_info": "",
    "backends": "CPU", "model_filename": "m.gguf", "model_type": "llama 1B Q4_K - Medium",
    "model_size": 799862784, "model_n_params": 1235814432, "n_batch": 2048, "n_ubatch": 512,
    "n_threads": 8, "n_prompt": 512, "n_gen": 0, "n_depth": 0, "test_time": "2026-01-01T00:00:00Z",
    "avg_ns": 2000000000, "stddev_ns": 1, "avg_ts": 256.0, "stddev_ts": 0.1,
    "samples_ns": [ 2000000000, 1000000000, 4000000000 ], "samples_ts": [ 256.0, 512.0, 128.0 ]
  },
  {
    "build_commit": "8f3e7a1", "model_filename": "m.gguf", "n_prompt": 0, "n_gen": 128,
    "n_depth": 4096, "avg_ns": 4000000000, "avg_ts": 32.0
  }
]
)";

TEST(ParseRates, ReadsLlamaBench) {
  const auto rates = ParseRates(kLlamaBench);
  ASSERT_TRUE(rates.ok()) << rates.status().message();
  EXPECT_EQ(rates->program, "llama-bench 8f3e7a1");
  EXPECT_EQ(rates->model, "m.gguf");
  ASSERT_EQ(rates->axes.size(), 2u);
  EXPECT_EQ(rates->axes[0].axis, "pp512");
  EXPECT_EQ(rates->axes[0].kind, "prefill");
  EXPECT_EQ(rates->axes[0].tok_per_s, (std::vector<double>{256, 512, 128}));
  EXPECT_EQ(rates->axes[0].median, 256);
  EXPECT_EQ(rates->axes[1].axis, "tg128@d4096");
  EXPECT_EQ(rates->axes[1].median, 32);
  EXPECT_TRUE(rates->kernels.empty());
}

TEST(ParseRates, ReadsJsonLines) {
  const auto rates = ParseRates(
      "{\"build_commit\": \"a\", \"model_filename\": \"m\", \"n_prompt\": 16, \"n_gen\": 0, "
      "\"avg_ts\": 10.0, \"samples_ts\": [ 9.0, 11.0 ]}\n"
      "{\"n_prompt\": 16, \"n_gen\": 4, \"avg_ts\": 5.0}\n");
  ASSERT_TRUE(rates.ok()) << rates.status().message();
  ASSERT_EQ(rates->axes.size(), 2u);
  EXPECT_EQ(rates->axes[0].median, 10);
  EXPECT_EQ(rates->axes[1].axis, "pp16+tg4");
}

TEST(ParseRates, SaysWhatIsWrong) {
  const auto message = [](std::string_view text) { return ParseRates(text).status().message(); };
  EXPECT_NE(message("").find("holds no JSON"), std::string::npos);
  EXPECT_NE(message("| model | pp512 |\n").find("holds no JSON"), std::string::npos);
  EXPECT_NE(message("[]").find("has no result"), std::string::npos);
  EXPECT_NE(message("{\"a\": 1}").find("neither"), std::string::npos);
  EXPECT_NE(message("[{\"n_prompt\": 1, \"avg_ts\": 0}]").find("no rate above 0"),
            std::string::npos);
  EXPECT_FALSE(ParseRates("[{\"n_prompt\": 1, \"avg_ts\"").ok());
  EXPECT_FALSE(ParseRates("[1]").ok());
}

TEST(ParseRates, OwnRecordsInBothForms) {
  BenchRecord record;
  record.partial = false;
  record.tool_commit = "abc";
  record.model.file = "dir/m.gguf";
  BenchResult result;
  result.test = {.kind = BenchKind::kDecode, .n_gen = 10, .batch = 2};
  result.samples_ns = {1'000'000'000, 2'000'000'000};
  record.results = {result};
  record.launches = {{"matmul", "cpu", "cpu.avx2.q15", "native", 5}};
  record.voids = {{"unstable", "tg10x2", "x"}};
  const auto own = ParseRates(BenchJson(record));
  ASSERT_TRUE(own.ok()) << own.status().message();
  EXPECT_EQ(own->axes[0].axis, "tg10x2");
  EXPECT_EQ(own->axes[0].tok_per_s, (std::vector<double>{20, 10}));
  EXPECT_EQ(own->kernels, std::vector<std::string>{"matmul cpu.avx2.q15"});
  EXPECT_EQ(own->voids, std::vector<std::string>{"unstable"});
  EXPECT_FALSE(own->partial);
  const auto other = ParseRates(LlamaBenchJson(record));
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(other->axes[0].tok_per_s, (std::vector<double>{20, 10}));
}

TEST(Compare, TurnsAreAbba) {
  std::string order;
  for (int turn = 0; turn < 8; ++turn) order.push_back(ArmOfTurn(turn));
  EXPECT_EQ(order, "abbaabba");
}

RatesDocument Rates(double pp, double tg) {
  RatesDocument document;
  document.axes = {{"pp512", "prefill", {pp}, pp}, {"tg128", "decode", {tg}, tg}};
  return document;
}

// A value of the normal distribution (Box and Muller).
double Normal(RandomData& random) {
  const double u = 1 - random.Uniform(0, 1), v = random.Uniform(0, 1);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979 * v);
}

// A machine as they are: rates have noise of 1 %, lose 5 % over the run as it heats up, and one in
// twenty is disturbed and 3 to 25 % low. B is `ratio` times A.
class NoisyMachine {
 public:
  NoisyMachine(double ratio, std::uint64_t seed) : ratio_(ratio), random_(seed) {}

  void RunPair(std::vector<Leg>& legs) {
    for (int i = 0; i < 2; ++i, ++turn_) {
      const char arm = ArmOfTurn(turn_);
      double rate = 100 * (1 - 0.05 * turn_ / 80) * (arm == 'b' ? ratio_ : 1);
      rate *= 1 + 0.01 * Normal(random_);
      if (random_.Uniform(0, 1) < 0.05) rate *= 1 - random_.Uniform(0.03, 0.25);
      legs.push_back({.arm = arm, .pair = turn_ / 2, .wall_ns = 0, .rates = Rates(rate, 10)});
      legs.back().rates.axes.pop_back();
    }
  }

 private:
  double ratio_;
  RandomData random_;
  int turn_ = 0;
};

// As vt-bench compare does with its defaults: 8 pairs, then until the interval is at most +-1 %.
SpeedVerdict VerdictOn(NoisyMachine machine, std::uint64_t seed) {
  std::vector<Leg> legs;
  for (int pair = 0; pair < 7; ++pair) machine.RunPair(legs);
  for (int pair = 7; pair < 40; ++pair) {
    machine.RunPair(legs);
    const auto axes = CompareLegs(legs, 0.01, seed);
    if (Resolved(axes, 0.01) || pair == 39) return axes[0].verdict;
  }
  return SpeedVerdict::kWithinNoise;
}

std::vector<Leg> Legs(int pairs, double a, double b) {
  std::vector<Leg> legs;
  for (int turn = 0; turn < 2 * pairs; ++turn) {
    const char arm = ArmOfTurn(turn);
    legs.push_back(
        {.arm = arm, .pair = turn / 2, .wall_ns = 0, .rates = Rates(arm == 'b' ? b : a, 10)});
  }
  return legs;
}

TEST(Compare, RatiosAreOfPairs) {
  std::vector<Leg> legs = Legs(7, 100, 150);
  legs.pop_back();  // the last pair is not whole
  const auto axes = CompareLegs(legs, 0.01, 1);
  ASSERT_EQ(axes.size(), 2u);
  EXPECT_EQ(axes[0].ratios.size(), 6u);
  EXPECT_EQ(axes[0].verdict, SpeedVerdict::kFaster);
  EXPECT_EQ(axes[1].verdict, SpeedVerdict::kWithinNoise);
  EXPECT_TRUE(CompareLegs({legs[0]}, 0.01, 1).empty());
}

TEST(Compare, FewPairsProveNothing) {
  const auto axes = CompareLegs(Legs(5, 100, 50), 0.01, 1);
  EXPECT_EQ(axes[0].verdict, SpeedVerdict::kWithinNoise);
  EXPECT_FALSE(Resolved(axes, 0.01));
  const auto doubts = DoubtsOfLegs(Legs(5, 100, 50), axes, 0.01);
  ASSERT_EQ(doubts.size(), 2u);  // of each axis
  EXPECT_EQ(doubts[0], "pp512: 5 pairs are too few for a verdict (at least 6)");
}

TEST(Compare, LegsThatWereRunAgainDoNotCount) {
  std::vector<Leg> legs = Legs(8, 100, 100);
  for (Leg& leg : legs) {
    if (leg.pair != 3) continue;
    leg.counts = false;
    leg.host.quiet = false;
    leg.rates = Rates(leg.arm == 'a' ? 1 : 1000, 10);
  }
  auto axes = CompareLegs(legs, 0.01, 1);
  EXPECT_EQ(axes[0].ratios, std::vector<double>(7, 1.0));
  EXPECT_TRUE(Resolved(axes, 0.01));
  EXPECT_TRUE(DoubtsOfLegs(legs, axes, 0.01).empty());
  for (Leg& leg : legs) leg.counts = true;
  legs[6].host.reason = "somebody compiled";
  legs[7].host.reason = "somebody compiled";
  axes = CompareLegs(legs, 0.01, 1);
  EXPECT_FALSE(Resolved(axes, 0.01));
  const auto doubts = DoubtsOfLegs(legs, axes, 0.01);
  ASSERT_EQ(doubts.size(), 2u);
  EXPECT_EQ(doubts[0],
            "the machine was disturbed in 2 of 16 runs; in the last of them somebody compiled");
  EXPECT_NE(doubts[1].find("pp512: the interval is +-"), std::string::npos) << doubts[1];
}

TEST(Compare, TheSameIsWithinNoiseAndAThreePercentLossIsFound) {
  constexpr int kRuns = 200;
  int same = 0, slower = 0;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    same += VerdictOn({1.0, seed}, seed) == SpeedVerdict::kWithinNoise ? 1 : 0;
    slower += VerdictOn({0.97, seed + 1000}, seed) == SpeedVerdict::kSlower ? 1 : 0;
  }
  RecordProperty("within_noise_of_200", same);
  RecordProperty("slower_of_200", slower);
  EXPECT_GE(same, kRuns * 95 / 100);
  EXPECT_GE(slower, kRuns * 95 / 100);
}

TEST(Compare, RecordsCompareTheirSamples) {
  RatesDocument a = Rates(100, 10), b = Rates(100, 10);
  a.axes[0].tok_per_s = {100, 101, 99, 100, 100};
  b.axes[0].tok_per_s = {90, 91, 89, 90, 90};
  const auto axes = CompareRecords(a, b, 0.01, 1);
  EXPECT_EQ(axes[0].verdict, SpeedVerdict::kSlower);
  EXPECT_NEAR(axes[0].ratio.median, 0.9, 1e-12);
  // One sample shows no noise.
  EXPECT_EQ(axes[1].verdict, SpeedVerdict::kWithinNoise);
}

TEST(Compare, ArmsMustDifferWhereTheyClaimTo) {
  RatesDocument a = Rates(1, 1), b = Rates(1, 1);
  EXPECT_NE(CheckArms(a, b).message.find("does not tell"), std::string::npos);
  a.kernels = b.kernels = {"matmul cpu.avx2.q15"};
  EXPECT_FALSE(CheckArms(a, b).passed);
  b.kernels = {"matmul cpu.scalar.q15"};
  EXPECT_TRUE(CheckArms(a, b).passed);
}

TEST(Compare, DoubtsAreNamed) {
  RatesDocument a = Rates(1, 1), b = Rates(1, 1);
  a.model = "/x/m.gguf";
  b.model = "/y/m.gguf";
  EXPECT_TRUE(Doubts(a, b).empty());
  b.model = "/y/n.gguf";
  b.voids = {"unstable"};
  EXPECT_EQ(Doubts(a, b).size(), 2u);
}

TEST(Floors, ReachedMissedAndRaised) {
  const auto floors = ParseFloors(
      R"({"schema":"vt.bench-floors/1","floors":[
      {"axis":"pp512","value":100,"tolerance":0.05,"machine":"*"},
      {"axis":"tg128","value":10,"tolerance":0.05,"machine":"Ryzen"},
      {"axis":"tg64","value":10,"tolerance":0.05,"machine":"*","model":"m.gguf"},
      {"axis":"pp512","value":1,"tolerance":0.05,"machine":"*","model":"other.gguf"}]})");
  ASSERT_TRUE(floors.ok()) << floors.status().message();
  RatesDocument rates = Rates(96, 11);
  rates.device = "AMD Ryzen 9 7950X";
  rates.model = "/models/m.gguf";
  auto answers = CheckFloors(*floors, rates);
  using State = FloorAnswer::State;
  EXPECT_EQ(answers[0].state, State::kReached);
  EXPECT_FALSE(answers[0].proposed);
  EXPECT_EQ(answers[1].state, State::kReached);
  EXPECT_EQ(answers[1].proposed, 11);
  EXPECT_EQ(answers[2].state, State::kNotMeasured);
  EXPECT_EQ(answers[3].state, State::kOtherModel);
  EXPECT_FALSE(Passed(answers));
  answers.erase(answers.begin() + 2);
  EXPECT_TRUE(Passed(answers));
  EXPECT_EQ(CheckFloors(*floors, Rates(94, 11))[0].state, State::kRegression);
  EXPECT_EQ(CheckFloors(*floors, Rates(94, 11))[1].state, State::kOtherMachine);
  EXPECT_FALSE(Passed({}));
  EXPECT_TRUE(ParseFloors(FloorsDocument(*floors)).ok());
}

TEST(Floors, ReadsStrictly) {
  const auto at = [](const std::string& row) {
    return ParseFloors("{\"schema\":\"vt.bench-floors/1\",\"floors\":[" + row + "]}").status().at();
  };
  EXPECT_EQ(at(R"({"axis":"pp1","value":1,"tolerance":0,"machine":"*"})"), "");
  EXPECT_EQ(at(R"({"axis":"pp1","value":0,"tolerance":0,"machine":"*"})"), "/floors/0/value");
  EXPECT_EQ(at(R"({"axis":"pp1","value":1,"tolerance":1,"machine":"*"})"), "/floors/0/tolerance");
  EXPECT_EQ(at(R"({"axis":"pp1","value":1,"tolerance":0,"machine":""})"), "/floors/0/machine");
  EXPECT_EQ(at(R"({"axis":"pp1","value":1,"tolerance":0,"machine":"*","x":1})"), "/floors/0/x");
  EXPECT_FALSE(ParseFloors(R"({"schema":"vt.bench-floors/1","floors":[]})").ok());
  EXPECT_FALSE(ParseFloors("{}").ok());
}

}  // namespace
}  // namespace vt
