// quantize: 15-bit activations in two digits, the same bits from every kernel.
#include <cmath>
#include <limits>

#include "cpu/matmul_fixture.h"

namespace vt {
namespace {

using test::Paged;

struct Quantized {
  explicit Quantized(std::int64_t count)
      : high(count), low(count), scales(count / 32), sums(count / 32) {}
  Q15Rows Rows() const { return {high.data(), low.data(), scales.data(), sums.data()}; }
  int Value(std::int64_t i) const { return 128 * high[i] + low[i]; }
  Paged<std::int8_t> high;
  Paged<std::int8_t> low;
  Paged<float> scales;
  Paged<std::int32_t> sums;
};

void Quantize(const std::string& kernel, const float* x, std::int64_t rows, std::int64_t cols,
              const Quantized& out, int parts = 1) {
  const QuantizeArgs args{.x = x, .out = out.Rows(), .rows = rows, .cols = cols};
  test::RunParts(test::Reference<QuantizeArgs>(kernel), args, parts);
}

TEST(QuantizeTest, ValuesAreNearestMultiplesOfTheScale) {
  test::Random random(1);
  constexpr std::int64_t kCols = 96;
  Paged<float> x(3 * kCols);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x[i] = random.Uniform(-4, 4) * (i / 32 % 2 ? 1e-6f : 1e6f);
  }
  Quantized q(x.size());
  Quantize("cpu.scalar.q15", x.data(), 3, kCols, q);
  for (std::int64_t g = 0; g < x.size() / 32; ++g) {
    float largest = 0;
    int sum = 0;
    for (int i = 0; i < 32; ++i) largest = std::max(largest, std::fabs(x[g * 32 + i]));
    EXPECT_EQ(q.scales[g], largest / 16256.0f);
    for (int i = 0; i < 32; ++i) {
      const int value = q.Value(g * 32 + i);
      sum += value;
      EXPECT_LE(std::abs(value), 16256);
      EXPECT_LE(std::abs(int{q.low[g * 32 + i]}), 64);
      EXPECT_LE(std::fabs(static_cast<double>(x[g * 32 + i]) -
                          static_cast<double>(value) * static_cast<double>(q.scales[g])),
                0.502 * static_cast<double>(q.scales[g]));
    }
    EXPECT_EQ(q.sums[g], sum);
  }
}

TEST(QuantizeTest, RoundsHalfToEven) {
  Paged<float> x(32);
  for (int i = 0; i < 32; ++i) x[i] = static_cast<float>(i) - 15.5f;
  x[0] = 16256.0f;  // scale 1
  Quantized q(32);
  Quantize("cpu.scalar.q15", x.data(), 1, 32, q);
  EXPECT_EQ(q.scales[0], 1.0f);
  for (int i = 1; i < 32; ++i) EXPECT_EQ(q.Value(i), std::nearbyint(x[i])) << x[i];
}

TEST(QuantizeTest, SpecialValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const float specials[] = {0.0f,   -0.0f,  kNan,   kInf,    -kInf,
                            1e-40f, 1e-45f, 1e-31f, 3.4e38f, -3.4e38f};
  for (const float special : specials) {
    for (const int at : {0, 5, 16, 31}) {
      Paged<float> x(64);
      for (int i = 0; i < 64; ++i) x[i] = i < 32 ? 0.0f : 1.0f;
      x[at] = special;
      Quantized q(64);
      Quantize("cpu.scalar.q15", x.data(), 1, 64, q);
      EXPECT_EQ(q.scales[1], 1.0f / 16256.0f);
      EXPECT_EQ(q.Value(63), 16256);
      if (!std::isfinite(special)) {
        EXPECT_TRUE(std::isnan(q.scales[0])) << special;
        EXPECT_EQ(q.Value(at), 0);
      } else if (std::fabs(special) < 0x1p-100f) {
        EXPECT_EQ(BitsOfFloat(q.scales[0]), 0u) << special;
        EXPECT_EQ(q.sums[0], 0);
      } else {
        EXPECT_EQ(q.scales[0], std::fabs(special) / 16256.0f);
        EXPECT_EQ(q.Value(at), special > 0 ? 16256 : -16256);
      }
    }
  }
}

TEST(QuantizeTest, EveryKernelAndPartCountAgrees) {
  test::Random random(2);
  for (const std::int64_t rows : {0, 1, 2, 5}) {
    for (const std::int64_t cols : {32, 64, 96, 576}) {
      Paged<float> x(rows * cols);
      for (std::int64_t i = 0; i < x.size(); ++i) {
        x[i] = std::ldexp(random.Uniform(-1, 1), static_cast<int>(random.Bits() % 20) - 10);
      }
      if (rows > 1) x[40] = std::numeric_limits<float>::quiet_NaN();
      if (rows > 1) x[cols] = std::numeric_limits<float>::infinity();
      Quantized want(x.size());
      Quantize("cpu.scalar.q15", x.data(), rows, cols, want);
      QuantizeArgs args{.x = x.data(), .out = {}, .rows = rows, .cols = cols};
      for (const auto* kernel : test::Usable(args)) {
        for (const int parts : {1, 2, 3, 8}) {
          SCOPED_TRACE(kernel->name + " parts " + std::to_string(parts));
          Quantized got(x.size());
          args.out = got.Rows();
          test::RunParts(*kernel, args, parts);
          for (std::int64_t i = 0; i < x.size(); ++i) {
            ASSERT_EQ(got.high[i], want.high[i]) << "value " << i << " of " << x[i];
            ASSERT_EQ(got.low[i], want.low[i]) << "value " << i << " of " << x[i];
          }
          for (std::int64_t g = 0; g < x.size() / 32; ++g) {
            ASSERT_TRUE(test::SameBits(got.scales[g], want.scales[g])) << "group " << g;
            ASSERT_EQ(got.sums[g], want.sums[g]) << "group " << g;
          }
          EXPECT_TRUE(got.high.Intact() && got.low.Intact() && got.scales.Intact() &&
                      got.sums.Intact());
        }
      }
    }
  }
}

TEST(QuantizeTest, RefusesPartialGroups) {
  const QuantizeArgs args{.x = nullptr, .out = {}, .rows = 1, .cols = 33};
  for (const auto& kernel : test::CpuOps().Rows<QuantizeArgs>()) {
    const Support support = kernel.supports(args);
    EXPECT_FALSE(support.yes);
    EXPECT_NE(support.reason.find("33"), std::string::npos) << support.reason;
  }
}

}  // namespace
}  // namespace vt
