// softmax and arg_max: every kernel against the scalar one to the bit, that one against double and
// a plain search.
#include <cmath>
#include <limits>

#include "cpu/kernel_harness.h"

namespace vt::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

const auto kToOut = [](SoftmaxArgs& a, float* out) { a.out = out; };
const auto kInPlace = [](SoftmaxArgs& a, float* data) { a.x = a.out = data; };

TEST(SoftmaxTest, EveryKernel) {
  for (std::int64_t cols : Widths()) {
    for (std::int64_t rows : {0, 1, 3, 7}) {
      for (float scale : {1.0f, 0.3f, -2.0f}) {
        const std::string label =
            OpShape("softmax", rows, cols) + " scale " + std::to_string(scale);
        const auto x = RandomValues(Size(rows * cols), 41, 20.0f);
        Guarded<float> guarded_x(x);
        const SoftmaxArgs args{.x = guarded_x.data(), .rows = rows, .cols = cols, .scale = scale};
        const auto got = RunEveryKernel(args, std::vector<float>(x.size()), kToOut, label);
        ExpectSameBits(got, RunEveryKernel(args, x, kInPlace, label), label + " in place");

        std::vector<double> want(x.size()), limit(x.size());
        for (std::int64_t r = 0; r < rows; ++r) {
          double max = -kInf, sum = 0, sum_error = 0;
          for (std::int64_t c = 0; c < cols; ++c) {
            max = std::max(max, double{x[Size(r * cols + c)]} * scale);
          }
          // s and s - max are rounded, and exp is within 1.1 ulp.
          const auto error = [&](double s) {
            return kUnit * (std::abs(s) + std::abs(s - max) + 2.2);
          };
          for (std::int64_t c = 0; c < cols; ++c) {
            const double s = double{x[Size(r * cols + c)]} * scale;
            sum += std::exp(s - max);
            sum_error += std::exp(s - max) * error(s);
          }
          for (std::int64_t c = 0; c < cols; ++c) {
            const std::size_t i = Size(r * cols + c);
            const double s = double{x[i]} * scale;
            want[i] = std::exp(s - max) / sum;
            limit[i] = want[i] * (error(s) + sum_error / sum + SumError(cols)) + 1e-44;
          }
        }
        ExpectNear(want, got, limit, label);
      }
    }
  }
}

TEST(SoftmaxTest, FarBelowTheLargestIsZero) {
  for (std::int64_t cols : {2, 16, 17, 40}) {
    std::vector<float> x(Size(cols), -kInf);
    x[Size(cols / 2)] = -3e38f;
    const SoftmaxArgs args{.rows = 1, .cols = cols};
    const auto got = RunEveryKernel(args, x, kInPlace, OpShape("softmax", 1, cols));
    for (std::int64_t c = 0; c < cols; ++c) EXPECT_EQ(got[Size(c)], c == cols / 2 ? 1.0f : 0.0f);
  }
}

// No element of another row is touched by it.
TEST(SoftmaxTest, NotANumberAndInfinityFillTheirRow) {
  for (std::int64_t cols : {1, 15, 16, 17, 33}) {
    for (float bad : {NAN, kInf}) {
      for (std::int64_t at = 0; at < cols; at += 7) {
        auto x = RandomValues(Size(3 * cols), 42);
        x[Size(cols + at)] = bad;
        const SoftmaxArgs args{.rows = 3, .cols = cols};
        const auto got = RunEveryKernel(args, x, kInPlace, OpShape("softmax", 3, cols));
        for (std::int64_t i = 0; i < 3 * cols; ++i) {
          EXPECT_EQ(std::isnan(got[Size(i)]), i / cols == 1) << cols << " at " << i;
        }
      }
    }
  }
}

std::int32_t FirstLargest(const float* x, std::int64_t cols) {
  std::int64_t best = 0;
  const auto value = [&](std::int64_t c) { return std::isnan(x[c]) ? -kInf : x[c]; };
  for (std::int64_t c = 1; c < cols; ++c) {
    if (value(c) > value(best)) best = c;
  }
  return static_cast<std::int32_t>(best);
}

void CheckArgMax(const std::vector<float>& x, std::int64_t rows, std::int64_t cols,
                 const std::string& kind) {
  Guarded<float> guarded_x(x);
  const ArgMaxArgs args{.x = guarded_x.data(), .rows = rows, .cols = cols};
  const std::string label = OpShape("arg_max", rows, cols) + " " + kind;
  const auto got = RunEveryKernel(
      args, std::vector<std::int32_t>(Size(rows), -1),
      [](ArgMaxArgs& a, std::int32_t* out) { a.out = out; }, label);
  std::vector<std::int32_t> want;
  for (std::int64_t r = 0; r < rows; ++r) want.push_back(FirstLargest(x.data() + r * cols, cols));
  ExpectSameBits(want, got, label);
}

TEST(ArgMaxTest, EveryKernel) {
  std::vector<std::int64_t> widths = Widths();
  for (std::int64_t cols : {1023, 1024, 1025, 2049, 5000}) widths.push_back(cols);
  for (std::int64_t cols : widths) {
    for (std::int64_t rows : {0, 1, 3, 7}) {
      const std::size_t count = Size(rows * cols);
      auto x = RandomValues(count, 43);
      CheckArgMax(x, rows, cols, "distinct");
      for (float& v : x) v = std::floor(v * 4);
      CheckArgMax(x, rows, cols, "ties");
      CheckArgMax(WideValues(count, 44), rows, cols, "wide");
      for (std::size_t i = 0; i < count; ++i) x[i] = i % 3 == 0 ? NAN : -kInf;
      CheckArgMax(x, rows, cols, "nothing finite");
      for (std::size_t i = 0; i < count; ++i) x[i] = i % 2 == 0 ? -0.0f : 0.0f;
      CheckArgMax(x, rows, cols, "zeros");
      if (count == 0) continue;
      x.assign(count, NAN);
      x.back() = -1e30f;
      CheckArgMax(x, rows, cols, "last");
      x.assign(count, -1.0f);
      x.back() = kInf;
      CheckArgMax(x, rows, cols, "last infinite");
    }
  }
}

}  // namespace
}  // namespace vt::test
