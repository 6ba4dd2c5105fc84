// Norms fused with what follows them: every kernel and the composed form to the bit, and against
// double within the error their additions allow.
#include <cmath>

#include "cpu/kernel_harness.h"

namespace vt::test {
namespace {

// A row normed in double, and how far the f32 result may be from it; weight may be null.
struct NormedRow {
  std::vector<double> value;
  std::vector<double> error;
};

NormedRow Norm(const std::vector<double>& x, const std::vector<double>& x_error,
               const float* weight, float eps) {
  const auto cols = static_cast<std::int64_t>(x.size());
  double squares = 0, error_squares = 0;
  for (std::size_t c = 0; c < x.size(); ++c) {
    squares += x[c] * x[c];
    error_squares += x_error[c] * x_error[c];
  }
  const double root = std::sqrt(squares / static_cast<double>(cols) + eps);
  const double root_error = std::sqrt(error_squares / static_cast<double>(cols)) / root;
  NormedRow row;
  for (std::size_t c = 0; c < x.size(); ++c) {
    const double w = weight ? double{weight[c]} : 1.0;
    const double value = x[c] / root * w;
    row.value.push_back(value);
    row.error.push_back(std::abs(w) * x_error[c] / root +
                        std::abs(value) * (root_error + SumError(cols)) + 1e-30);
  }
  return row;
}

NormedRow Norm(const float* x, std::int64_t cols, const float* weight, float eps) {
  return Norm(std::vector<double>(x, x + cols), std::vector<double>(Size(cols)), weight, eps);
}

TEST(RmsNormAddTest, EveryKernelAndTheComposedForm) {
  for (std::int64_t cols : Widths()) {
    for (std::int64_t rows : {0, 1, 3, 7}) {
      for (bool weighted : {false, true}) {
        const std::size_t count = Size(rows * cols);
        const auto x = RandomValues(count, 51, 3.0f), residual = RandomValues(count, 52);
        const auto weight = RandomValues(Size(cols), 53);
        Guarded<float> guarded_x(x), guarded_residual(residual), guarded_weight(weight);
        const RmsNormAddArgs args{.x = guarded_x.data(),
                                  .weight = weighted ? guarded_weight.data() : nullptr,
                                  .residual = guarded_residual.data(),
                                  .rows = rows,
                                  .cols = cols};
        const std::string label = OpShape("rms_norm_add", rows, cols);
        const auto got = RunEveryKernel(
            args, std::vector<float>(count), [](RmsNormAddArgs& a, float* out) { a.out = out; },
            label);
        const auto over_x = RunEveryKernel(
            args, x, [](RmsNormAddArgs& a, float* data) { a.x = a.out = data; }, label + " over x");
        ExpectSameBits(got, over_x, label + " over x");
        const auto over_residual = RunEveryKernel(
            args, residual, [](RmsNormAddArgs& a, float* data) { a.residual = a.out = data; },
            label + " over residual");
        ExpectSameBits(got, over_residual, label + " over residual");

        std::vector<double> want, limit;
        for (std::int64_t r = 0; r < rows; ++r) {
          const NormedRow row = Norm(x.data() + r * cols, cols, args.weight, args.eps);
          for (std::int64_t c = 0; c < cols; ++c) {
            want.push_back(row.value[Size(c)] + double{residual[Size(r * cols + c)]});
            limit.push_back(row.error[Size(c)] + 2 * kUnit * std::abs(want.back()));
          }
        }
        ExpectNear(want, got, limit, label);
      }
    }
  }
}

// The composed form may keep its norm where x was.
TEST(RmsNormAddTest, ScratchMayBeX) {
  const auto x = RandomValues(3 * 33, 54), residual = RandomValues(3 * 33, 55);
  const auto run = [&](float* scratch, float* of_x) {
    std::vector<float> out(x.size());
    const RmsNormAddArgs args{.x = of_x,
                              .residual = residual.data(),
                              .out = out.data(),
                              .rows = 3,
                              .cols = 33,
                              .scratch = scratch};
    for (const auto& kernel : CpuOps().Rows<RmsNormAddArgs>()) {
      if (kernel.device == DeviceKind::kCpu && kernel.compose) RunCalls(kernel.compose(args));
    }
    return out;
  };
  std::vector<float> apart(x.size()), same = x, of_x = x;
  ExpectSameBits(run(apart.data(), of_x.data()), run(same.data(), same.data()), "scratch is x");
}

TEST(DualRmsNormResidualTest, EveryKernelAndTheComposedForm) {
  for (std::int64_t cols : Widths()) {
    for (std::int64_t rows : {0, 1, 3, 7}) {
      for (int weights : {0, 5, 7}) {  // bit i: weight i + 1 is there
        const std::size_t count = Size(rows * cols);
        const auto x1 = RandomValues(count, 61, 3.0f), x2 = RandomValues(count, 62, 0.1f);
        const auto residual = RandomValues(count, 63);
        const auto w1 = RandomValues(Size(cols), 64), w2 = RandomValues(Size(cols), 65),
                   w3 = RandomValues(Size(cols), 66);
        Guarded<float> guarded_x1(x1), guarded_x2(x2), guarded_residual(residual), guarded_w1(w1),
            guarded_w2(w2), guarded_w3(w3);
        const DualRmsNormResidualArgs args{.x1 = guarded_x1.data(),
                                           .x2 = guarded_x2.data(),
                                           .weight1 = weights & 1 ? guarded_w1.data() : nullptr,
                                           .weight2 = weights & 2 ? guarded_w2.data() : nullptr,
                                           .weight3 = weights & 4 ? guarded_w3.data() : nullptr,
                                           .residual = guarded_residual.data(),
                                           .rows = rows,
                                           .cols = cols};
        const std::string label = OpShape("dual_rms_norm_residual", rows, cols);
        const auto got = RunEveryKernel(
            args, std::vector<float>(count),
            [](DualRmsNormResidualArgs& a, float* out) { a.out = out; }, label);
        const auto over_residual = RunEveryKernel(
            args, residual,
            [](DualRmsNormResidualArgs& a, float* data) { a.residual = a.out = data; },
            label + " over residual");
        ExpectSameBits(got, over_residual, label + " over residual");

        std::vector<double> want, limit;
        for (std::int64_t r = 0; r < rows; ++r) {
          const NormedRow first = Norm(x1.data() + r * cols, cols, args.weight1, args.eps);
          const NormedRow second = Norm(x2.data() + r * cols, cols, args.weight2, args.eps);
          std::vector<double> sum, error;
          for (std::int64_t c = 0; c < cols; ++c) {
            sum.push_back(first.value[Size(c)] + second.value[Size(c)]);
            error.push_back(first.error[Size(c)] + second.error[Size(c)] +
                            kUnit * std::abs(sum.back()));
          }
          const NormedRow row = Norm(sum, error, args.weight3, args.eps);
          for (std::int64_t c = 0; c < cols; ++c) {
            want.push_back(row.value[Size(c)] + double{residual[Size(r * cols + c)]});
            limit.push_back(row.error[Size(c)] + 2 * kUnit * std::abs(want.back()));
          }
        }
        ExpectNear(want, got, limit, label);
      }
    }
  }
}

TEST(FusedNormRopeTest, EveryKernelAndTheComposedForm) {
  for (std::int64_t latent : Widths()) {
    for (std::int64_t pairs : {0, 1, 5, 16, 32}) {
      for (std::int64_t rows : {0, 1, 3, 7}) {
        for (RopeLayout layout : {RopeLayout::kHalf, RopeLayout::kInterleaved}) {
          const std::int64_t width = latent + 2 * pairs;
          const auto x = RandomValues(Size(rows * width), 71, 2.0f);
          const auto weight = RandomValues(Size(latent), 72);
          const auto table = RandomValues(Size(rows * 2 * pairs), 73);
          Guarded<float> guarded_weight(weight), guarded_table(table);
          const FusedNormRopeArgs args{.weight = rows == 3 ? nullptr : guarded_weight.data(),
                                       .table = guarded_table.data(),
                                       .rows = rows,
                                       .latent = latent,
                                       .pairs = pairs,
                                       .layout = layout};
          const std::string label =
              OpShape("fused_norm_rope", rows, latent) + " pairs " + std::to_string(pairs);
          const auto got = RunEveryKernel(
              args, x, [](FusedNormRopeArgs& a, float* data) { a.x = data; }, label);

          std::vector<double> want(x.begin(), x.end()), limit(x.size(), 1e-6);
          for (std::int64_t r = 0; r < rows; ++r) {
            const NormedRow row = Norm(x.data() + r * width, latent, args.weight, args.eps);
            for (std::int64_t c = 0; c < latent; ++c) {
              want[Size(r * width + c)] = row.value[Size(c)];
              limit[Size(r * width + c)] = row.error[Size(c)];
            }
            for (std::int64_t i = 0; i < pairs; ++i) {
              const bool half = layout == RopeLayout::kHalf;
              const std::size_t a = Size(r * width + latent + (half ? i : 2 * i));
              const std::size_t b = a + Size(half ? pairs : 1);
              const double cosine = table[Size(r * 2 * pairs + i)];
              const double sine = table[Size(r * 2 * pairs + pairs + i)];
              want[a] = x[a] * cosine - x[b] * sine;
              want[b] = x[a] * sine + x[b] * cosine;
            }
          }
          ExpectNear(want, got, limit, label);
        }
      }
    }
  }
}

}  // namespace
}  // namespace vt::test
