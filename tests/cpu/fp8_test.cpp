// f8_e4m3 weights: every code against its definition in double, dequant_fp8 exactly,
// matmul_fp8 against its composed form to the bit and against double.
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
TEST(DequantFp8Test, EveryCodeLaneAndScale) {
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
        DequantFp8Args{.w = m.weight()}, std::vector<float>(want.size()),
        [](DequantFp8Args& a, float* out) { a.out = out; }, "dequant_fp8");
    ExpectSameBits(want, got, "dequant_fp8");
  }
}

TEST(DequantFp8Test, EveryKernelAndWidth) {
  for (std::int64_t cols : Widths()) {
    for (std::int64_t rows : {0, 1, 3, 7}) {
      const F8Matrix m(rows, cols, 2);
      std::vector<float> want;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < cols; ++c) want.push_back(m.Value(r, c));
      }
      const std::string label = OpShape("dequant_fp8", rows, cols);
      const auto got = RunEveryKernel(
          DequantFp8Args{.w = m.weight()}, std::vector<float>(want.size()),
          [](DequantFp8Args& a, float* out) { a.out = out; }, label);
      ExpectSameBits(want, got, label);
    }
  }
}

// Scales for blocks: what is left of them at the ends, matrices within a weight, a weight that
// begins within a block, blocks shorter than a vector.
std::vector<WeightScales> BlockShapes() {
  std::vector<WeightScales> shapes = {Blocks128(0), Blocks128(100), Blocks128(128), Blocks128(130)};
  for (std::size_t i = 0; i < 3; ++i) {
    shapes.push_back(shapes[i]);
    shapes.back().first_row = 120;
  }
  shapes.push_back({.block_rows = 7, .block_cols = 5});
  shapes.push_back({.block_rows = 3, .block_cols = 0, .matrix_rows = 4});
  return shapes;
}

TEST(DequantFp8Test, BlocksOfScales) {
  for (const WeightScales& blocks : BlockShapes()) {
    for (const std::int64_t cols : {1, 127, 128, 129, 300}) {
      const F8Matrix m(270, cols, 2, blocks);
      std::vector<float> want;
      for (std::int64_t r = 0; r < m.rows; ++r) {
        for (std::int64_t c = 0; c < cols; ++c) want.push_back(m.Value(r, c));
      }
      const std::string label = OpShape("dequant_fp8", blocks.matrix_rows, cols);
      const auto got = RunEveryKernel(
          DequantFp8Args{.w = m.weight()}, std::vector<float>(want.size()),
          [](DequantFp8Args& a, float* out) { a.out = out; }, label);
      ExpectSameBits(want, got, label);
    }
  }
}

TEST(EmbedTest, Fp8RowsTimesTheirScales) {
  for (const WeightScales& blocks : {WeightScales{}, Blocks128(0), Blocks128(100)}) {
    const F8Matrix m(150, 300, 2, blocks);
    const std::vector<std::int32_t> ids = {149, 0, 127, 128, 99, 100, 127};
    for (const float scale : {1.0f, 25.3f}) {
      std::vector<float> want;
      for (const std::int32_t id : ids) {
        for (std::int64_t c = 0; c < m.cols; ++c) want.push_back(m.Value(id, c) * scale);
      }
      EmbedArgs args{.table = m.weight(), .ids = ids.data(), .rows = 7, .scale = scale};
      for (const auto* kernel : Usable(args)) {
        std::vector<float> got(want.size());
        args.out = got.data();
        RunParts(*kernel, args, 3);
        ExpectSameBits(want, got, kernel->name);
      }
    }
  }
}

void CheckMatmul(std::int64_t n, std::int64_t m, std::int64_t k, WeightScales blocks = {},
                 bool accumulate = false) {
  const F8Matrix w(n, k, 3, blocks);
  const auto x = RandomValues(Size(m * k), 4, 2.0f);
  const auto bias = RandomValues(Size(n), 5, accumulate ? 2.0f : 0.0f);
  Paged<float> paged_x(m * k);
  std::copy(x.begin(), x.end(), paged_x.data());
  const MatmulFp8Args args{.w = w.weight(),
                           .x = paged_x.data(),
                           .m = m,
                           .bias = accumulate ? bias.data() : nullptr,
                           .accumulate = accumulate};
  const std::string label = OpShape("matmul_fp8", n, k) + " m " + std::to_string(m);
  const float start = accumulate ? 0.75f : -7.0f;
  const auto got = RunEveryKernel(
      args, std::vector<float>(Size(m * n), start),
      [](MatmulFp8Args& a, float* out) { a.out = out; }, label);
  std::vector<double> want, limit;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t c = 0; c < k; ++c) {
        const double product = double{w.Value(j, c)} * double{x[Size(i * k + c)]};
        sum += product;
        size += std::abs(product);
      }
      const double more = accumulate ? double{bias[Size(j)]} + double{start} : 0;
      want.push_back(sum + more);
      limit.push_back((size + std::abs(more)) * SumError(k) + 1e-40);
    }
  }
  ExpectNear(want, got, limit, label);
}

TEST(MatmulFp8Test, EveryKernelWidthAndTheComposedForm) {
  for (std::int64_t k : Widths()) {
    for (std::int64_t m : {0, 1, 3, 7}) CheckMatmul(5, m, k);
  }
}

TEST(MatmulFp8Test, EveryTile) {
  for (std::int64_t n = 0; n <= 19; ++n) {
    for (std::int64_t m : {1, 2, 4, 5, 8, 33}) CheckMatmul(n, m, 33);
  }
  // Past one buffer of decoded weights.
  for (std::int64_t k : {255, 256, 257, 511, 513}) CheckMatmul(40, 3, k);
}

TEST(MatmulFp8Test, BlocksOfScales) {
  for (const WeightScales& blocks : BlockShapes()) {
    for (const std::int64_t k : {100, 128, 200, 256, 300, 520}) {
      for (const std::int64_t m : {1, 5}) CheckMatmul(140, m, k, blocks);
    }
    CheckMatmul(270, 33, 300, blocks);
  }
}

TEST(MatmulFp8Test, BiasAndWhatIsThere) {
  for (const std::int64_t m : {1, 3}) {
    CheckMatmul(5, m, 33, {}, true);
    CheckMatmul(140, m, 300, Blocks128(0), true);
  }
}

// The composed form decodes the whole weight; the others must run without room for that.
TEST(MatmulFp8Test, WithoutScratchOnlyTheComposedFormIsRefused) {
  const MatmulFp8Args args{.w = {.type = DType::kF8_E4M3, .rows = 4, .cols = 32}, .m = 1};
  for (const auto& kernel : CpuOps().Rows<MatmulFp8Args>()) {
    EXPECT_EQ(kernel.supports(args).reason,
              kernel.compose ? "decodes the whole weight, and has no room for it (128 floats of "
                               "scratch wanted, 0 given)"
                             : "")
        << kernel.name;
  }
}

TEST(MatmulFp8Test, ABadRowStaysInItsColumn) {
  F8Matrix w(9, 40, 5);
  w.codes[4 * 40 + 17] = 0xff;
  w.scales[6] = INFINITY;
  const auto x = RandomValues(3 * 40, 6);
  const auto got = RunEveryKernel(
      MatmulFp8Args{.w = w.weight(), .x = x.data(), .m = 3}, std::vector<float>(27),
      [](MatmulFp8Args& a, float* out) { a.out = out; }, "matmul_fp8");
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(std::isfinite(got[i]), i % 9 != 4 && i % 9 != 6) << i;
  }
}

// The plain product sends such weights to the ones that know of the scales.
TEST(F8Test, WhereScalesAreUnknownTheReasonSaysWhoTakesThem) {
  const Weight w{.type = DType::kF8_E4M3, .rows = 4, .cols = 32};
  const std::string want =
      "f8_e4m3 weights are taken by matmul_fp8, embed, head_matmul and the expert ops";
  int f32_rows = 0;
  for (const auto& kernel : CpuOps().Rows<MatmulArgs>()) {
    EXPECT_FALSE(kernel.supports({.w = w}).yes) << kernel.name;
    if (!kernel.name.ends_with("f32")) continue;
    EXPECT_EQ(kernel.supports({.w = w}).reason, want) << kernel.name;
    ++f32_rows;
  }
  EXPECT_EQ(f32_rows, 3);
}

TEST(F8Test, BlocksThatAreNoneAreRefused) {
  const auto reason = [](WeightScales scales) {
    Weight w{.type = DType::kF8_E4M3, .rows = 4, .cols = 32};
    w.scales = scales;
    return Reference<DequantFp8Args>("cpu.scalar.f32").supports({.w = w}).reason;
  };
  EXPECT_EQ(reason(Blocks128(0)), "");
  EXPECT_EQ(reason({.block_rows = 0}), "rows of a block of scales (0) must be at least 1");
  EXPECT_EQ(reason({.block_cols = -1}), "columns of a block of scales (-1) must be at least 0");
  EXPECT_EQ(reason({.matrix_rows = -1}), "rows between matrices of scales (-1) must be at least 0");
  EXPECT_EQ(reason({.first_row = -1}), "first row of scales (-1) must be at least 0");
}

TEST(F8Test, OtherWeightsAreRefused) {
  const Weight w{.type = DType::kBF16, .rows = 4, .cols = 32};
  for (const auto& kernel : CpuOps().Rows<MatmulFp8Args>()) {
    if (!kernel.run) continue;
    EXPECT_EQ(kernel.supports({.w = w}).reason, "takes weights of type f8_e4m3, seen bf16");
  }
  for (const auto& kernel : CpuOps().Rows<DequantFp8Args>()) {
    EXPECT_EQ(kernel.supports({.w = w}).reason, "takes weights of type f8_e4m3, seen bf16");
  }
}

}  // namespace
}  // namespace vt::test
