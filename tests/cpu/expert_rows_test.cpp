// expert_gather, expert_combine and what they are between: every kernel against the formula, and
// the way over sorted pairs against the unsorted one.
#include <algorithm>
#include <numeric>

#include "cpu/matmul_fixture.h"

namespace vt::test {
namespace {

std::vector<std::int32_t> RandomOrder(std::int64_t count, std::uint32_t seed) {
  std::vector<std::int32_t> order(Size(count));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

TEST(ExpertGatherTest, EveryKernel) {
  for (const std::int64_t cols : Widths()) {
    for (const std::int64_t rows : {0, 1, 3, 7}) {
      for (const std::int64_t used : {1, 2, 5}) {
        for (const int form : {0, 1, 2, 3}) {
          const bool ordered = form & 1, weighted = form & 2;
          const std::int64_t pairs = rows * used;
          const auto x = WideValues(Size(rows * cols), 3);
          const auto weights = RandomValues(Size(pairs), 4);
          const auto order = RandomOrder(pairs, 5);
          Guarded<float> guarded_x(x), guarded_weights(weights);
          Guarded<std::int32_t> guarded_order(order);
          ExpertGatherArgs args{.x = guarded_x.data(), .pairs = pairs, .used = used, .cols = cols};
          if (ordered) args.order = guarded_order.data();
          if (weighted) args.weights = guarded_weights.data();
          const std::string label =
              OpShape("expert_gather", pairs, cols) + " form " + std::to_string(form);
          const auto got = RunEveryKernel(
              args, std::vector<float>(Size(pairs * cols)),
              [](ExpertGatherArgs& a, float* out) { a.out = out; }, label);
          std::vector<float> want;
          for (std::int64_t p = 0; p < pairs; ++p) {
            const std::int64_t q = ordered ? order[Size(p)] : p;
            for (std::int64_t c = 0; c < cols; ++c) {
              const float v = x[Size(q / used * cols + c)];
              want.push_back(weighted ? v * weights[Size(q)] : v);
            }
          }
          ExpectSameBits(want, got, label);
        }
      }
    }
  }
}

void CheckCombine(std::int64_t rows, std::int64_t used, std::int64_t cols, bool ordered,
                  bool weighted) {
  const std::int64_t pairs = rows * used;
  const auto x = RandomValues(Size(pairs * cols), 3);
  const auto weights = RandomValues(Size(pairs), 4);
  const auto order = RandomOrder(pairs, 5);
  std::vector<std::int64_t> place(Size(pairs));
  for (std::int64_t p = 0; p < pairs; ++p) {
    place[Size(ordered ? order[Size(p)] : p)] = p;
  }
  Guarded<float> guarded_x(x), guarded_weights(weights);
  Guarded<std::int32_t> guarded_order(order);
  ExpertCombineArgs args{.x = guarded_x.data(), .rows = rows, .used = used, .cols = cols};
  if (ordered) args.order = guarded_order.data();
  if (weighted) args.weights = guarded_weights.data();
  const std::string label = OpShape("expert_combine", rows, cols) + " used " +
                            std::to_string(used) + (ordered ? " ordered" : "") +
                            (weighted ? " weighted" : "");
  const auto got = RunEveryKernel(
      args, std::vector<float>(Size(rows * cols)),
      [](ExpertCombineArgs& a, float* out) { a.out = out; }, label);
  std::vector<double> want, limit;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      double sum = 0, size = 0;
      for (std::int64_t q = r * used; q < (r + 1) * used; ++q) {
        const double term =
            double{x[Size(place[Size(q)] * cols + c)]} * (weighted ? weights[Size(q)] : 1.0f);
        sum += term;
        size += std::abs(term);
      }
      want.push_back(sum);
      limit.push_back(size * kUnit * static_cast<double>(used) + 1e-30);
    }
  }
  ExpectNear(want, got, limit, label);
}

TEST(ExpertCombineTest, EveryKernel) {
  for (const std::int64_t cols : Widths()) {
    for (const std::int64_t rows : {0, 1, 3, 7}) {
      for (const std::int64_t used : {1, 2, 8}) {
        for (const int form : {0, 1, 2, 3}) {
          CheckCombine(rows, used, cols, form & 1, form & 2);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// More pairs than are looked up at a time, and rows of very many.
TEST(ExpertCombineTest, ManyPairs) {
  CheckCombine(1000, 8, 5, true, true);
  CheckCombine(4100, 1, 3, true, true);
  CheckCombine(9, 1024, 2, true, true);
  CheckCombine(1365, 7, 1, true, false);
}

TEST(ExpertRowsTest, Shapes) {
  for (const Kernel<ExpertGatherArgs>& kernel : CpuOps().Rows<ExpertGatherArgs>()) {
    EXPECT_EQ(kernel.supports({.pairs = 3, .used = 2, .cols = 4}).reason,
              "pairs (3) must be a multiple of 2 (used)");
  }
  for (const Kernel<ExpertCombineArgs>& kernel : CpuOps().Rows<ExpertCombineArgs>()) {
    EXPECT_EQ(kernel.supports({.rows = 3, .used = 0, .cols = 4}).reason,
              "used (0) must be at least 1");
    EXPECT_EQ(kernel.supports({.rows = 3, .used = 1025, .cols = 4}).reason,
              "used (1025) exceeds the most experts of a layer (1024)");
  }
}

// The experts' products of a step, row by row or sorted by expert: the same bits.
TEST(ExpertRowsTest, SortedAndUnsortedAgree) {
  constexpr std::int64_t kExperts = 8, kUsed = 3, kN = 33, kCols = 256;
  for (const std::int64_t rows : {1, 13, 40}) {
    for (const ActType act : {ActType::kF32, ActType::kQ15}) {
      for (const DType type : {DType::kQ8_0, DType::kQ4_K}) {
        for (const bool weigh_first : {false, true}) {
          const std::int64_t pairs = rows * kUsed;
          const auto logits = RandomValues(Size(rows * kExperts), 1, 3.0f);
          const auto x = RandomValues(Size(rows * kCols), 2);
          const auto bias = RandomValues(Size(kExperts * kN), 3);
          std::vector<std::uint8_t> bytes(Size(kExperts * kN) * RowBytes(type, kCols));
          Random random(4);
          FillWeights(type, kExperts * kN, kCols, bytes.data(), random);

          std::vector<std::int32_t> ids(Size(pairs)), sorted(Size(pairs)), order(Size(pairs));
          std::vector<float> weights(Size(pairs));
          RunReference(RouteArgs{.logits = logits.data(),
                                 .rows = rows,
                                 .experts = kExperts,
                                 .used = kUsed,
                                 .normalize = true,
                                 .ids = ids.data(),
                                 .weights = weights.data()});
          RunReference(ExpertSortArgs{.ids = ids.data(),
                                      .pairs = pairs,
                                      .experts = kExperts,
                                      .order = order.data(),
                                      .sorted_ids = sorted.data()});

          // y[pair, :] of rows that lie `x_repeat` pairs to one.
          const auto multiply = [&](const float* from, std::int64_t x_repeat,
                                    const std::vector<std::int32_t>& experts) {
            const std::int64_t from_rows = pairs / x_repeat;
            std::vector<std::int8_t> high(Size(from_rows * kCols)), low(high.size());
            std::vector<float> scales(high.size() / 32), y(Size(pairs * kN));
            std::vector<std::int32_t> sums(scales.size());
            ExpertMatmulArgs args{
                .w = {.type = type, .rows = kExperts * kN, .cols = kCols, .data = bytes.data()},
                .experts = kExperts,
                .x_repeat = x_repeat,
                .bias = bias.data(),
                .act = act,
                .ids = experts.data(),
                .rows = pairs,
                .out = y.data()};
            if (act == ActType::kQ15) {
              args.q = {high.data(), low.data(), scales.data(), sums.data()};
              RunReference(
                  QuantizeArgs{.x = from, .out = args.q, .rows = from_rows, .cols = kCols});
            } else {
              args.x = from;
            }
            RunReference(args);
            return y;
          };
          const auto gather = [&](const std::int32_t* by) {
            std::vector<float> rows_of_pairs(Size(pairs * kCols));
            RunReference(ExpertGatherArgs{.x = x.data(),
                                          .order = by,
                                          .weights = weigh_first ? weights.data() : nullptr,
                                          .pairs = pairs,
                                          .used = kUsed,
                                          .cols = kCols,
                                          .out = rows_of_pairs.data()});
            return rows_of_pairs;
          };
          const auto combine = [&](const std::vector<float>& y, const std::int32_t* by) {
            std::vector<float> out(Size(rows * kN));
            RunReference(ExpertCombineArgs{.x = y.data(),
                                           .order = by,
                                           .weights = weigh_first ? nullptr : weights.data(),
                                           .rows = rows,
                                           .used = kUsed,
                                           .cols = kN,
                                           .out = out.data()});
            return out;
          };

          const auto unsorted = weigh_first ? multiply(gather(nullptr).data(), 1, ids)
                                            : multiply(x.data(), kUsed, ids);
          const auto grouped = multiply(gather(order.data()).data(), 1, sorted);
          ExpectSameBits(combine(unsorted, nullptr), combine(grouped, order.data()),
                         std::string(NameOf(type)) + " rows " + std::to_string(rows));
        }
      }
    }
  }
}

// A scale of 3 for every expert: exactly three times each value, and what it was read from stays.
TEST(ExpertRowsTest, TheScaleOfAnExpertIsAppliedOnceAndElsewhere) {
  constexpr std::int64_t kPairs = 14, kCols = 37;
  const auto y = RandomValues(Size(kPairs * kCols), 6);
  const std::vector<float> scales(8, 3.0f);
  std::vector<std::int32_t> ids(Size(kPairs));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i % 8);
  Guarded<float> guarded_y(y);
  const ApplyExpertScaleArgs args{.x = guarded_y.data(),
                                  .scales = scales.data(),
                                  .ids = ids.data(),
                                  .experts = 8,
                                  .rows = kPairs,
                                  .cols = kCols};
  const auto got = RunEveryKernel(
      args, std::vector<float>(y.size()), [](ApplyExpertScaleArgs& a, float* out) { a.out = out; },
      "apply_expert_scale");
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(got[i], 3.0f * y[i]);
  ExpectSameBits(y, guarded_y.Values(), "the unscaled values");
}

}  // namespace
}  // namespace vt::test
