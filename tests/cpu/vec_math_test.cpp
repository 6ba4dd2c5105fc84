// Accuracy of the vector functions and half-precision conversions against the C library in double
// and the compiler's own half type. The kernels' tests hold every instruction set to these bits.
#include "cpu/generic/vec_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace vt {
namespace {

using V = ScalarVec16;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The distance from `got` to `want` in units of the float spacing at `want`.
double Ulps(float got, double want) {
  const double size = std::max(std::abs(want), 0x1p-126);
  const double spacing = std::ldexp(1.0, std::ilogb(size) - 23);
  return std::abs(got - want) / spacing;
}

// The most ulps over `steps` floats from `from` to `to`.
double WorstUlps(V::F (*function)(V::F), const std::function<double(double)>& exact, float from,
                 float to, int steps) {
  double worst = 0;
  for (int i = 0; i <= steps; i += kLanes) {
    V::F x;
    for (int j = 0; j < kLanes; ++j) {
      x.lane[j] = from + (to - from) * (static_cast<float>(i + j) / static_cast<float>(steps));
    }
    const V::F y = function(x);
    for (int j = 0; j < kLanes; ++j) {
      worst = std::max(worst, Ulps(y.lane[j], exact(x.lane[j])));
    }
  }
  return worst;
}

float Exp1(float x) { return Exp<V>(V::Splat(x)).lane[0]; }
float Tanh1(float x) { return Tanh<V>(V::Splat(x)).lane[0]; }

TEST(VecMathTest, ExpIsWithinAnUlpAndABit) {
  const auto exact = [](double x) { return std::exp(x); };
  EXPECT_LT(WorstUlps(Exp<V>, exact, -1.0f, 1.0f, 300000), 1.1);
  EXPECT_LT(WorstUlps(Exp<V>, exact, -87.0f, 88.7f, 500000), 1.1);
  EXPECT_LT(WorstUlps(Exp<V>, exact, -104.0f, -87.0f, 200000), 1.1);  // denormals
}

TEST(VecMathTest, ExpAtTheEnds) {
  EXPECT_EQ(Exp1(0.0f), 1.0f);
  EXPECT_EQ(Exp1(-0.0f), 1.0f);
  EXPECT_EQ(Exp1(-kInf), 0.0f);
  EXPECT_EQ(Exp1(-1e30f), 0.0f);
  EXPECT_EQ(Exp1(-104.5f), 0.0f);
  EXPECT_EQ(Exp1(-103.0f), std::exp(-103.0f));  // the smallest denormal
  EXPECT_GT(Exp1(-103.0f), 0.0f);
  EXPECT_EQ(Exp1(kInf), kInf);
  EXPECT_EQ(Exp1(88.8f), kInf);
  EXPECT_LT(Exp1(88.72f), kInf);
  EXPECT_TRUE(std::isnan(Exp1(kNan)));
  EXPECT_TRUE(std::isnan(Exp1(-kNan)));
}

TEST(VecMathTest, TanhIsWithinThreeUlps) {
  const auto exact = [](double x) { return std::tanh(x); };
  EXPECT_LT(WorstUlps(Tanh<V>, exact, -1.0f, 1.0f, 300000), 3.0);
  EXPECT_LT(WorstUlps(Tanh<V>, exact, -12.0f, 12.0f, 300000), 3.0);
  EXPECT_LT(WorstUlps(Tanh<V>, exact, -1e-3f, 1e-3f, 100000), 3.0);
  for (float x : {0.0f, 1e-30f, 0.3f, 2.0f, 50.0f}) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(Tanh1(-x)), std::bit_cast<std::uint32_t>(-Tanh1(x)));
  }
  EXPECT_EQ(Tanh1(kInf), 1.0f);
  EXPECT_EQ(Tanh1(-kInf), -1.0f);
  EXPECT_EQ(Tanh1(10.5f), 1.0f);
  EXPECT_TRUE(std::isnan(Tanh1(kNan)));
}

TEST(VecMathTest, ActivationsAreWithinFourUlps) {
  const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  EXPECT_LT(WorstUlps(Silu<V>, silu, -20.0f, 20.0f, 400000), 4.0);
  const auto gelu = [](double x) {
    const double u = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
    return x / (1 + std::exp(-2 * u));  // x/2 (1 + tanh u), without its cancellation in double
  };
  EXPECT_LT(WorstUlps(Gelu<V>, gelu, -1.0f, 20.0f, 400000), 4.0);
  // Below, the rounding of u is magnified by 2u, up to 2 * 16 at -5.
  EXPECT_LT(WorstUlps(Gelu<V>, gelu, -5.0f, -1.0f, 200000), 32.0);
  EXPECT_EQ(Silu<V>(V::Splat(-200.0f)).lane[0], 0.0f);
  EXPECT_EQ(Gelu<V>(V::Splat(-200.0f)).lane[0], 0.0f);
  EXPECT_EQ(Silu<V>(V::Splat(200.0f)).lane[0], 200.0f);
  EXPECT_EQ(Gelu<V>(V::Splat(200.0f)).lane[0], 200.0f);
  EXPECT_TRUE(std::isnan(Silu<V>(V::Splat(kNan)).lane[0]));
  EXPECT_TRUE(std::isnan(Gelu<V>(V::Splat(kNan)).lane[0]));
}

TEST(VecMathTest, SoftplusIsWithinThreeUlps) {
  const auto softplus = [](double x) { return std::log1p(std::exp(x)); };
  EXPECT_LT(WorstUlps(Softplus<V>, softplus, -1.0f, 1.0f, 300000), 3.0);
  EXPECT_LT(WorstUlps(Softplus<V>, softplus, -20.0f, 30.0f, 500000), 3.0);
  EXPECT_LT(WorstUlps(Softplus<V>, softplus, -104.0f, -20.0f, 300000), 3.0);  // denormals too
  const auto one = [](float x) { return Softplus<V>(V::Splat(x)).lane[0]; };
  for (float x : {17.0f, 20.0f, 88.8f, 104.0f, 1e30f, kInf}) EXPECT_EQ(one(x), x);
  for (float x : {-104.5f, -1e30f, -kInf}) EXPECT_EQ(one(x), 0.0f);
  EXPECT_TRUE(std::isnan(one(kNan)));
  EXPECT_TRUE(std::isnan(one(-kNan)));
}

TEST(VecMathTest, HalfMatchesTheCompilersType) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto h = static_cast<std::uint16_t>(bits);
    const float want = static_cast<float>(std::bit_cast<_Float16>(h));
    const float got = F16ToF32(h);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << bits;
      EXPECT_TRUE(std::isnan(static_cast<float>(std::bit_cast<_Float16>(F32ToF16(got))))) << bits;
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(want)) << bits;
      EXPECT_EQ(F32ToF16(got), h);
    }
  }
  // Every exponent, with mantissas about the ties.
  int wrong = 0;
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    for (std::uint32_t low :
         {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x3001u, 0xffffu}) {
      const float x = std::bit_cast<float>(high << 16 | low);
      if (std::isnan(x)) continue;
      const auto want = std::bit_cast<std::uint16_t>(static_cast<_Float16>(x));
      if (F32ToF16(x) != want && wrong++ == 0) {
        ADD_FAILURE() << x << ": want " << want << ", got " << F32ToF16(x);
      }
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(VecMathTest, Bf16IsTheNearestWithTiesToEven) {
  for (std::uint32_t high = 0; high < 0x7f80; ++high) {
    for (std::uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const std::uint32_t want =
          low > 0x8000u || (low == 0x8000u && high % 2 == 1) ? high + 1 : high;
      const float x = std::bit_cast<float>(high << 16 | low);
      ASSERT_EQ(F32ToBf16(x), want) << x;
      ASSERT_EQ(F32ToBf16(-x), want | 0x8000u) << x;
    }
  }
  EXPECT_EQ(Bf16ToF32(F32ToBf16(kInf)), kInf);
  EXPECT_TRUE(std::isnan(Bf16ToF32(F32ToBf16(kNan))));
  // A NaN whose top bits are all clear must not become infinity.
  EXPECT_TRUE(std::isnan(Bf16ToF32(F32ToBf16(std::bit_cast<float>(0x7f800001u)))));
}

}  // namespace
}  // namespace vt
