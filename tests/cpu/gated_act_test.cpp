// gated_act: every kernel against the scalar one to the bit, that one against double.
#include <algorithm>
#include <cmath>

#include "cpu/kernel_harness.h"

namespace vt::test {
namespace {

double Exact(const GatedActArgs& args, double gate, double up) {
  if (args.act == GatedActKind::kRelu) return std::max(0.0, gate) * up;
  const double limit = args.limit;
  gate = std::min(gate, limit);
  up = std::clamp(up, -limit, limit);
  return gate / (1 + std::exp(-1.702 * gate)) * (up + 1);
}

TEST(GatedActTest, EveryKernel) {
  std::vector<std::int64_t> counts = Widths();
  for (const std::int64_t count : {0, 1000, 3000}) counts.push_back(count);
  for (const std::int64_t count : counts) {
    for (const GatedActKind act : {GatedActKind::kRelu, GatedActKind::kClampedSwiglu}) {
      for (const float limit : {7.0f, 1.5f}) {
        const std::string label = OpShape("gated_act", static_cast<int>(act), count);
        const auto gate = RandomValues(Size(count), 7, 10.0f);
        const auto up = RandomValues(Size(count), 8, 10.0f);
        Guarded<float> guarded_gate(gate), guarded_up(up);
        const GatedActArgs args{.gate = guarded_gate.data(),
                                .up = guarded_up.data(),
                                .count = count,
                                .act = act,
                                .limit = limit};
        const auto over_gate = [](GatedActArgs& a, float* data) { a.gate = a.out = data; };
        const auto over_up = [](GatedActArgs& a, float* data) { a.up = a.out = data; };
        const auto got = RunEveryKernel(
            args, std::vector<float>(gate.size()), [](GatedActArgs& a, float* out) { a.out = out; },
            label);
        ExpectSameBits(got, RunEveryKernel(args, gate, over_gate, label), label + " over gate");
        ExpectSameBits(got, RunEveryKernel(args, up, over_up, label), label + " over up");
        std::vector<double> want, allowed;
        for (std::size_t i = 0; i < gate.size(); ++i) {
          want.push_back(Exact(args, gate[i], up[i]));
          // The exponent is rounded, up to 17 in size, and so is up + 1 where it cancels.
          allowed.push_back(30 * kUnit * std::abs(want.back()) + 1e-6);
        }
        ExpectNear(want, got, allowed, label);
        RunEveryKernel(args, WideValues(gate.size(), 9), over_gate, label + " wide gate");
        RunEveryKernel(args, WideValues(gate.size(), 9), over_up, label + " wide up");
      }
    }
  }
}

TEST(GatedActTest, NotANumberStays) {
  for (const GatedActKind act : {GatedActKind::kRelu, GatedActKind::kClampedSwiglu}) {
    for (const bool in_gate : {true, false}) {
      std::vector<float> gate(20, 2.0f), up(20, 1.0f);
      (in_gate ? gate : up)[3] = NAN;
      const GatedActArgs args{.gate = gate.data(), .up = up.data(), .count = 20, .act = act};
      const auto got = RunEveryKernel(
          args, std::vector<float>(20), [](GatedActArgs& a, float* out) { a.out = out; }, "nan");
      for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(std::isnan(got[i]), i == 3);
    }
  }
}

TEST(GatedActTest, Shapes) {
  for (const Kernel<GatedActArgs>& kernel : CpuOps().Rows<GatedActArgs>()) {
    EXPECT_FALSE(kernel.supports({.count = -1}).yes) << kernel.name;
    EXPECT_TRUE(kernel.supports({.count = 0, .limit = 0}).yes) << kernel.name;
    EXPECT_EQ(kernel.supports({.act = GatedActKind::kClampedSwiglu, .limit = 0}).reason,
              "limit (0.000000) must be above 0");
  }
}

}  // namespace
}  // namespace vt::test
