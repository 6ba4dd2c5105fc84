// route: every kernel against the scalar one to the bit, and that one against a sort of all experts
// and the formula in double.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "cpu/kernel_harness.h"

namespace vt::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr Gating kGatings[] = {Gating::kSoftmax, Gating::kSigmoid, Gating::kSoftmaxOfChosen};

struct Problem {
  RouteArgs args;
  std::vector<float> logits;
  std::vector<float> bias;  // empty: none
};

// Logits of few values, so that there are ties, or of many.
Problem Make(std::int64_t rows, std::int64_t experts, std::int64_t used, std::uint32_t seed,
             bool ties = true) {
  Problem p;
  p.args = {.rows = rows, .experts = experts, .used = used};
  p.logits = RandomValues(Size(rows * experts), seed, 4.0f);
  if (ties) {
    for (float& logit : p.logits) logit = std::round(logit * 8) / 8;
  }
  return p;
}

struct Routed {
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
};

std::string LabelOf(const RouteArgs& a) {
  return OpShape("route", a.rows, a.experts) + " used " + std::to_string(a.used) + " groups " +
         std::to_string(a.groups_used) + "/" + std::to_string(a.groups) + " gating " +
         std::to_string(static_cast<int>(a.gating)) + (a.normalize ? " normalised" : "");
}

// By every kernel.
Routed RunAll(const Problem& problem) {
  RouteArgs args = problem.args;
  Guarded<float> logits(problem.logits), bias(problem.bias);
  args.logits = logits.data();
  if (!problem.bias.empty()) args.selection_bias = bias.data();
  const std::size_t chosen = Size(args.rows * args.used);
  std::vector<float> other_weights(chosen);
  std::vector<std::int32_t> other_ids(chosen);
  Routed out;
  out.ids = RunEveryKernel(
      args, std::vector<std::int32_t>(chosen, -1),
      [&](RouteArgs& a, std::int32_t* ids) {
        a.ids = ids;
        a.weights = other_weights.data();
      },
      LabelOf(args) + " ids");
  out.weights = RunEveryKernel(
      args, std::vector<float>(chosen, -1),
      [&](RouteArgs& a, float* weights) {
        a.ids = other_ids.data();
        a.weights = weights;
      },
      LabelOf(args) + " weights");
  return out;
}

// s of one row in f32, by other ops.
std::vector<float> Scores(const RouteArgs& a, const float* logits) {
  std::vector<float> s(logits, logits + a.experts);
  if (a.gating == Gating::kSoftmax) {
    RunReference(SoftmaxArgs{.x = s.data(), .out = s.data(), .rows = 1, .cols = a.experts});
  } else if (a.gating == Gating::kSigmoid) {
    const std::vector<float> ones(s.size(), 1.0f);
    RunReference(SigmoidMulArgs{.x = ones.data(),
                                .gate = logits,
                                .out = s.data(),
                                .rows = 1,
                                .cols = a.experts,
                                .gate_cols = a.experts});
  }
  return s;
}

// The choice by sorting everything.
std::vector<std::int32_t> Sorted(const Problem& p, std::int64_t row) {
  const RouteArgs& a = p.args;
  std::vector<float> b = Scores(a, p.logits.data() + row * a.experts);
  for (std::size_t e = 0; e < p.bias.size(); ++e) b[e] += p.bias[e];
  const auto by = [](const std::vector<float>& value) {
    return [&value](std::int32_t i, std::int32_t j) { return value[Size(i)] > value[Size(j)]; };
  };
  const auto count_to = [](std::int64_t count) {
    std::vector<std::int32_t> all(Size(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
  };
  const std::int64_t size = a.experts / a.groups;
  std::vector<float> group_value;
  for (std::int64_t g = 0; g < a.groups; ++g) {
    std::vector<float> members(b.begin() + g * size, b.begin() + (g + 1) * size);
    std::sort(members.begin(), members.end(), std::greater<>());
    group_value.push_back(p.bias.empty() || size == 1 ? members[0] : members[0] + members[1]);
  }
  std::vector<std::int32_t> groups = count_to(a.groups);
  std::stable_sort(groups.begin(), groups.end(), by(group_value));
  const std::set<std::int32_t> open(groups.begin(), groups.begin() + a.groups_used);
  std::vector<std::int32_t> ids = count_to(a.experts);
  std::erase_if(
      ids, [&](std::int32_t e) { return !open.contains(static_cast<std::int32_t>(e / size)); });
  std::stable_sort(ids.begin(), ids.end(), by(b));
  ids.resize(Size(a.used));
  return ids;
}

// The weights of `ids` in double.
std::vector<double> Weights(const Problem& p, std::int64_t row, const std::int32_t* ids) {
  const RouteArgs& a = p.args;
  const float* logits = p.logits.data() + row * a.experts;
  double all = 0, sum = 0;
  for (std::int64_t e = 0; e < a.experts; ++e) all += std::exp(double{logits[e]});
  std::vector<double> weights;
  for (std::int64_t j = 0; j < a.used; ++j) {
    const double logit = logits[ids[j]];
    if (a.gating == Gating::kSigmoid) {
      weights.push_back(1 / (1 + std::exp(-logit)));
    } else {
      weights.push_back(std::exp(logit) / (a.gating == Gating::kSoftmax ? all : 1));
    }
    sum += weights.back();
  }
  if (a.gating == Gating::kSoftmaxOfChosen) {
    for (double& w : weights) w /= sum;
    sum = 1;
  }
  for (double& w : weights) w *= a.scale / (a.normalize ? std::max(sum, 0x1p-14) : 1.0);
  return weights;
}

void Check(const Problem& p) {
  const Routed got = RunAll(p);
  std::vector<std::int32_t> want_ids;
  std::vector<double> want, limit;
  for (std::int64_t r = 0; r < p.args.rows; ++r) {
    const auto ids = Sorted(p, r);
    want_ids.insert(want_ids.end(), ids.begin(), ids.end());
    for (const double w : Weights(p, r, ids.data())) {
      want.push_back(w);
      // exp of logits and their differences below 8, the sums, quotients and the scale.
      limit.push_back(std::abs(w) * (2 * SumError(p.args.experts) + 24 * kUnit));
    }
  }
  ExpectSameBits(want_ids, got.ids, LabelOf(p.args));
  ExpectNear(want, got.weights, limit, LabelOf(p.args));
}

TEST(RouteTest, EveryWidthAndGating) {
  std::vector<std::int64_t> widths = Widths();
  for (const std::int64_t experts : {60, 64, 72, 128, 160, 256, 512, 1024}) {
    widths.push_back(experts);
  }
  std::uint32_t turn = 0;
  for (const std::int64_t experts : widths) {
    for (const std::int64_t used : {std::int64_t{1}, std::int64_t{2}, std::int64_t{8}, experts}) {
      if (used > experts || (used == experts && experts > 40)) continue;
      for (const Gating gating : kGatings) {
        ++turn;
        Problem p = Make(turn % 4, experts, used, turn, turn % 3 != 0);
        p.args.gating = gating;
        p.args.normalize = turn % 2 == 0;
        p.args.scale = turn % 5 == 0 ? 2.5f : 1.0f;
        if (turn % 4 >= 2) p.bias = RandomValues(Size(experts), turn + 1, 0.5f);
        Check(p);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(RouteTest, Groups) {
  std::uint32_t turn = 0;
  for (const std::int64_t size : {1, 2, 5, 16, 17, 32, 100}) {
    for (const std::int64_t groups : {2, 4, 8}) {
      for (std::int64_t groups_used : {std::int64_t{1}, groups / 2, groups}) {
        for (const Gating gating : kGatings) {
          for (const bool biased : {false, true}) {
            Problem p = Make(3, size * groups, std::min<std::int64_t>(4, size * groups_used),
                             ++turn, !biased);
            p.args.groups = groups;
            p.args.groups_used = groups_used;
            p.args.gating = gating;
            if (biased) p.bias = RandomValues(Size(size * groups), turn, 0.3f);
            Check(p);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

void ExpectSame(const Routed& a, const Routed& b, const std::string& label) {
  ExpectSameBits(a.ids, b.ids, label);
  ExpectSameBits(a.weights, b.weights, label);
}

TEST(RouteTest, AllGroupsAreNoGroups) {
  for (const Gating gating : kGatings) {
    Problem p = Make(7, 64, 6, 3);
    p.args.gating = gating;
    const Routed plain = RunAll(p);
    p.args.groups = p.args.groups_used = 8;
    ExpectSame(plain, RunAll(p), LabelOf(p.args));
  }
}

TEST(RouteTest, TheSameBiasForAllChangesNothing) {
  for (const Gating gating : kGatings) {
    Problem p = Make(7, 128, 8, 4);
    p.args.gating = gating;
    p.args.normalize = true;
    const Routed plain = RunAll(p);
    p.bias.assign(128, 0.5f);
    ExpectSame(plain, RunAll(p), LabelOf(p.args));
  }
}

TEST(RouteTest, ABiasChoosesAndDoesNotWeigh) {
  Problem p = Make(5, 16, 3, 5);
  p.args.gating = Gating::kSigmoid;
  p.bias.assign(16, 0.0f);
  p.bias[11] = 100.0f;
  p.bias[2] = -kInf;
  const Routed got = RunAll(p);
  for (std::int64_t r = 0; r < 5; ++r) {
    EXPECT_EQ(got.ids[Size(3 * r)], 11);
    EXPECT_NEAR(got.weights[Size(3 * r)], 1 / (1 + std::exp(-p.logits[Size(16 * r + 11)])), 1e-6);
    for (std::int64_t j = 0; j < 3; ++j) EXPECT_NE(got.ids[Size(3 * r + j)], 2);
  }
}

TEST(RouteTest, NormalisedWeightsSumToTheScale) {
  for (const Gating gating : kGatings) {
    for (const float scale : {1.0f, 2.5f, 0.125f}) {
      Problem p = Make(7, 64, 8, 6, false);
      p.args.gating = gating;
      p.args.normalize = true;
      p.args.scale = scale;
      const Routed got = RunAll(p);
      for (std::int64_t r = 0; r < 7; ++r) {
        double sum = 0;
        for (std::int64_t j = 0; j < 8; ++j) sum += got.weights[Size(8 * r + j)];
        EXPECT_NEAR(sum, scale, scale * 8 * kUnit) << LabelOf(p.args);
      }
    }
  }
}

// A sum below the least divisor is not blown up.
TEST(RouteTest, TinySumsAreHeld) {
  Problem p = Make(1, 4, 2, 7);
  p.logits = {-20.0f, -21.0f, -30.0f, -40.0f};
  p.args.gating = Gating::kSigmoid;
  p.args.normalize = true;
  const Routed got = RunAll(p);
  EXPECT_EQ(got.ids, (std::vector<std::int32_t>{0, 1}));
  EXPECT_NEAR(got.weights[0], std::exp(-20.0) * 0x1p14, 1e-9);
  EXPECT_NEAR(got.weights[1], std::exp(-21.0) * 0x1p14, 1e-9);
}

TEST(RouteTest, OfEqualsTheLowerIndex) {
  for (const std::int64_t experts : {5, 16, 33, 64}) {
    Problem p = Make(2, experts, 4, 8);
    std::fill(p.logits.begin(), p.logits.end(), 1.25f);
    for (const Gating gating : kGatings) {
      p.args.gating = gating;
      EXPECT_EQ(RunAll(p).ids, (std::vector<std::int32_t>{0, 1, 2, 3, 0, 1, 2, 3}));
    }
  }
}

// Its own row alone loses its weights, and the ids can still be followed.
TEST(RouteTest, NotANumberFillsTheWeightsOfItsRow) {
  for (const Gating gating : kGatings) {
    for (const bool grouped : {false, true}) {
      for (std::int64_t at = 0; at < 40; at += 13) {
        Problem p = Make(3, 40, 5, 9, false);
        p.args.gating = gating;
        p.args.normalize = at % 2 == 0;
        if (grouped) p.args.groups = 4, p.args.groups_used = 2;
        p.logits[Size(40 + at)] = NAN;
        const Routed got = RunAll(p);
        for (std::int64_t r = 0; r < 3; ++r) {
          std::set<std::int32_t> ids;
          for (std::int64_t i = 5 * r; i < 5 * (r + 1); ++i) {
            EXPECT_EQ(std::isnan(got.weights[Size(i)]), r == 1) << LabelOf(p.args) << " at " << at;
            EXPECT_TRUE(got.ids[Size(i)] >= 0 && got.ids[Size(i)] < 40);
            ids.insert(got.ids[Size(i)]);
          }
          EXPECT_EQ(ids.size(), 5u);
        }
      }
    }
  }
}

// Even where nothing is above -infinity, no expert of a closed group is chosen.
TEST(RouteTest, OnlyOpenGroups) {
  Problem p = Make(1, 16, 4, 10);
  p.args.gating = Gating::kSigmoid;
  p.args.groups = 4;
  p.args.groups_used = 1;
  p.bias.assign(16, -kInf);
  p.bias[13] = 0.0f;
  p.bias[14] = 0.0f;
  const Routed got = RunAll(p);
  EXPECT_EQ(std::set<std::int32_t>(got.ids.begin(), got.ids.end()),
            (std::set<std::int32_t>{12, 13, 14, 15}));
}

TEST(RouteTest, Shapes) {
  for (const Kernel<RouteArgs>& kernel : CpuOps().Rows<RouteArgs>()) {
    const auto reason = [&](RouteArgs args) { return kernel.supports(args).reason; };
    EXPECT_EQ(reason({.rows = 0, .experts = 8, .used = 8}), "");
    EXPECT_EQ(reason({.rows = 1, .experts = 8, .used = 9}), "used (9) exceeds experts (8)");
    EXPECT_EQ(reason({.rows = 1, .experts = 1025, .used = 9}),
              "experts (1025) exceeds the most experts of a layer (1024)");
    EXPECT_EQ(reason({.rows = 1, .experts = 8, .used = 2, .groups = 3}),
              "experts (8) must be a multiple of 3 (groups)");
    EXPECT_EQ(reason({.rows = 1, .experts = 8, .used = 5, .groups = 4, .groups_used = 2}),
              "used (5) exceeds experts of the groups used (4)");
  }
}

}  // namespace
}  // namespace vt::test
