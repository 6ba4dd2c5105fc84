// expert_matmul: every kernel against one scalar matmul for each row, to the bit, and against
// double.
#include <numeric>

#include "cpu/fp8_fixture.h"
#include "ops/matmul_policy.h"

namespace vt::test {
namespace {

// Who goes where: runs as a router's sorted rows have, one expert for all, no two neighbours alike.
std::vector<std::vector<std::int32_t>> Routes(std::int64_t rows, std::int64_t experts) {
  std::vector<std::vector<std::int32_t>> routes(3, std::vector<std::int32_t>(Size(rows)));
  for (std::int64_t r = 0; r < rows; ++r) {
    routes[0][Size(r)] = static_cast<std::int32_t>(r * experts / rows);
    routes[1][Size(r)] = static_cast<std::int32_t>(experts - 1);
    routes[2][Size(r)] = static_cast<std::int32_t>((experts - 1 + r * (experts - 1)) % experts);
  }
  return routes;
}

class Problem {
 public:
  // A multiple of x_repeat rows.
  Problem(DType type, ActType act, std::int64_t experts, std::int64_t n, std::int64_t rows,
          std::int64_t k, std::int64_t x_repeat = 1, WeightScales blocks = {})
      : f8_(type == DType::kF8_E4M3 ? experts * n : 0, k, 8, blocks),
        w_(experts * n * static_cast<std::int64_t>(RowBytes(type, static_cast<std::uint64_t>(k)))),
        bias_(experts * n),
        x_(rows / x_repeat * k),
        high_(act == ActType::kQ15 ? x_.size() : 0),
        low_(act == ActType::kQ15 ? x_.size() : 0),
        scales_(act == ActType::kQ15 ? x_.size() / 32 : 0),
        sums_(act == ActType::kQ15 ? x_.size() / 32 : 0) {
    Random random(9);
    args_.experts = experts;
    args_.act = act;
    args_.rows = rows;
    args_.x_repeat = x_repeat;
    if (type == DType::kF8_E4M3) {
      args_.w = f8_.weight();
    } else {
      FillWeights(type, experts * n, k, w_.data(), random);
      args_.w = {.type = type, .rows = experts * n, .cols = k, .data = w_.data()};
    }
    for (std::int64_t i = 0; i < x_.size(); ++i) x_[i] = random.Uniform(-2, 2);
    for (std::int64_t i = 0; i < bias_.size(); ++i) bias_[i] = random.Uniform(-2, 2);
    if (act == ActType::kQ15) {
      args_.q = {high_.data(), low_.data(), scales_.data(), sums_.data()};
      RunReference(
          QuantizeArgs{.x = x_.data(), .out = args_.q, .rows = rows / x_repeat, .cols = k});
    } else {
      args_.x = x_.data();
    }
  }

  // Rows [first, first + n) of each expert.
  void Choose(std::int64_t first, std::int64_t n) {
    args_.first = first;
    args_.n = n;
  }
  void AddBias() { args_.bias = bias_.data(); }

  const ExpertMatmulArgs& args() const { return args_; }
  const float* x() const { return x_.data(); }
  const F8Matrix& f8() const { return f8_; }

  // What becomes of row r with the matrix of `expert`, by the op for one matrix.
  std::vector<float> OneRow(std::int64_t r, std::int64_t expert) const {
    const std::int64_t n = ExpertOutputs(args_), k = args_.w.cols;
    const std::int64_t x_row = r / args_.x_repeat;
    const std::int64_t first = expert * (args_.w.rows / args_.experts) + args_.first;
    std::vector<float> out(Size(n));
    Weight w = args_.w;
    w.rows = n;
    w.data = static_cast<const std::uint8_t*>(w.data) +
             first * static_cast<std::int64_t>(RowBytes(w.type, static_cast<std::uint64_t>(k)));
    if (w.type == DType::kF8_E4M3) {
      w.scales.first_row += first;
      RunReference(MatmulFp8Args{.w = w, .x = args_.x + x_row * k, .m = 1, .out = out.data()});
      for (std::int64_t i = 0; args_.bias && i < n; ++i) out[Size(i)] += bias_[first + i];
      return out;
    }
    MatmulArgs one{.w = w, .act = args_.act, .m = 1, .out = out.data()};
    if (args_.bias) one.bias = args_.bias + first;
    if (args_.act == ActType::kQ15) {
      const std::int64_t g = x_row * k / kQ15Group;
      one.q = {args_.q.high + x_row * k, args_.q.low + x_row * k, args_.q.scales + g,
               args_.q.sums + g};
    } else {
      one.x = args_.x + x_row * k;
    }
    RunReference(one);
    return out;
  }

 private:
  F8Matrix f8_;
  Paged<std::uint8_t> w_;
  Paged<float> bias_;
  Paged<float> x_;
  Paged<std::int8_t> high_;
  Paged<std::int8_t> low_;
  Paged<float> scales_;
  Paged<std::int32_t> sums_;
  ExpertMatmulArgs args_;
};

// The kernels of one form of activations refuse the other, so ask each before it runs.
void Check(const Problem& problem, const std::vector<std::int32_t>& ids) {
  ExpertMatmulArgs args = problem.args();
  args.ids = ids.data();
  std::vector<float> want;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    const auto row = problem.OneRow(r, ids[Size(r)]);
    want.insert(want.end(), row.begin(), row.end());
  }
  const std::string label =
      OpShape("expert_matmul " + std::string(NameOf(args.w.type)), args.w.rows, args.w.cols) +
      " experts " + std::to_string(args.experts) + " rows " + std::to_string(args.rows) + " from " +
      std::to_string(args.first) + " n " + std::to_string(args.n) + " repeat " +
      std::to_string(args.x_repeat) + (args.bias ? " bias" : "");
  const auto kernels = Usable(args);
  ASSERT_GE(kernels.size(), 1u) << label;
  for (const auto* kernel : kernels) {
    for (int parts : {1, 2, 3, kMostParts}) {
      Guarded<float> out(std::vector<float>(want.size(), -7.0f));
      args.out = out.data();
      RunParts(*kernel, args, parts);
      const std::string where = label + ", " + kernel->name + ", parts " + std::to_string(parts);
      EXPECT_TRUE(out.Intact()) << where;
      ExpectSameBits(want, out.Values(), where);
    }
    EXPECT_GE(kernel->max_parts(args), 1);
  }
}

std::vector<DType> ExpertTypes() {
  std::vector<DType> types = WeightTypes();
  types.push_back(DType::kF8_E4M3);
  return types;
}

TEST(ExpertMatmulTest, EveryTypeKernelAndRoute) {
  for (const DType type : ExpertTypes()) {
    const std::uint32_t block = InfoOf(type).block;
    const std::int64_t k = block == 1 ? 37 : block == 32 ? 288 : 256;
    for (const ActType act : {ActType::kF32, ActType::kQ15}) {
      if (act == ActType::kQ15 && !HasQ15Form(type)) continue;
      for (std::int64_t experts : {1, 3, 8}) {
        for (std::int64_t n : {1, 5, 17}) {
          for (std::int64_t rows : {0, 1, 3, 7, 40}) {
            const Problem problem(type, act, experts, n, rows, k);
            for (const auto& ids : Routes(rows, experts)) Check(problem, ids);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(ExpertMatmulTest, EveryWidth) {
  for (const DType type : {DType::kF32, DType::kBF16, DType::kF8_E4M3}) {
    for (std::int64_t k : Widths()) {
      for (std::int64_t rows : {0, 1, 3, 7}) {
        const Problem problem(type, ActType::kF32, 4, 18, rows, k);
        for (const auto& ids : Routes(rows, 4)) Check(problem, ids);
      }
    }
  }
  // More rows of w than parts of 16.
  const Problem wide(DType::kQ4_0, ActType::kQ15, 2, 100, 7, 64);
  for (const auto& ids : Routes(7, 2)) Check(wide, ids);
}

TEST(ExpertMatmulTest, SomeRowsBiasAndSharedRows) {
  for (const DType type : {DType::kF32, DType::kF8_E4M3, DType::kQ8_0, DType::kQ4_K}) {
    for (const ActType act : {ActType::kF32, ActType::kQ15}) {
      if (act == ActType::kQ15 && !HasQ15Form(type)) continue;
      for (const std::int64_t x_repeat : {1, 2, 8}) {
        for (const auto& [first, n] : {std::pair<std::int64_t, std::int64_t>{0, 0},
                                       {0, 40},
                                       {0, 20},
                                       {20, 20},
                                       {39, 1},
                                       {3, 17}}) {
          for (const bool bias : {false, true}) {
            Problem problem(type, act, 3, 40, 16, 256, x_repeat);
            problem.Choose(first, n);
            if (bias) problem.AddBias();
            for (const auto& ids : Routes(16, 3)) Check(problem, ids);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(ExpertMatmulTest, Shapes) {
  const ExpertMatmulArgs taken{.w = {.type = DType::kF32, .rows = 12, .cols = 8},
                               .experts = 3,
                               .first = 1,
                               .n = 3,
                               .x_repeat = 2,
                               .rows = 6};
  EXPECT_EQ(ExpertOutputs(taken), 3);
  const auto reason = [&](auto change) {
    ExpertMatmulArgs args = taken;
    change(args);
    return Reference<ExpertMatmulArgs>("cpu.scalar.f32").supports(args).reason;
  };
  EXPECT_EQ(reason([](ExpertMatmulArgs&) {}), "");
  EXPECT_EQ(reason([](ExpertMatmulArgs& a) { a.n = 4; }),
            "n (4) exceeds rows of an expert from first on (3)");
  EXPECT_EQ(reason([](ExpertMatmulArgs& a) { a.first = -1; }), "first (-1) must be at least 0");
  EXPECT_EQ(reason([](ExpertMatmulArgs& a) { a.n = 0; }),
            "first (1) must be 0 where n is 0, all rows");
  EXPECT_EQ(reason([](ExpertMatmulArgs& a) { a.x_repeat = 0; }), "x_repeat (0) must be at least 1");
  EXPECT_EQ(reason([](ExpertMatmulArgs& a) { a.x_repeat = 4; }),
            "rows (6) must be a multiple of 4 (x_repeat)");
}

// Each expert's rows begin a block of their own, wherever the last one's ended.
TEST(ExpertMatmulTest, BlocksOfScalesBeginAnewWithEachExpert) {
  for (const std::int64_t n : {1, 100, 128, 150, 257}) {
    for (const std::int64_t rows : {1, 7}) {
      Problem problem(DType::kF8_E4M3, ActType::kF32, 3, n, rows, 300, 1, Blocks128(n));
      for (const auto& ids : Routes(rows, 3)) Check(problem, ids);
      problem.Choose(n / 2, n - n / 2);
      for (const auto& ids : Routes(rows, 3)) Check(problem, ids);
      if (HasFailure()) return;
    }
  }
}

void CheckClose(std::int64_t experts, std::int64_t outputs, std::int64_t cols,
                WeightScales blocks) {
  constexpr std::int64_t kRows = 7;
  const Problem problem(DType::kF8_E4M3, ActType::kF32, experts, outputs, kRows, cols, 1, blocks);
  const F8Matrix& w = problem.f8();
  ExpertMatmulArgs args = problem.args();
  const std::vector<std::int32_t> ids = {2, 2, 0, 1, 1, 1, 0};
  std::vector<float> got(Size(kRows * outputs));
  args.ids = ids.data();
  args.out = got.data();
  RunReference(args);
  std::vector<double> want, limit;
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t n = 0; n < outputs; ++n) {
      double sum = 0, size = 0;
      for (std::int64_t c = 0; c < cols; ++c) {
        const double product =
            double{w.Value(ids[Size(r)] * outputs + n, c)} * double{problem.x()[r * cols + c]};
        sum += product;
        size += std::abs(product);
      }
      want.push_back(sum);
      limit.push_back(size * SumError(cols));
    }
  }
  ExpectNear(want, got, limit, "expert_matmul");
}

TEST(ExpertMatmulTest, CloseToDouble) {
  CheckClose(3, 5, 100, {});
  CheckClose(3, 100, 150, Blocks128(100));
  CheckClose(3, 130, 150, Blocks128(130));
}

}  // namespace
}  // namespace vt::test
