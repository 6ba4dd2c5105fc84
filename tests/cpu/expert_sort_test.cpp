// expert_sort: every kernel against a stable sort of the standard library.
#include <algorithm>
#include <numeric>

#include "cpu/kernel_harness.h"

namespace vt::test {
namespace {

TEST(ExpertSortTest, EveryKernel) {
  for (const std::int64_t experts : {1, 2, 8, 128, 1024}) {
    for (const std::int64_t pairs : {0, 1, 2, 7, 16, 33, 1000, 4096}) {
      for (const bool rising : {false, true}) {
        std::mt19937 random(static_cast<std::uint32_t>(experts * 31 + pairs));
        std::vector<std::int32_t> ids(Size(pairs));
        for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % Size(experts));
        if (rising) std::sort(ids.begin(), ids.end());
        Guarded<std::int32_t> guarded_ids(ids);
        const ExpertSortArgs args{.ids = guarded_ids.data(), .pairs = pairs, .experts = experts};
        const std::string label = OpShape("expert_sort", pairs, experts);
        std::vector<std::int32_t> other(Size(pairs));
        const std::vector<std::int32_t> unset(Size(pairs), -1);
        const auto order = RunEveryKernel(
            args, unset,
            [&](ExpertSortArgs& a, std::int32_t* out) {
              a.order = out;
              a.sorted_ids = other.data();
            },
            label + " order");
        const auto sorted = RunEveryKernel(
            args, unset,
            [&](ExpertSortArgs& a, std::int32_t* out) {
              a.order = other.data();
              a.sorted_ids = out;
            },
            label + " ids");
        std::vector<std::int32_t> want(Size(pairs)), want_ids;
        std::iota(want.begin(), want.end(), 0);
        std::stable_sort(want.begin(), want.end(), [&](std::int32_t a, std::int32_t b) {
          return ids[Size(a)] < ids[Size(b)];
        });
        for (const std::int32_t pair : want) want_ids.push_back(ids[Size(pair)]);
        ExpectSameBits(want, order, label);
        ExpectSameBits(want_ids, sorted, label);
      }
    }
  }
}

TEST(ExpertSortTest, Shapes) {
  for (const Kernel<ExpertSortArgs>& kernel : CpuOps().Rows<ExpertSortArgs>()) {
    EXPECT_TRUE(kernel.supports({.pairs = 0, .experts = 1024}).yes);
    EXPECT_EQ(kernel.supports({.pairs = 2, .experts = 1025}).reason,
              "experts (1025) exceeds the most experts of a layer (1024)");
    EXPECT_EQ(kernel.supports({.pairs = -2, .experts = 5}).reason, "pairs (-2) must be at least 0");
  }
}

}  // namespace
}  // namespace vt::test
