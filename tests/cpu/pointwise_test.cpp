// The pointwise ops: every kernel and composed form against the scalar kernel to the bit, that one
// against double.
#include <algorithm>
#include <cmath>

#include "cpu/kernel_harness.h"

namespace vt::test {
namespace {

double Exact(Activation act, double x) {
  if (act == Activation::kSilu) return x / (1 + std::exp(-x));
  if (act == Activation::kRelu) return std::max(0.0, x);
  if (act == Activation::kReluSquared) return std::max(0.0, x) * std::max(0.0, x);
  const double u = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
  return x / 2 * (1 + std::tanh(u));
}

const std::vector<std::int64_t>& Counts() {
  static const std::vector<std::int64_t> counts = [] {
    std::vector<std::int64_t> all = Widths();
    for (std::int64_t count : {0, 1000, 3000}) all.push_back(count);
    return all;
  }();
  return counts;
}

TEST(ActivateTest, EveryKernel) {
  for (std::int64_t count : Counts()) {
    for (Activation act :
         {Activation::kSilu, Activation::kGelu, Activation::kRelu, Activation::kReluSquared}) {
      const std::string label = OpShape("activate", static_cast<int>(act), count);
      const auto x = RandomValues(Size(count), 7, 8.0f);
      Guarded<float> guarded_x(x);
      ActivateArgs args{.x = guarded_x.data(), .count = count, .act = act};
      const auto to_out = [](ActivateArgs& a, float* out) { a.out = out; };
      const auto in_place = [](ActivateArgs& a, float* data) { a.x = a.out = data; };
      const auto got = RunEveryKernel(args, std::vector<float>(x.size()), to_out, label);
      ExpectSameBits(got, RunEveryKernel(args, x, in_place, label), label + " in place");
      std::vector<double> want, limit;
      for (const float v : x) {
        want.push_back(Exact(act, v));
        limit.push_back(8 * kUnit * std::abs(want.back()) + 1e-7);
      }
      ExpectNear(want, got, limit, label);
      RunEveryKernel(args, WideValues(x.size(), 9), in_place, label + " wide");
    }
  }
}

TEST(ActivateTest, ReluKeepsWhatIsNotANumber) {
  const std::vector<float> x = {-1.0f, NAN, 2.0f, -0.5f};
  for (const Activation act : {Activation::kRelu, Activation::kReluSquared}) {
    const ActivateArgs args{.x = x.data(), .count = 4, .act = act};
    const auto got = RunEveryKernel(
        args, std::vector<float>(4), [](ActivateArgs& a, float* out) { a.out = out; }, "relu");
    EXPECT_EQ(got[0], 0.0f);
    EXPECT_TRUE(std::isnan(got[1]));
    EXPECT_EQ(got[2], act == Activation::kRelu ? 2.0f : 4.0f);
    EXPECT_EQ(got[3], 0.0f);
  }
}

// The fused kernels and their composed form, activate then mul.
template <class Args>
void CheckGated(Activation act) {
  for (std::int64_t count : Counts()) {
    const std::string label = OpShape(Args::kOp, 1, count);
    const auto gate = RandomValues(Size(count), 7, 8.0f);
    const auto up = RandomValues(Size(count), 8);
    Guarded<float> guarded_gate(gate), guarded_up(up);
    Args args{.gate = guarded_gate.data(), .up = guarded_up.data(), .count = count};
    const auto to_out = [](Args& a, float* out) { a.out = out; };
    const auto over_gate = [](Args& a, float* data) { a.gate = a.out = data; };
    const auto got = RunEveryKernel(args, std::vector<float>(gate.size()), to_out, label);
    ExpectSameBits(got, RunEveryKernel(args, gate, over_gate, label), label + " over gate");
    std::vector<double> want, limit;
    for (std::size_t i = 0; i < gate.size(); ++i) {
      want.push_back(Exact(act, gate[i]) * up[i]);
      limit.push_back(9 * kUnit * std::abs(want.back()) + 1e-7);
    }
    ExpectNear(want, got, limit, label);
    RunEveryKernel(args, WideValues(gate.size(), 9), over_gate, label + " wide");
  }
}

TEST(SiluMulTest, EveryKernel) { CheckGated<SiluMulArgs>(Activation::kSilu); }
TEST(GeluMulTest, EveryKernel) { CheckGated<GeluMulArgs>(Activation::kGelu); }

TEST(MulTest, EveryKernel) {
  for (std::int64_t cols : Widths()) {
    for (std::int64_t rows : {0, 1, 3, 7}) {
      for (std::int64_t b_cols : {std::int64_t{1}, cols}) {
        const std::string label = OpShape("mul", rows, cols) + " by " + std::to_string(b_cols);
        const auto a = WideValues(Size(rows * cols), 18);
        const auto b = RandomValues(Size(rows * b_cols), 19);
        Guarded<float> guarded_a(a), guarded_b(b);
        MulArgs args{.a = guarded_a.data(),
                     .b = guarded_b.data(),
                     .rows = rows,
                     .cols = cols,
                     .b_cols = b_cols};
        const auto got = RunEveryKernel(
            args, std::vector<float>(a.size()), [](MulArgs& m, float* out) { m.out = out; }, label);
        const auto in_place = RunEveryKernel(
            args, a, [](MulArgs& m, float* data) { m.a = m.out = data; }, label + " in place");
        std::vector<float> want;
        for (std::int64_t i = 0; i < rows * cols; ++i) {
          want.push_back(a[Size(i)] * b[Size(b_cols == 1 ? i / cols : i)]);
        }
        ExpectSameBits(want, got, label);
        ExpectSameBits(want, in_place, label + " in place");
      }
    }
  }
}

TEST(AddTest, EveryKernel) {
  for (std::int64_t count : {0, 1, 15, 16, 33, 1000, 3000}) {
    const std::string label = OpShape("add", 1, count);
    const auto a = WideValues(Size(count), 10);
    const auto b = RandomValues(Size(count), 11);
    Guarded<float> guarded_a(a), guarded_b(b);
    AddArgs args;
    args.a = guarded_a.data();
    args.b = guarded_b.data();
    args.count = count;
    args.scale = 0.37f;
    const auto got = RunEveryKernel(
        args, std::vector<float>(Size(count)), [](AddArgs& x, float* out) { x.out = out; }, label);
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(SameBits(got[i], std::fma(b[i], 0.37f, a[i]))) << label << " at " << i;
    }
    ExpectSameBits(got,
                   RunEveryKernel(
                       args, a, [](AddArgs& x, float* d) { x.a = x.out = d; }, label),
                   label + " over a");
    args.a = guarded_a.data();
    ExpectSameBits(got,
                   RunEveryKernel(
                       args, b, [](AddArgs& x, float* d) { x.b = x.out = d; }, label),
                   label + " over b");
  }
}

TEST(ScaleCapTest, EveryKernel) {
  for (std::int64_t count : {0, 1, 15, 16, 33, 1000, 3000}) {
    for (float cap : {0.0f, 30.0f, 1.5f}) {
      const std::string label = OpShape("scale_cap", static_cast<int>(cap), count);
      const auto x = RandomValues(Size(count), 12, 100.0f);
      ScaleCapArgs args;
      args.count = count;
      args.scale = 0.4f;
      args.cap = cap;
      const auto bind = [](ScaleCapArgs& a, float* data) { a.x = data; };
      const auto got = RunEveryKernel(args, x, bind, label);
      std::vector<double> want, limit;
      for (float v : x) {
        const double s = static_cast<double>(v) * args.scale;
        want.push_back(cap == 0 ? s : cap * std::tanh(s / cap));
        limit.push_back(std::abs(want.back()) * 10 * kUnit + 1e-30);
      }
      ExpectNear(want, got, limit, label);
      RunEveryKernel(args, WideValues(Size(count), 13), bind, label + " wide");
    }
  }
}

}  // namespace
}  // namespace vt::test
