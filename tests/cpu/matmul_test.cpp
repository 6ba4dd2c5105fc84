// matmul: every kernel against the scalar one bit for bit, the scalar one against double.
#include <cmath>
#include <limits>

#include "cpu/matmul_fixture.h"
#include "ops/matmul_policy.h"
#include "ops/resolve.h"

namespace vt {
namespace {

using test::Paged;

// One problem with its inputs in guarded memory.
class Problem {
 public:
  Problem(DType type, ActType act, std::int64_t n, std::int64_t m, std::int64_t k,
          unsigned seed = 1)
      : w_(n * RowBytesOf(type, k)),
        x_(m * k),
        high_(act == ActType::kQ15 ? m * k : 0),
        low_(act == ActType::kQ15 ? m * k : 0),
        scales_(act == ActType::kQ15 ? m * k / 32 : 0),
        sums_(act == ActType::kQ15 ? m * k / 32 : 0),
        bias_(n) {
    test::Random random(seed);
    test::FillWeights(type, n, k, w_.data(), random);
    for (std::int64_t i = 0; i < m * k; ++i) x_[i] = random.Uniform(-2, 2);
    for (std::int64_t i = 0; i < n; ++i) bias_[i] = random.Uniform(-1, 1);
    args_.w = {.type = type, .rows = n, .cols = k, .data = w_.data()};
    args_.act = act;
    args_.m = m;
    if (act == ActType::kQ15) {
      args_.q = {high_.data(), low_.data(), scales_.data(), sums_.data()};
      Quantize();
    } else {
      args_.x = x_.data();
    }
  }

  float* x() { return x_.data(); }
  std::int8_t* high() { return high_.data(); }
  std::int8_t* low() { return low_.data(); }
  float* scales() { return scales_.data(); }
  std::int32_t* sums() { return sums_.data(); }
  std::uint8_t* weights() { return w_.data(); }
  MatmulArgs& args() { return args_; }
  std::int64_t outputs() const { return args_.m * args_.w.rows; }
  void UseBias() { args_.bias = bias_.data(); }
  void Quantize() {
    const QuantizeArgs q{.x = x_.data(), .out = args_.q, .rows = args_.m, .cols = args_.w.cols};
    test::RunParts(test::Reference<QuantizeArgs>("cpu.scalar.q15"), q, 1);
  }

  // The result of a kernel; with accumulate, on top of 0, 0.25, 0.5, ...
  std::vector<float> Run(const Kernel<MatmulArgs>& kernel, int parts = 1) {
    Paged<float> out(outputs());
    for (std::int64_t i = 0; i < outputs(); ++i) out[i] = 0.25f * static_cast<float>(i % 64);
    args_.out = out.data();
    test::RunParts(kernel, args_, parts);
    EXPECT_TRUE(out.Intact());
    return {out.data(), out.data() + outputs()};
  }

  const Kernel<MatmulArgs>& Scalar() const {
    return test::Reference<MatmulArgs>(args_.act == ActType::kQ15 ? "cpu.scalar.q15"
                                                                  : "cpu.scalar.f32");
  }

  std::string Name() const {
    return std::string(NameOf(args_.w.type)) + (args_.act == ActType::kQ15 ? " q15" : " f32") +
           " n " + std::to_string(args_.w.rows) + " m " + std::to_string(args_.m) + " k " +
           std::to_string(args_.w.cols);
  }

 private:
  static std::int64_t RowBytesOf(DType type, std::int64_t k) {
    return static_cast<std::int64_t>(RowBytes(type, static_cast<std::uint64_t>(k)));
  }

  Paged<std::uint8_t> w_;
  Paged<float> x_;
  Paged<std::int8_t> high_;
  Paged<std::int8_t> low_;
  Paged<float> scales_;
  Paged<std::int32_t> sums_;
  Paged<float> bias_;
  MatmulArgs args_;
};

void ExpectSame(const std::string& name, const std::vector<float>& want,
                const std::vector<float>& got) {
  ASSERT_EQ(want.size(), got.size());
  int wrong = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (test::SameBits(want[i], got[i])) continue;
    if (++wrong <= 3) {
      ADD_FAILURE() << name << ": index " << i << ", want " << want[i] << ", got " << got[i];
    }
  }
  ASSERT_EQ(wrong, 0) << name << ": wrong of " << want.size();
}

void ExpectKernelsAgree(Problem& problem, const std::vector<int>& part_counts = {1}) {
  const std::vector<float> want = problem.Run(problem.Scalar());
  for (const auto* kernel : test::Usable(problem.args())) {
    for (const int parts : part_counts) {
      ExpectSame(kernel->name + " " + problem.Name() + " parts " + std::to_string(parts), want,
                 problem.Run(*kernel, parts));
    }
  }
}

// The lengths to try for a type: whole blocks, and for plain types any.
std::vector<std::int64_t> Lengths(DType type) {
  const std::uint32_t block = InfoOf(type).block;
  if (block == 1) return {1, 7, 16, 33, 64, 100, 576};
  if (block == 32) return {32, 64, 96, 128, 160, 256, 288, 512, 576, 640, 736, 768};
  if (block < 256) return {128, 256, 384, 768};
  return {256, 512, 768};
}

TEST(MatmulTest, Q15KernelsAgreeBitForBit) {
  for (const DType type : kQ15WeightTypes) {
    for (const std::int64_t k : Lengths(type)) {
      for (std::int64_t n = 0; n <= 17; ++n) {
        for (const std::int64_t m : {0, 1, 2, 3, 4, 5, 7, 8, 9, 33}) {
          // The long way only where n or m is small: the rest adds time, no new path.
          if (n > 5 && m > 5 && k > 300) continue;
          Problem problem(type, ActType::kQ15, n, m, k);
          ExpectKernelsAgree(problem);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(MatmulTest, F32KernelsAgreeBitForBit) {
  for (const DType type : test::WeightTypes()) {
    const bool plain = InfoOf(type).block == 1;
    for (const std::int64_t k : Lengths(type)) {
      if (!plain && k > 600) continue;
      for (const std::int64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 17}) {
        for (const std::int64_t m : {0, 1, 2, 3, 4, 5, 33}) {
          if (n * m > 60 && (!plain || k > 100)) continue;
          Problem problem(type, ActType::kF32, n, m, k);
          ExpectKernelsAgree(problem);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(MatmulTest, PartsBiasAndAccumulateAgree) {
  for (const DType type : test::WeightTypes()) {
    for (const ActType act : {ActType::kF32, ActType::kQ15}) {
      if (act == ActType::kQ15 && !HasQ15Form(type)) continue;
      for (const std::int64_t m : {1, 3}) {
        Problem problem(type, act, 83, m, 256);
        problem.UseBias();
        problem.args().accumulate = true;
        ExpectKernelsAgree(problem, {1, 2, 3, 8});
        if (HasFatalFailure()) return;

        // Bias and accumulate are added in that order to the bare product.
        std::vector<float> want = problem.Run(problem.Scalar());
        problem.args().accumulate = false;
        const float* bias = problem.args().bias;
        problem.args().bias = nullptr;
        std::vector<float> bare = problem.Run(problem.Scalar());
        for (std::size_t i = 0; i < bare.size(); ++i) {
          bare[i] = (bare[i] + bias[i % 83]) + 0.25f * static_cast<float>(i % 64);
        }
        ExpectSame(problem.Name(), want, bare);
      }
    }
  }
}

TEST(MatmulTest, RowsOfXDoNotAffectEachOther) {
  for (const DType type : {DType::kQ4_1, DType::kQ6_K, DType::kF16, DType::kIQ2_S}) {
    const ActType act = MatmulActType(type, 512, false, DeviceKind::kCpu);
    Problem all(type, act, 20, 37, 512);
    for (const auto* kernel : test::Usable(all.args())) {
      const std::vector<float> want = all.Run(*kernel);
      MatmulArgs one = all.args();
      one.m = 1;
      for (std::int64_t r = 0; r < 37; ++r) {
        Paged<float> out(20);
        one.out = out.data();
        if (act == ActType::kQ15) {
          one.q = {all.high() + r * 512, all.low() + r * 512, all.scales() + r * 16,
                   all.sums() + r * 16};
        } else {
          one.x = all.x() + r * 512;
        }
        test::RunParts(*kernel, one, 1);
        for (std::int64_t i = 0; i < 20; ++i) {
          ASSERT_TRUE(test::SameBits(out[i], want[static_cast<std::size_t>(r * 20 + i)]))
              << kernel->name << " row " << r << " output " << i;
        }
      }
    }
  }
}

// The products with weights and activations decoded, summed in double. The bound: a chain of
// k / lanes fused adds, a few roundings of each term and of each decoded weight, all relative to
// the sum of magnitudes; 4 * (largest weight) stands for a term and its minimum apart.
TEST(MatmulTest, ScalarKernelsAreCloseToDouble) {
  constexpr double kEpsilon = 0x1p-24;
  constexpr std::int64_t kN = 6, kM = 3;
  for (const DType type : test::WeightTypes()) {
    for (const ActType act : {ActType::kF32, ActType::kQ15}) {
      if (act == ActType::kQ15 && !HasQ15Form(type)) continue;
      std::vector<std::int64_t> lengths = Lengths(type);
      lengths.push_back(4864);
      for (const std::int64_t k : lengths) {
        Problem problem(type, act, kN, kM, k);
        const std::vector<float> got = problem.Run(problem.Scalar());
        const auto row_bytes = RowBytes(type, static_cast<std::uint64_t>(k));
        for (std::int64_t n = 0; n < kN; ++n) {
          std::vector<float> w(static_cast<std::size_t>(k));
          DequantizeRow(type, problem.weights() + static_cast<std::uint64_t>(n) * row_bytes,
                        w.data(), k);
          double largest = 0;
          for (const float value : w) largest = std::max(largest, std::fabs(double(value)));
          for (std::int64_t m = 0; m < kM; ++m) {
            double want = 0, magnitude = 0;
            for (std::int64_t i = 0; i < k; ++i) {
              const std::int64_t at = m * k + i;
              const double a = act == ActType::kQ15
                                   ? (128.0 * problem.high()[at] + problem.low()[at]) *
                                         double(problem.scales()[at / 32])
                                   : double(problem.x()[at]);
              want += double(w[static_cast<std::size_t>(i)]) * a;
              magnitude += std::fabs(a);
            }
            const double terms = act == ActType::kQ15 ? double(k) / 256 : double(k) / 16;
            const double limit = kEpsilon * (terms + 12) * 4 * largest * magnitude;
            const double value = double(got[static_cast<std::size_t>(m * kN + n)]);
            EXPECT_LE(std::fabs(value - want), limit)
                << problem.Name() << " output " << m << ", " << n << ": want " << want << ", got "
                << value;
          }
        }
      }
    }
  }
}

TEST(MatmulTest, DecodedWeightsGiveTheSameBitsAsF32Weights) {
  constexpr std::int64_t kN = 5, kM = 3, kK = 768;
  for (const DType type : test::WeightTypes()) {
    Problem problem(type, ActType::kF32, kN, kM, kK);
    Problem decoded(DType::kF32, ActType::kF32, kN, kM, kK);
    const auto row_bytes = RowBytes(type, kK);
    for (std::uint64_t n = 0; n < kN; ++n) {
      std::vector<float> row(kK);
      DequantizeRow(type, problem.weights() + n * row_bytes, row.data(), kK);
      std::memcpy(decoded.weights() + n * kK * sizeof(float), row.data(), kK * sizeof(float));
    }
    std::memcpy(decoded.x(), problem.x(), kM * kK * sizeof(float));
    ExpectSame(problem.Name(), decoded.Run(decoded.Scalar()), problem.Run(problem.Scalar()));
  }
}

// Activations and weights at their limits, where 16-bit sums would overflow if they could.
TEST(MatmulTest, ExtremeIntegersStayExact) {
  for (const DType type : kQ15WeightTypes) {
    const std::vector<int> halves = test::HalfOffsets(type);
    for (const int byte : {0x00, 0x7f, 0x80, 0x81, 0xff}) {
      for (const int pattern : {0, 1, 2}) {
        Problem problem(type, ActType::kQ15, 4, 3, 512);
        const DTypeInfo& info = InfoOf(type);
        const std::size_t bytes = 4 * RowBytes(type, 512);
        std::memset(problem.weights(), byte, bytes);
        for (std::size_t at = 0; at < bytes; at += info.block_bytes) {
          const std::uint16_t half = F32ToF16(0.37f);
          for (const int offset : halves) std::memcpy(problem.weights() + at + offset, &half, 2);
          if (type == DType::kMXFP4) problem.weights()[at] = 127;
        }
        for (std::int64_t g = 0; g < 3 * 16; ++g) {
          int sum = 0;
          for (int i = 0; i < 32; ++i) {
            const int sign = pattern == 0 || (pattern == 1 && i % 2 == 0) ? 1 : -1;
            problem.high()[g * 32 + i] = static_cast<std::int8_t>(127 * sign);
            problem.low()[g * 32 + i] = static_cast<std::int8_t>(64 * sign);
            sum += (128 * 127 + 64) * sign;
          }
          problem.sums()[g] = sum;
        }
        ExpectKernelsAgree(problem);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(MatmulTest, NotANumberAndInfinityReachEveryOutputOfTheirRow) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const DType type : test::WeightTypes()) {
      for (const ActType act : {ActType::kF32, ActType::kQ15}) {
        if (act == ActType::kQ15 && !HasQ15Form(type)) continue;
        const std::int64_t k = InfoOf(type).block == 32 ? 320 : 512;
        Problem problem(type, act, 9, 3, k);
        problem.x()[k + k - 3] = bad;
        if (act == ActType::kQ15) problem.Quantize();
        for (const auto* kernel : test::Usable(problem.args())) {
          const std::vector<float> got = problem.Run(*kernel);
          for (std::size_t i = 0; i < got.size(); ++i) {
            // A zero weight times infinity is NaN, any other infinity: finite in no case.
            EXPECT_EQ(std::isfinite(got[i]), i / 9 != 1)
                << kernel->name << " " << problem.Name() << " index " << i;
          }
        }
        ExpectKernelsAgree(problem);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// A kernel may read into the next row's blocks, but nothing of them may show.
TEST(MatmulTest, ABadScaleStaysInItsRow) {
  for (const DType type : kQ15WeightTypes) {
    // 1 and 6 groups past the last whole step.
    for (const std::int64_t k : InfoOf(type).block == 32 ? std::vector<std::int64_t>{288, 448}
                                                         : std::vector<std::int64_t>{512}) {
      Problem problem(type, ActType::kQ15, 4, 2, k);
      const auto row_bytes = RowBytes(type, static_cast<std::uint64_t>(k));
      std::uint8_t* row = problem.weights() + 2 * row_bytes;
      const std::uint16_t nan = 0x7e00;
      for (const int offset : test::HalfOffsets(type)) std::memcpy(row + offset, &nan, 2);
      for (const auto* kernel : test::Usable(problem.args())) {
        const std::vector<float> got = problem.Run(*kernel);
        for (std::size_t i = 0; i < got.size(); ++i) {
          if (type == DType::kMXFP4) continue;  // its scales are all finite
          EXPECT_EQ(std::isnan(got[i]), i % 4 == 2)
              << kernel->name << " " << problem.Name() << " " << i;
        }
      }
      ExpectKernelsAgree(problem);
    }
  }
}

TEST(MatmulTest, ReasonsNameWhatIsNotTaken) {
  MatmulArgs args;
  args.act = ActType::kQ15;
  args.w = {.type = DType::kIQ1_S, .rows = 4, .cols = 256};
  for (const auto& kernel : test::CpuOps().Rows<MatmulArgs>()) {
    const std::string reason = kernel.supports(args).reason;
    if (kernel.name.ends_with("q15")) {
      EXPECT_NE(reason.find("iq1_s"), std::string::npos) << reason;
      EXPECT_NE(reason.find("q4_0"), std::string::npos) << reason;
    } else {
      EXPECT_NE(reason.find("q15"), std::string::npos) << reason;
    }
  }
  args.w = {.type = DType::kQ4_K, .rows = 4, .cols = 96};
  EXPECT_NE(test::Reference<MatmulArgs>("cpu.scalar.q15").supports(args).reason.find("96"),
            std::string::npos);
  EXPECT_TRUE(test::Usable(args).empty());
}

TEST(MatmulTest, TheWidestInstructionSetIsChosen) {
  const struct {
    std::uint32_t features;
    const char* q15;
    const char* f32;
  } cases[] = {
      {0, "cpu.scalar.q15", "cpu.scalar.f32"},
      {kFeatureAvx2, "cpu.avx2.q15", "cpu.avx2.f32"},
      {kFeatureAvx2 | kFeatureAvx512, "cpu.avx2.q15", "cpu.avx512.f32"},
      {kFeatureAvx2 | kFeatureAvx512 | kFeatureAvx512Vnni, "cpu.avx512vnni.q15", "cpu.avx512.f32"},
  };
  for (const auto& expected : cases) {
    DeviceInfo device;
    device.features = expected.features;
    MatmulArgs args;
    args.w = {.type = DType::kQ4_K, .rows = 4, .cols = 256};
    args.act = ActType::kQ15;
    auto q15 = Resolve(test::CpuOps(), device, args);
    ASSERT_TRUE(q15.ok());
    EXPECT_EQ((*q15)->name, expected.q15);
    args.act = ActType::kF32;
    auto f32 = Resolve(test::CpuOps(), device, args);
    ASSERT_TRUE(f32.ok());
    EXPECT_EQ((*f32)->name, expected.f32);
  }
}

TEST(MatmulPolicyTest, FifteenBitsWhereTheTypeHasThemUnlessExactOrOnAGpu) {
  constexpr DeviceKind kCpu = DeviceKind::kCpu;
  EXPECT_EQ(MatmulActType(DType::kQ4_K, 256, false, kCpu), ActType::kQ15);
  EXPECT_EQ(MatmulActType(DType::kQ4_K, 256, true, kCpu), ActType::kF32);
  EXPECT_EQ(MatmulActType(DType::kQ4_K, 256, false, DeviceKind::kCuda), ActType::kF32);
  EXPECT_EQ(MatmulActType(DType::kF16, 256, false, kCpu), ActType::kF32);
  EXPECT_EQ(MatmulActType(DType::kIQ1_S, 256, false, kCpu), ActType::kF32);
  for (const DType type : kQ15WeightTypes) {
    MatmulArgs args;
    args.w = {.type = type, .rows = 1, .cols = 256};
    args.act = MatmulActType(type, 256, false, kCpu);
    EXPECT_EQ(args.act, ActType::kQ15);
    EXPECT_TRUE(test::Reference<MatmulArgs>("cpu.scalar.q15").supports(args).yes);
  }
}

}  // namespace
}  // namespace vt
