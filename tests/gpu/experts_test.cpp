// The ops around experts: the reference's bits everywhere, a router's choice first of all.
#include <algorithm>
#include <numeric>

#include "gpu/gpu_harness.h"

namespace vt::test::gpu {
namespace {

void CheckRoute(const RouteArgs& shape, bool biased, bool ties, std::uint32_t seed) {
  auto logits = RandomValues(shape.rows * shape.experts, seed, 4.0f);
  if (ties) {
    for (float& logit : logits) logit = std::round(logit * 4) / 4;
  }
  const auto bias = RandomValues(shape.experts, seed + 1, 0.2f);
  const auto chosen = static_cast<std::size_t>(shape.rows * shape.used);
  const std::string label =
      std::to_string(shape.rows) + "x" + std::to_string(shape.experts) + " used " +
      std::to_string(shape.used) + " groups " + std::to_string(shape.groups) + " gating " +
      std::to_string(static_cast<int>(shape.gating)) + (biased ? " biased" : "");
  CheckSameBits<RouteArgs, std::int32_t>(
      "f32",
      [&](Buffers& on) {
        RouteArgs args = shape;
        args.logits = on.In(logits);
        if (biased) args.selection_bias = on.In(bias);
        // One buffer for both results: weights are compared by their bits.
        args.ids = on.Out(std::vector<std::int32_t>(2 * chosen, -1));
        args.weights = reinterpret_cast<float*>(args.ids + chosen);
        return args;
      },
      label);
}

TEST(GpuRoute, ChoosesAsTheReference) {
  std::uint32_t turn = 0;
  for (const std::int64_t experts : {1, 2, 31, 32, 33, 60, 64, 128, 257, 1024}) {
    for (const Gating gating : {Gating::kSoftmax, Gating::kSigmoid, Gating::kSoftmaxOfChosen}) {
      for (const std::int64_t used : {1, 4, 8}) {
        if (used > experts) continue;
        ++turn;
        CheckRoute({.rows = turn % 4,
                    .experts = experts,
                    .used = used,
                    .gating = gating,
                    .normalize = turn % 2 == 0,
                    .scale = turn % 3 == 0 ? 2.5f : 1.0f},
                   turn % 4 >= 2, turn % 5 != 0, turn);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(GpuRoute, ChoosesGroupsAsTheReference) {
  std::uint32_t turn = 0;
  for (const std::int64_t size : {1, 2, 5, 32}) {
    for (const std::int64_t groups : {2, 8, 32}) {
      for (const bool biased : {false, true}) {
        const std::int64_t groups_used = 1 + groups / 2;
        CheckRoute({.rows = 3,
                    .experts = size * groups,
                    .used = std::min<std::int64_t>(4, size * groups_used),
                    .groups = groups,
                    .groups_used = groups_used,
                    .gating = ++turn % 2 == 0 ? Gating::kSigmoid : Gating::kSoftmax,
                    .normalize = true},
                   biased, !biased, turn);
        if (HasFailure()) return;
      }
    }
  }
}

std::vector<std::int32_t> RandomOrder(std::int64_t count) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(5));
  return order;
}

TEST(GpuExpertRows, GatherAndCombine) {
  for (const std::int64_t cols : {1, 31, 64, 257, 600}) {
    for (const std::int64_t rows : {0, 1, 5}) {
      for (const std::int64_t used : {1, 2, 8}) {
        for (const bool all : {true, false}) {
          const std::int64_t pairs = rows * used;
          const auto order = RandomOrder(pairs);
          const auto weights = RandomValues(pairs, 1);
          const auto x = RandomValues(rows * cols, 2), y = RandomValues(pairs * cols, 3);
          const std::string label = std::to_string(rows) + "x" + std::to_string(cols) + " used " +
                                    std::to_string(used) + (all ? "" : " plain");
          CheckSameBits<ExpertGatherArgs>(
              "f32",
              [&](Buffers& on) {
                return ExpertGatherArgs{.x = on.In(x),
                                        .order = all ? on.In(order) : nullptr,
                                        .weights = all ? on.In(weights) : nullptr,
                                        .pairs = pairs,
                                        .used = used,
                                        .cols = cols,
                                        .out = on.Out(std::vector<float>(y.size()))};
              },
              label);
          CheckSameBits<ExpertCombineArgs>(
              "f32",
              [&](Buffers& on) {
                return ExpertCombineArgs{.x = on.In(y),
                                         .order = all ? on.In(order) : nullptr,
                                         .weights = all ? on.In(weights) : nullptr,
                                         .rows = rows,
                                         .used = used,
                                         .cols = cols,
                                         .out = on.Out(std::vector<float>(x.size()))};
              },
              label);
        }
      }
    }
  }
}

TEST(GpuGatedAct, BothKinds) {
  for (const std::int64_t count : kCounts) {
    for (const GatedActKind act : {GatedActKind::kRelu, GatedActKind::kClampedSwiglu}) {
      auto gate = RandomValues(count, 1, 10.0f), up = RandomValues(count, 2, 10.0f);
      for (std::size_t i = 0; i + 1 < gate.size(); i += 7) gate[i] = up[i + 1] = std::nanf("");
      CheckSameBits<GatedActArgs>(
          "f32",
          [&](Buffers& on) {
            return GatedActArgs{.gate = on.In(gate),
                                .up = on.In(up),
                                .out = on.Out(std::vector<float>(gate.size())),
                                .count = count,
                                .act = act};
          },
          std::to_string(count));
    }
  }
}

TEST(GpuCopyColumns, Strides) {
  for (const std::int64_t cols : {1, 33, 257}) {
    for (const std::int64_t rows : {0, 1, 3}) {
      for (const std::int64_t stride : {std::int64_t{0}, cols + 9}) {
        const std::int64_t wide = rows == 0 ? 0 : (rows - 1) * (cols + 9) + cols;
        const auto from = RandomValues(stride == 0 ? rows * cols : wide, 1);
        const auto to = RandomValues(stride == 0 ? wide : rows * cols, 2);
        CheckSameBits<CopyColumnsArgs>(
            "f32",
            [&](Buffers& on) {
              return CopyColumnsArgs{.x = on.In(from),
                                     .x_stride = stride,
                                     .rows = rows,
                                     .cols = cols,
                                     .out = on.Out(to),
                                     .out_stride = stride == 0 ? cols + 9 : 0};
            },
            std::to_string(rows) + "x" + std::to_string(cols));
      }
    }
  }
}

}  // namespace
}  // namespace vt::test::gpu
