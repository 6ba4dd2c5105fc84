// copy_columns: every kernel against a plain copy.
#include "cpu/kernel_harness.h"

namespace vt::test {
namespace {

TEST(CopyColumnsTest, EveryKernel) {
  for (const std::int64_t cols : Widths()) {
    for (const std::int64_t rows : {0, 1, 3, 7}) {
      for (const std::int64_t x_stride : {std::int64_t{0}, cols, 2 * cols + 5}) {
        for (const std::int64_t out_stride : {std::int64_t{0}, cols, 3 * cols + 1}) {
          const std::string label = OpShape("copy_columns", rows, cols) + " strides " +
                                    std::to_string(x_stride) + " " + std::to_string(out_stride);
          const std::int64_t from = x_stride == 0 ? cols : x_stride;
          const std::int64_t to = out_stride == 0 ? cols : out_stride;
          const auto extent = [&](std::int64_t stride) {
            return rows == 0 ? 0 : Size((rows - 1) * stride + cols);
          };
          const auto x = WideValues(extent(from), 31);
          const auto before = RandomValues(extent(to), 32);
          Guarded<float> guarded_x(x);
          const CopyColumnsArgs args{.x = guarded_x.data(),
                                     .x_stride = x_stride,
                                     .rows = rows,
                                     .cols = cols,
                                     .out_stride = out_stride};
          const auto got = RunEveryKernel(
              args, before, [](CopyColumnsArgs& a, float* out) { a.out = out; }, label);
          std::vector<float> want = before;  // what lies between the rows stays
          for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t c = 0; c < cols; ++c) want[Size(r * to + c)] = x[Size(r * from + c)];
          }
          ExpectSameBits(want, got, label);
        }
      }
    }
  }
}

TEST(CopyColumnsTest, Shapes) {
  for (const Kernel<CopyColumnsArgs>& kernel : CpuOps().Rows<CopyColumnsArgs>()) {
    EXPECT_EQ(kernel.supports({.x_stride = 3, .rows = 1, .cols = 4}).reason,
              "stride (3) must be 0 or at least the row (4)");
    EXPECT_EQ(kernel.supports({.rows = 1, .cols = 4, .out_stride = 3}).reason,
              "stride (3) must be 0 or at least the row (4)");
  }
}

}  // namespace
}  // namespace vt::test
