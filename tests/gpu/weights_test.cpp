// Ops that read rows of the model file: embed, and products with few rows of activations.
#include "cpu/matmul_fixture.h"
#include "cpu/quants/dequantize.h"
#include "gpu/gpu_harness.h"
#include "support/test_files.h"

namespace vt::test::gpu {
namespace {

std::vector<std::uint8_t> Rows(DType type, std::int64_t rows, std::int64_t cols, unsigned seed) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(rows) *
                                  RowBytes(type, static_cast<std::uint64_t>(cols)));
  Random random(seed);
  FillWeights(type, rows, cols, bytes.data(), random);
  return bytes;
}
Weight WeightOf(DType type, std::int64_t rows, std::int64_t cols, const void* data) {
  return {.type = type, .rows = rows, .cols = cols, .data = data};
}

TEST(GpuEmbed, HasTheReferencesBits) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_K}) {
    const std::int64_t block = InfoOf(type).block;
    for (const std::int64_t blocks : {1, 2, 3, 9}) {
      const std::int64_t cols = blocks * block, table_rows = 11;
      const auto table = Rows(type, table_rows, cols, 1);
      const std::vector<std::int32_t> ids = {10, 0, 3, 3, 7};
      const auto rows = static_cast<std::int64_t>(ids.size());
      const std::vector<float> out(static_cast<std::size_t>(rows * cols));
      for (const float scale : {1.0f, 45.25f}) {
        CheckSameBits<EmbedArgs>(
            "f32",
            [&](Buffers& on) {
              return EmbedArgs{.table = WeightOf(type, table_rows, cols, on.In(table)),
                               .ids = on.In(ids),
                               .rows = rows,
                               .scale = scale,
                               .out = on.Out(out)};
            },
            std::string(NameOf(type)) + " cols " + std::to_string(cols));
      }
    }
  }
}

// The blocks and values that others made.
TEST(GpuEmbed, DecodesWhatOthersDecode) {
  for (const DType type : {DType::kQ8_0, DType::kQ4_K}) {
    const std::string name = type == DType::kQ4_K ? "quants/q4_K" : "quants/q8_0";
    const std::string blocks = ReadFile(DataPath(name + ".blocks"));
    const std::string values = ReadFile(DataPath(name + ".f32"));
    const std::vector<std::uint8_t> table(blocks.begin(), blocks.end());
    std::vector<float> want(values.size() / sizeof(float));
    std::memcpy(want.data(), values.data(), values.size());
    const auto cols = static_cast<std::int64_t>(want.size()) / 4;
    const std::vector<std::int32_t> ids = {0, 1, 2, 3};
    for (const Target& target : Targets()) {
      const auto got = RunTarget<EmbedArgs>(
          target, "f32",
          [&](Buffers& on) {
            return EmbedArgs{.table = WeightOf(type, 4, cols, on.In(table)),
                             .ids = on.In(ids),
                             .rows = 4,
                             .out = on.Out(std::vector<float>(want.size()))};
          },
          name);
      ExpectSameBits(want, got, name + " on " + target.name);
    }
  }
}

TEST(GpuEmbed, AnIdBesideTheTableIsCaught) {
  const auto table = Rows(DType::kF32, 4, 8, 1);
  const std::vector<std::int32_t> ids = {2, 4};
  const std::vector<float> out(16, 7.0f);
  Buffers buffers(SimDevice());
  const EmbedArgs args{.table = WeightOf(DType::kF32, 4, 8, buffers.In(table)),
                       .ids = buffers.In(ids),
                       .rows = 2,
                       .out = buffers.Out(out)};
  const auto stream = gpu_sim::OpenEmulator();
  const Status status = FindKernel<EmbedArgs>("sim.f32")->launch(args, *stream);
  EXPECT_EQ(status.code(), Code::kDevice);
  EXPECT_EQ(status.message(),
            "kernel embed: block 1, thread 0: read of 4 bytes from byte 128 of a buffer of 128 "
            "bytes; 7 more in the same block");
}

struct MatvecForm {
  bool bias = false;
  bool accumulate = false;
};

void CheckMatvec(DType type, std::int64_t n, std::int64_t k, std::int64_t m, MatvecForm form) {
  const auto w = Rows(type, n, k, static_cast<unsigned>(n + k));
  const auto x = RandomValues(m * k, 2), bias = RandomValues(n, 3), before = RandomValues(m * n, 4);
  std::vector<float> decoded(static_cast<std::size_t>(n * k));
  if (!decoded.empty()) FindDequantize(type)(w.data(), decoded.data(), n * k);
  // Each of the two sums is off by Chain(k) units of the sum of magnitudes; then bias and what was
  // there are added.
  const auto limit = [&](const std::vector<float>& want, std::size_t i) {
    const std::size_t row = i / static_cast<std::size_t>(n),
                      column = i % static_cast<std::size_t>(n);
    double magnitude = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(k); ++c) {
      magnitude += std::abs(static_cast<double>(decoded[column * static_cast<std::size_t>(k) + c]) *
                            x[row * static_cast<std::size_t>(k) + c]);
    }
    const double added = std::abs(want[i]) + std::abs(bias[column]) + std::abs(before[i]);
    return 2 * Chain(k) * kUnit * magnitude + 4 * kUnit * added;
  };
  CheckKernel<MatmulArgs>(
      std::string(NameOf(type)).c_str(),
      [&](Buffers& on) {
        return MatmulArgs{.w = WeightOf(type, n, k, on.In(w)),
                          .x = on.In(x),
                          .m = m,
                          .bias = form.bias ? on.In(bias) : nullptr,
                          .accumulate = form.accumulate,
                          .out = on.Out(before)};
      },
      std::string(NameOf(type)) + " " + std::to_string(m) + "x" + std::to_string(n) + "x" +
          std::to_string(k),
      limit);
}

TEST(GpuMatvec, MatchesTheReference) {
  for (const DType type : {DType::kQ8_0, DType::kQ4_K}) {
    const std::int64_t block = InfoOf(type).block;
    for (const std::int64_t blocks : {1, 2, 3, 4, 5, 9}) {
      for (const std::int64_t n : {1, 3, 4, 5, 17}) CheckMatvec(type, n, blocks * block, 1, {});
      for (std::int64_t m = 0; m <= 8; ++m) CheckMatvec(type, 5, blocks * block, m, {true, false});
    }
    CheckMatvec(type, 6, 2 * block, 3, {false, true});
    CheckMatvec(type, 6, 2 * block, 3, {true, true});
    CheckMatvec(type, 130, 576 / block * block, 1, {true, true});
  }
}

TEST(GpuMatvec, ARowDependsOnItselfAlone) {
  for (const DType type : {DType::kQ8_0, DType::kQ4_K}) {
    const std::int64_t n = 9, k = 3 * 256;
    const auto w = Rows(type, n, k, 1);
    const auto x = RandomValues(8 * k, 2);
    const std::string suffix(NameOf(type));
    const auto run = [&](std::int64_t from, std::int64_t m) {
      const std::vector<float> rows(x.begin() + from * k, x.begin() + (from + m) * k);
      return RunTarget<MatmulArgs>(
          Targets()[0], suffix.c_str(),
          [&](Buffers& on) {
            return MatmulArgs{.w = WeightOf(type, n, k, on.In(w)),
                              .x = on.In(rows),
                              .m = m,
                              .out = on.Out(std::vector<float>(static_cast<std::size_t>(m * n)))};
          },
          "rows");
    };
    const auto all = run(0, 8);
    for (std::int64_t m = 1; m < 8; ++m) {
      const auto some = run(8 - m, m);
      ExpectSameBits(std::vector<float>(all.end() - m * n, all.end()), some,
                     suffix + " last " + std::to_string(m));
    }
  }
}

TEST(GpuMatvec, SaysWhatItDoesNotTake) {
  const auto ask = [](const char* name, const MatmulArgs& args) {
    return FindKernel<MatmulArgs>(name)->supports(args).reason;
  };
  const MatmulArgs q8{.w = WeightOf(DType::kQ8_0, 4, 64, nullptr), .m = 8};
  EXPECT_EQ(ask("sim.q8_0", q8), "");
  EXPECT_EQ(ask("sim.q4_k", q8), "takes weights of type q4_k, seen q8_0");
  MatmulArgs many = q8;
  many.m = 9;
  EXPECT_EQ(ask("cuda.q8_0", many), "m (9) exceeds the rows of activations that it takes (8)");
  MatmulArgs quantised = q8;
  quantised.act = ActType::kQ15;
  EXPECT_EQ(ask("hip.q8_0", quantised), "takes f32 activations, seen q15");
  const EmbedArgs q6{.table = WeightOf(DType::kQ6_K, 4, 256, nullptr)};
  EXPECT_EQ(FindKernel<EmbedArgs>("sim.f32")->supports(q6).reason,
            "a table of type q6_k is not taken (f32, f16, bf16, q8_0 or q4_k)");
}

}  // namespace
}  // namespace vt::test::gpu
