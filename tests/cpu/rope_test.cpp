// rope_table and rope: every kernel against the scalar one to the bit, and against double.
#include <algorithm>
#include <cmath>

#include "cpu/kernel_harness.h"

namespace vt::test {
namespace {

TEST(RopeTest, TableAndRotation) {
  const std::vector<std::int32_t> positions = {0, 1, 7, 4095, 131071};
  const auto rows = static_cast<std::int64_t>(positions.size());
  for (std::int64_t pairs : {1, 5, 16, 20, 32, 64}) {
    std::vector<double> inv_freq;
    for (std::int64_t i = 0; i < pairs; ++i) {
      inv_freq.push_back(std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(pairs)));
    }
    RopeTableArgs table_args;
    table_args.positions = positions.data();
    table_args.inv_freq = inv_freq.data();
    table_args.rows = rows;
    table_args.pairs = pairs;
    table_args.magnitude = 1.25;
    const auto table = RunEveryKernel(
        table_args, std::vector<float>(Size(rows * 2 * pairs)),
        [](RopeTableArgs& a, float* out) { a.table = out; }, "rope_table");
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < pairs; ++i) {
        const long double angle = static_cast<long double>(positions[Size(r)]) * inv_freq[Size(i)];
        EXPECT_NEAR(table[Size(r * 2 * pairs + i)], 1.25 * std::cos(angle), 2e-7);
        EXPECT_NEAR(table[Size(r * 2 * pairs + pairs + i)], 1.25 * std::sin(angle), 2e-7);
      }
    }
    for (RopeLayout layout : {RopeLayout::kHalf, RopeLayout::kInterleaved}) {
      const std::int64_t heads = 3, head_dim = 2 * pairs + 6;
      const auto x = RandomValues(Size(rows * heads * head_dim), 6);
      RopeArgs args;
      args.table = table.data();
      args.rows = rows;
      args.heads = heads;
      args.head_dim = head_dim;
      args.pairs = pairs;
      args.layout = layout;
      const std::string label = OpShape("rope", heads, head_dim);
      const auto got = RunEveryKernel(
          args, x, [](RopeArgs& a, float* data) { a.x = data; }, label);
      std::vector<double> want(x.begin(), x.end()), limit(x.size(), 1e-6);
      for (std::int64_t item = 0; item < rows * heads; ++item) {
        for (std::int64_t i = 0; i < pairs; ++i) {
          const bool half = layout == RopeLayout::kHalf;
          const std::size_t a = Size(item * head_dim + (half ? i : 2 * i));
          const std::size_t b = a + Size(half ? pairs : 1);
          const double cosine = table[Size(item / heads * 2 * pairs + i)];
          const double sine = table[Size(item / heads * 2 * pairs + pairs + i)];
          want[a] = x[a] * cosine - x[b] * sine;
          want[b] = x[a] * sine + x[b] * cosine;
        }
      }
      ExpectNear(want, got, limit, label);
    }
  }
}

TEST(RopeTest, RowsApart) {
  for (RopeLayout layout : {RopeLayout::kHalf, RopeLayout::kInterleaved}) {
    const std::int64_t rows = 3, heads = 2, head_dim = 10, pairs = 4, width = heads * head_dim;
    const std::int64_t stride = width + 5;
    const auto x = RandomValues(Size(rows * stride), 16);
    const auto table = RandomValues(Size(rows * 2 * pairs), 17);
    std::vector<float> dense, want = x;
    for (std::int64_t r = 0; r < rows; ++r) {
      dense.insert(dense.end(), x.begin() + r * stride, x.begin() + r * stride + width);
    }
    RopeArgs args{.table = table.data(),
                  .rows = rows,
                  .heads = heads,
                  .head_dim = head_dim,
                  .pairs = pairs,
                  .layout = layout};
    const auto bind = [](RopeArgs& a, float* data) { a.x = data; };
    const auto turned = RunEveryKernel(args, dense, bind, "rope");
    for (std::int64_t r = 0; r < rows; ++r) {
      std::copy_n(turned.begin() + r * width, width, want.begin() + r * stride);
    }
    args.stride = stride;
    ExpectSameBits(want, RunEveryKernel(args, x, bind, "rope with gaps"), "rope with gaps");
  }
}

}  // namespace
}  // namespace vt::test
