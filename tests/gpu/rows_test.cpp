// Ops with a block to a row: norms, softmax, arg_max.
#include <limits>

#include "gpu/gpu_harness.h"

namespace vt::test::gpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// 1 / rms is off by half of what the mean of squares is off, in units: each of the two sums by
// Chain(cols); then six roundings.
double NormLimit(std::int64_t cols) { return (Chain(cols) + 6) * kUnit; }

TEST(GpuRmsNorm, MatchesTheReference) {
  for (const std::int64_t cols : kCols) {
    const std::int64_t rows = 3;
    const auto limit = [&](const std::vector<float>& want, std::size_t i) {
      return NormLimit(cols) * std::abs(want[i]);
    };
    for (const std::int64_t stride : {std::int64_t{0}, cols + 3}) {
      const std::int64_t size = (rows - 1) * (stride == 0 ? cols : stride) + cols;
      const auto x = RandomValues(size, 1, 4.0f);
      for (const std::int64_t weight_rows : {0, 1, 2, 3}) {
        const auto weight = RandomValues(weight_rows * cols, 2);
        const std::string label = std::to_string(rows) + "x" + std::to_string(cols) + " stride " +
                                  std::to_string(stride) + " weight rows " +
                                  std::to_string(weight_rows);
        const auto args = [&](Buffers& on, bool in_place) {
          // What lies between the rows must stay.
          float* out = on.Out(in_place ? x : std::vector<float>(x.size(), 7.0f));
          return RmsNormArgs{.x = in_place ? out : on.In(x),
                             .weight = weight_rows == 0 ? nullptr : on.In(weight),
                             .weight_rows = weight_rows == 0 ? 1 : weight_rows,
                             .out = out,
                             .rows = rows,
                             .cols = cols,
                             .eps = 1e-5f,
                             .stride = stride};
        };
        CheckKernel<RmsNormArgs>(
            "f32", [&](Buffers& on) { return args(on, false); }, label, limit);
        if (weight_rows == 1) {
          CheckKernel<RmsNormArgs>(
              "f32", [&](Buffers& on) { return args(on, true); }, label + " in place", limit);
        }
      }
    }
  }
}

TEST(GpuRmsNormAdd, MatchesTheReferenceAndItsParts) {
  for (const std::int64_t cols : kCols) {
    const std::int64_t rows = 2;
    const auto x = RandomValues(rows * cols, 1, 4.0f), residual = RandomValues(rows * cols, 2);
    const auto weight = RandomValues(cols, 3);
    enum Form { kApart, kOverX, kOverResidual, kNoWeight };
    for (const Form form : {kApart, kOverX, kOverResidual, kNoWeight}) {
      const std::string label = std::to_string(cols) + " form " + std::to_string(form);
      const Make<RmsNormAddArgs> make = [&](Buffers& on) {
        RmsNormAddArgs args{.rows = rows, .cols = cols};
        args.out = on.Out(form == kOverX          ? x
                          : form == kOverResidual ? residual
                                                  : std::vector<float>(x.size()));
        args.x = form == kOverX ? args.out : on.In(x);
        args.residual = form == kOverResidual ? args.out : on.In(residual);
        args.weight = form == kNoWeight ? nullptr : on.In(weight);
        return args;
      };
      for (const Target& target : Targets()) {
        const std::vector<float> got = RunTarget<RmsNormAddArgs>(target, "f32", make, label);
        // Its parts on the same device.
        const std::vector<float> normed = RunTarget<RmsNormArgs>(
            target, "f32",
            [&](Buffers& on) {
              return RmsNormArgs{.x = on.In(x),
                                 .weight = form == kNoWeight ? nullptr : on.In(weight),
                                 .out = on.Out(x),
                                 .rows = rows,
                                 .cols = cols};
            },
            label);
        const std::vector<float> added = RunTarget<AddArgs>(
            target, "f32",
            [&](Buffers& on) {
              return AddArgs{
                  .a = on.In(residual), .b = on.In(normed), .out = on.Out(x), .count = rows * cols};
            },
            label);
        ExpectSameBits(added, got, label + " against its parts on " + target.name);
        // The norm's error, and the rounding of the sum.
        const std::vector<float> reference =
            RunReference<RmsNormArgs>("cpu.scalar.f32", [&](Buffers& on) {
              return RmsNormArgs{.x = on.In(x),
                                 .weight = form == kNoWeight ? nullptr : on.In(weight),
                                 .out = on.Out(x),
                                 .rows = rows,
                                 .cols = cols};
            });
        std::vector<float> want(reference.size());
        for (std::size_t i = 0; i < want.size(); ++i) want[i] = residual[i] + reference[i];
        ExpectNear(
            want, got,
            [&](std::size_t i) {
              return NormLimit(cols) * std::abs(reference[i]) + 2 * kUnit * std::abs(want[i]);
            },
            label + " on " + target.name);
      }
    }
  }
}

TEST(GpuSoftmax, MatchesTheReference) {
  for (const std::int64_t cols : kCols) {
    for (const float scale : {1.0f, 0.25f, -3.0f}) {
      const std::int64_t rows = 3;
      const auto x = RandomValues(rows * cols, 1, 20.0f);
      // The maximum and the exponentials have the same bits; the sums differ in their order.
      const auto limit = [&](const std::vector<float>& want, std::size_t i) {
        return (2 * Chain(cols) + 1) * kUnit * std::abs(want[i]) + 0x1p-149;
      };
      const std::string label = std::to_string(cols) + " scale " + std::to_string(scale);
      for (const bool in_place : {false, true}) {
        CheckKernel<SoftmaxArgs>(
            "f32",
            [&](Buffers& on) {
              float* out = on.Out(in_place ? x : std::vector<float>(x.size()));
              return SoftmaxArgs{.x = in_place ? out : on.In(x),
                                 .out = out,
                                 .rows = rows,
                                 .cols = cols,
                                 .scale = scale};
            },
            label + (in_place ? " in place" : ""), limit);
      }
    }
  }
}

TEST(GpuSoftmax, NaNAndInfinityMakeARowNaN) {
  for (const std::int64_t cols : {5, 70, 600}) {
    const std::int64_t rows = 6;
    auto x = RandomValues(rows * cols, 1);
    const auto at = [&](std::int64_t row, std::int64_t col) -> float& {
      return x[static_cast<std::size_t>(row * cols + col)];
    };
    at(1, cols - 1) = std::nanf("");
    at(2, 0) = kInf;
    at(3, cols / 2) = -kInf;
    for (std::int64_t c = 0; c < cols; ++c) at(4, c) = -kInf;
    for (const Target& target : Targets()) {
      const auto got = RunTarget<SoftmaxArgs>(
          target, "f32",
          [&](Buffers& on) {
            return SoftmaxArgs{.x = on.In(x), .out = on.Out(x), .rows = rows, .cols = cols};
          },
          "special");
      for (std::int64_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (std::int64_t c = 0; c < cols; ++c) {
          const float value = got[static_cast<std::size_t>(r * cols + c)];
          EXPECT_EQ(std::isnan(value), r == 1 || r == 2 || r == 4) << r << " " << c;
          sum += value;
        }
        if (!std::isnan(sum)) {
          EXPECT_NEAR(sum, 1.0, 1e-5) << r;
        }
      }
      EXPECT_EQ(got[static_cast<std::size_t>(3 * cols + cols / 2)], 0.0f);
    }
  }
}

TEST(GpuArgMax, TakesTheLowestOfTheLargest) {
  for (const std::int64_t cols : kCols) {
    const std::int64_t rows = 7;
    auto x = RandomValues(rows * cols, static_cast<std::uint32_t>(cols));
    const auto at = [&](std::int64_t row, std::int64_t col) -> float& {
      return x[static_cast<std::size_t>(row * cols + col)];
    };
    at(1, cols - 1) = 5.0f;  // the last
    at(2, cols / 2) = 5.0f;  // of two
    at(2, cols - 1) = 5.0f;
    at(3, 0) = std::nanf("");  // before the largest
    for (std::int64_t c = 0; c < cols; ++c) {
      at(4, c) = c % 2 == 0 ? std::nanf("") : -kInf;  // nothing to find
      at(5, c) = -kInf;
      at(6, c) = c == cols - 1 ? 0.0f : -0.0f;  // equal
    }
    const std::vector<std::int32_t> out(static_cast<std::size_t>(rows), -1);
    const Make<ArgMaxArgs> make = [&](Buffers& on) {
      return ArgMaxArgs{.x = on.In(x), .out = on.Out(out), .rows = rows, .cols = cols};
    };
    CheckSameBits<ArgMaxArgs, std::int32_t>("f32", make, std::to_string(cols));
    const auto got = RunTarget<ArgMaxArgs, std::int32_t>(Targets()[1], "f32", make, "answers");
    EXPECT_EQ(got[1], cols - 1);
    EXPECT_EQ(got[2], cols / 2);
    EXPECT_EQ(got[4], 0);
    EXPECT_EQ(got[5], 0);
    EXPECT_EQ(got[6], 0);
  }
}

}  // namespace
}  // namespace vt::test::gpu
