// f8_e4m3 weights: every code against its definition in double, dequant_fp8_channel exactly,
// matmul_fp8_channel against its composed form to the bit and against double.
#include "cpu/fp8_fixture.h"
#include "ops/resolve.h"

namespace vt::test {
namespace {

TEST(F8Test, EveryCodeIsWhatItsBitsSay) {
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    float got = 0;
    DequantizeRow(DType::kF8_E4M3, &byte, &got, 1);
    EXPECT_TRUE(SameBits(got, static_cast<float>(F8Value(byte)))) << code << ": " << got;
  }
  EXPECT_EQ(F8Value(0x38), 1.0);
  EXPECT_EQ(F8Value(0x7e), 448.0);
  EXPECT_EQ(F8Value(0x81), -0x1p-9);
}

// All codes, in every lane, under scales from the least to the largest.
TEST(DequantFp8ChannelTest, EveryCodeLaneAndScale) {
  const std::vector<float> scales = {1.0f,    0.0f,   -0.0f,  -1.0f,    0.0123f, 3.4e38f,
                                     -1e-38f, 1e-45f, 1e-40f, INFINITY, NAN,     0x1p-140f};
  for (std::int64_t shift = 0; shift < 16; ++shift) {
    const auto rows = static_cast<std::int64_t>(scales.size());
    F8Matrix m(rows, 256 + shift, 1);
    for (std::int64_t r = 0; r < rows; ++r) {
      m.scales[r] = scales[Size(r)];
      for (std::int64_t c = 0; c < m.cols; ++c) {
        m.codes[r * m.cols + c] = static_cast<std::uint8_t>(c - shift);
      }
    }
    std::vector<float> want;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < m.cols; ++c) want.push_back(m.Value(r, c));
    }
    const auto got = RunEveryKernel(
        DequantFp8ChannelArgs{.w = m.weight()}, std::vector<float>(want.size()),
        [](DequantFp8ChannelArgs& a, float* out) { a.out = out; }, "dequant_fp8_channel");
    ExpectSameBits(want, got, "dequant_fp8_channel");
  }
}

TEST(DequantFp8ChannelTest, EveryKernelAndWidth) {
  for (std::int64_t cols : Widths()) {
    for (std::int64_t rows : {0, 1, 3, 7}) {
      const F8Matrix m(rows, cols, 2);
      std::vector<float> want;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < cols; ++c) want.push_back(m.Value(r, c));
      }
      const std::string label = OpShape("dequant_fp8_channel", rows, cols);
      const auto got = RunEveryKernel(
          DequantFp8ChannelArgs{.w = m.weight()}, std::vector<float>(want.size()),
          [](DequantFp8ChannelArgs& a, float* out) { a.out = out; }, label);
      ExpectSameBits(want, got, label);
    }
  }
}

void CheckMatmul(std::int64_t n, std::int64_t m, std::int64_t k) {
  const F8Matrix w(n, k, 3);
  const auto x = RandomValues(Size(m * k), 4, 2.0f);
  Paged<float> paged_x(m * k);
  std::copy(x.begin(), x.end(), paged_x.data());
  const MatmulFp8ChannelArgs args{.w = w.weight(), .x = paged_x.data(), .m = m};
  const std::string label = OpShape("matmul_fp8_channel", n, k) + " m " + std::to_string(m);
  const auto got = RunEveryKernel(
      args, std::vector<float>(Size(m * n), -7.0f),
      [](MatmulFp8ChannelArgs& a, float* out) { a.out = out; }, label);
  std::vector<double> want, limit;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t c = 0; c < k; ++c) {
        const double product = double{w.Value(j, c)} * double{x[Size(i * k + c)]};
        sum += product;
        size += std::abs(product);
      }
      want.push_back(sum);
      limit.push_back(size * SumError(k) + 1e-40);
    }
  }
  ExpectNear(want, got, limit, label);
}

TEST(MatmulFp8ChannelTest, EveryKernelWidthAndTheComposedForm) {
  for (std::int64_t k : Widths()) {
    for (std::int64_t m : {0, 1, 3, 7}) CheckMatmul(5, m, k);
  }
}

TEST(MatmulFp8ChannelTest, EveryTile) {
  for (std::int64_t n = 0; n <= 19; ++n) {
    for (std::int64_t m : {1, 2, 4, 5, 8, 33}) CheckMatmul(n, m, 33);
  }
  // Past one buffer of decoded weights.
  for (std::int64_t k : {255, 256, 257, 511, 513}) CheckMatmul(40, 3, k);
}

TEST(MatmulFp8ChannelTest, ABadRowStaysInItsColumn) {
  F8Matrix w(9, 40, 5);
  w.codes[4 * 40 + 17] = 0xff;
  w.scales[6] = INFINITY;
  const auto x = RandomValues(3 * 40, 6);
  const auto got = RunEveryKernel(
      MatmulFp8ChannelArgs{.w = w.weight(), .x = x.data(), .m = 3}, std::vector<float>(27),
      [](MatmulFp8ChannelArgs& a, float* out) { a.out = out; }, "matmul_fp8_channel");
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(std::isfinite(got[i]), i % 9 != 4 && i % 9 != 6) << i;
  }
}

// The plain ops send such weights to the ones that know of the scales.
TEST(F8Test, WhereRowScalesAreUnknownTheReasonSaysWhoTakesThem) {
  const Weight w{.type = DType::kF8_E4M3, .rows = 4, .cols = 32};
  const std::string want = "f8_e4m3 weights are taken by matmul_fp8_channel and the expert ops";
  for (const auto& kernel : CpuOps().Rows<EmbedArgs>()) {
    EXPECT_EQ(kernel.supports({.table = w}).reason, want) << kernel.name;
  }
  int f32_rows = 0;
  for (const auto& kernel : CpuOps().Rows<MatmulArgs>()) {
    EXPECT_FALSE(kernel.supports({.w = w}).yes) << kernel.name;
    if (!kernel.name.ends_with("f32")) continue;
    EXPECT_EQ(kernel.supports({.w = w}).reason, want) << kernel.name;
    ++f32_rows;
  }
  EXPECT_EQ(f32_rows, 3);
}

TEST(F8Test, OtherWeightsAreRefused) {
  const Weight w{.type = DType::kBF16, .rows = 4, .cols = 32};
  for (const auto& kernel : CpuOps().Rows<MatmulFp8ChannelArgs>()) {
    if (!kernel.run) continue;
    EXPECT_EQ(kernel.supports({.w = w}).reason, "takes weights of type f8_e4m3, seen bf16");
  }
  for (const auto& kernel : CpuOps().Rows<DequantFp8ChannelArgs>()) {
    EXPECT_EQ(kernel.supports({.w = w}).reason, "takes weights of type f8_e4m3, seen bf16");
  }
}

}  // namespace
}  // namespace vt::test
