// sigmoid_mul: every kernel against the scalar one to the bit, that one against double.
#include <cmath>

#include "cpu/kernel_harness.h"

namespace vt::test {
namespace {

TEST(SigmoidMulTest, EveryKernel) {
  for (std::int64_t cols : Widths()) {
    for (std::int64_t rows : {0, 1, 3, 7}) {
      for (std::int64_t gate_cols : {std::int64_t{1}, cols}) {
        const std::string label =
            OpShape("sigmoid_mul", rows, cols) + " by " + std::to_string(gate_cols);
        const auto x = RandomValues(Size(rows * cols), 21);
        const auto gate = RandomValues(Size(rows * gate_cols), 22, 8.0f);
        Guarded<float> guarded_x(x), guarded_gate(gate);
        SigmoidMulArgs args{.x = guarded_x.data(),
                            .gate = guarded_gate.data(),
                            .rows = rows,
                            .cols = cols,
                            .gate_cols = gate_cols};
        const auto in_place = [](SigmoidMulArgs& a, float* data) { a.x = a.out = data; };
        const auto got = RunEveryKernel(
            args, std::vector<float>(x.size()), [](SigmoidMulArgs& a, float* out) { a.out = out; },
            label);
        ExpectSameBits(got, RunEveryKernel(args, x, in_place, label), label + " in place");
        std::vector<double> want, limit;
        for (std::int64_t i = 0; i < rows * cols; ++i) {
          const double g = gate[Size(gate_cols == 1 ? i / cols : i)];
          want.push_back(x[Size(i)] / (1 + std::exp(-g)));
          limit.push_back(8 * kUnit * std::abs(want.back()) + 1e-30);
        }
        ExpectNear(want, got, limit, label);
        const auto wide = WideValues(gate.size(), 23);
        Guarded<float> guarded_wide(wide);
        args.gate = guarded_wide.data();
        RunEveryKernel(args, x, in_place, label + " wide");
      }
    }
  }
}

TEST(SigmoidMulTest, Shapes) {
  for (const Kernel<SigmoidMulArgs>& kernel : CpuOps().Rows<SigmoidMulArgs>()) {
    EXPECT_TRUE(kernel.supports({.rows = 0, .cols = 4, .gate_cols = 1}).yes) << kernel.name;
    EXPECT_EQ(kernel.supports({.rows = 2, .cols = 6, .gate_cols = 3}).reason,
              "gate_cols (3) must be 1 or cols (6)");
    EXPECT_EQ(kernel.supports({.rows = -1, .cols = 6, .gate_cols = 1}).reason,
              "rows (-1) must be at least 0");
  }
}

}  // namespace
}  // namespace vt::test
