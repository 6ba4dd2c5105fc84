// rms_norm and layer_norm: every kernel against the scalar one to the bit, the scalar one against
// double within the error its additions allow.
#include <algorithm>
#include <cmath>

#include "cpu/kernel_harness.h"

namespace vt::test {
namespace {

TEST(RmsNormTest, EveryKernel) {
  for (std::int64_t cols : Widths()) {
    for (std::int64_t rows : {0, 1, 3, 7}) {
      for (std::int64_t weight_rows : {0, 1, 2}) {
        const auto x = RandomValues(Size(rows * cols), 1, 3.0f);
        const auto weight = RandomValues(Size(weight_rows * cols), 2);
        Guarded<float> guarded_x(x), guarded_weight(weight);
        RmsNormArgs args;
        args.x = guarded_x.data();
        args.weight = weight_rows > 0 ? guarded_weight.data() : nullptr;
        args.weight_rows = weight_rows > 0 ? weight_rows : 1;
        args.rows = rows;
        args.cols = cols;
        const std::string label = OpShape("rms_norm", rows, cols);
        const auto got = RunEveryKernel(
            args, std::vector<float>(x.size()), [](RmsNormArgs& a, float* out) { a.out = out; },
            label);
        const auto in_place = RunEveryKernel(
            args, x, [](RmsNormArgs& a, float* data) { a.x = a.out = data; }, label + " in place");
        ExpectSameBits(got, in_place, label + " in place");

        std::vector<double> want(x.size()), limit(x.size());
        for (std::int64_t r = 0; r < rows; ++r) {
          double squares = 0;
          for (std::int64_t c = 0; c < cols; ++c) squares += std::pow(x[Size(r * cols + c)], 2);
          const double root = std::sqrt(squares / static_cast<double>(cols) + args.eps);
          for (std::int64_t c = 0; c < cols; ++c) {
            const std::size_t i = Size(r * cols + c);
            want[i] = x[i] / root;
            if (weight_rows > 0) want[i] *= weight[Size(r % weight_rows * cols + c)];
            limit[i] = std::abs(want[i]) * SumError(cols) + 1e-30;
          }
        }
        ExpectNear(want, got, limit, label);
      }
    }
  }
}

// With a stride, what lies between the rows stays as it is.
TEST(RmsNormTest, RowsApart) {
  for (std::int64_t cols : {1, 15, 16, 33}) {
    for (std::int64_t gap : {1, 7, 64}) {
      const std::int64_t rows = 3, stride = cols + gap;
      const auto x = RandomValues(Size(rows * stride), 14);
      std::vector<float> dense, want = x;
      for (std::int64_t r = 0; r < rows; ++r) {
        dense.insert(dense.end(), x.begin() + r * stride, x.begin() + r * stride + cols);
      }
      const auto weight = RandomValues(Size(cols), 15);
      RmsNormArgs args{.weight = weight.data(), .rows = rows, .cols = cols};
      const auto in_place = [](RmsNormArgs& a, float* data) { a.x = a.out = data; };
      const std::string label = OpShape("rms_norm", rows, cols) + " gap " + std::to_string(gap);
      const auto normed = RunEveryKernel(args, dense, in_place, label);
      for (std::int64_t r = 0; r < rows; ++r) {
        std::copy_n(normed.begin() + r * cols, cols, want.begin() + r * stride);
      }
      args.stride = stride;
      ExpectSameBits(want, RunEveryKernel(args, x, in_place, label), label);
    }
  }
}

TEST(LayerNormTest, EveryKernel) {
  for (std::int64_t cols : Widths()) {
    for (std::int64_t rows : {1, 4}) {
      for (std::int64_t weight_rows : {0, 1, 2}) {
        auto x = RandomValues(Size(rows * cols), 3);
        for (float& v : x) v += 2.0f;  // a mean to take away
        const auto weight = RandomValues(Size(weight_rows * cols), 4);
        const auto bias = RandomValues(Size(weight_rows * cols), 5);
        Guarded<float> guarded_x(x), guarded_weight(weight), guarded_bias(bias);
        LayerNormArgs args;
        args.x = guarded_x.data();
        if (weight_rows > 0) {
          args.weight = guarded_weight.data();
          args.weight_rows = weight_rows;
          if (weight_rows == 1) args.bias = guarded_bias.data();
        }
        args.rows = rows;
        args.cols = cols;
        const std::string label = OpShape("layer_norm", rows, cols);
        const auto got = RunEveryKernel(
            args, std::vector<float>(x.size()), [](LayerNormArgs& a, float* out) { a.out = out; },
            label);
        const auto in_place = RunEveryKernel(
            args, x, [](LayerNormArgs& a, float* data) { a.x = a.out = data; },
            label + " in place");
        ExpectSameBits(got, in_place, label + " in place");

        std::vector<double> want(x.size()), limit(x.size());
        for (std::int64_t r = 0; r < rows; ++r) {
          double mean = 0, squares = 0;
          for (std::int64_t c = 0; c < cols; ++c) mean += x[Size(r * cols + c)];
          mean /= static_cast<double>(cols);
          for (std::int64_t c = 0; c < cols; ++c) {
            squares += std::pow(x[Size(r * cols + c)] - mean, 2);
          }
          const double root = std::sqrt(squares / static_cast<double>(cols) + args.eps);
          const double mean_error = SumError(cols) * std::abs(mean);
          for (std::int64_t c = 0; c < cols; ++c) {
            const std::size_t i = Size(r * cols + c);
            const double w = weight_rows > 0 ? weight[Size(r % weight_rows * cols + c)] : 1.0;
            const double b = args.bias ? bias[Size(c)] : 0.0;
            const double normal = (x[i] - mean) / root;
            want[i] = normal * w + b;
            limit[i] = std::abs(w) * (mean_error / root * (1 + std::abs(normal)) +
                                      std::abs(normal) * SumError(cols)) +
                       std::abs(want[i]) * 2 * kUnit + 1e-30;
          }
        }
        ExpectNear(want, got, limit, label);
      }
    }
  }
}

}  // namespace
}  // namespace vt::test
