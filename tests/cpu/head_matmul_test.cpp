// head_matmul: every kernel against the scalar one to the bit, that one against the matmul of each
// head, to the bit, and against double.
#include "cpu/fp8_fixture.h"

namespace vt::test {
namespace {

class Problem {
 public:
  Problem(DType type, std::int64_t heads, std::int64_t n, std::int64_t k, std::int64_t rows,
          std::int64_t x_stride = 0, std::int64_t out_stride = 0, WeightScales blocks = {})
      : f8_(type == DType::kF8_E4M3 ? heads * n : 0, k, 8, blocks),
        w_(heads * n * static_cast<std::int64_t>(RowBytes(type, static_cast<std::uint64_t>(k)))),
        x_(rows * heads > 0 ? (rows * heads - 1) * (x_stride ? x_stride : k) + k : 0),
        n_(n) {
    Random random(41);
    args_.heads = heads;
    args_.x = x_.data();
    args_.x_stride = x_stride;
    args_.rows = rows;
    args_.out_stride = out_stride;
    if (type == DType::kF8_E4M3) {
      args_.w = f8_.weight();
    } else {
      FillWeights(type, heads * n, k, w_.data(), random);
      args_.w = {.type = type, .rows = heads * n, .cols = k, .data = w_.data()};
    }
    for (std::int64_t i = 0; i < x_.size(); ++i) x_[i] = random.Uniform(-2, 2);
  }

  std::string Label() const {
    return "head_matmul " + std::string(NameOf(args_.w.type)) + " " + std::to_string(args_.heads) +
           " heads of " + std::to_string(n_) + "x" + std::to_string(args_.w.cols) + ", rows " +
           std::to_string(args_.rows) + ", strides " + std::to_string(args_.x_stride) + "/" +
           std::to_string(args_.out_stride);
  }

  // What lies between the outputs of two heads stays as it was.
  std::vector<float> Run() const {
    const std::int64_t count = args_.rows * args_.heads;
    return RunEveryKernel(
        args_, std::vector<float>(Size(count > 0 ? (count - 1) * OutStride() + n_ : 0), -7.0f),
        [](HeadMatmulArgs& a, float* out) { a.out = out; }, Label());
  }

  // The same by a matmul of one row for every row and head.
  std::vector<float> ByMatmul() const {
    std::vector<float> all;
    const std::int64_t k = args_.w.cols;
    for (std::int64_t i = 0; i < args_.rows * args_.heads; ++i) {
      if (i > 0) all.resize(Size(i * OutStride()), -7.0f);
      Weight w = args_.w;
      w.rows = n_;
      const std::int64_t first = i % args_.heads * n_;
      w.data = static_cast<const std::uint8_t*>(w.data) +
               first * static_cast<std::int64_t>(RowBytes(w.type, static_cast<std::uint64_t>(k)));
      std::vector<float> out(Size(n_));
      const float* x = args_.x + i * XStride();
      if (w.type == DType::kF8_E4M3) {
        w.scales.first_row += first;
        RunReference(MatmulFp8Args{.w = w, .x = x, .m = 1, .out = out.data()});
      } else {
        RunReference(MatmulArgs{.w = w, .x = x, .m = 1, .out = out.data()});
      }
      all.insert(all.end(), out.begin(), out.end());
    }
    return all;
  }

  const HeadMatmulArgs& args() const { return args_; }
  std::int64_t XStride() const { return args_.x_stride ? args_.x_stride : args_.w.cols; }
  std::int64_t OutStride() const { return args_.out_stride ? args_.out_stride : n_; }
  const F8Matrix& f8() const { return f8_; }

 private:
  F8Matrix f8_;
  Paged<std::uint8_t> w_;
  Paged<float> x_;
  std::int64_t n_;
  HeadMatmulArgs args_;
};

void Check(const Problem& problem) {
  ExpectSameBits(problem.ByMatmul(), problem.Run(), problem.Label());
}

std::vector<DType> HeadTypes() {
  std::vector<DType> types = WeightTypes();
  types.push_back(DType::kF8_E4M3);
  return types;
}

TEST(HeadMatmulTest, EveryType) {
  for (const DType type : HeadTypes()) {
    const std::uint32_t block = InfoOf(type).block;
    const std::int64_t k = block == 1 ? 37 : block == 32 ? 288 : 512;
    for (std::int64_t rows : {0, 1, 3, 40}) {
      for (std::int64_t n : {1, 5, 33}) {
        Check(Problem(type, 3, n, k, rows, k + 5, n + 2));
        if (HasFailure()) return;
      }
    }
  }
}

TEST(HeadMatmulTest, EveryWidth) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kF8_E4M3}) {
    for (std::int64_t k : Widths()) {
      for (std::int64_t rows : {1, 7, 33}) Check(Problem(type, 2, 18, k, rows));
    }
  }
}

// More values than are decoded at once, and a row that is longer than that.
TEST(HeadMatmulTest, LongRows) {
  for (const DType type : {DType::kQ8_0, DType::kF8_E4M3}) {
    Check(Problem(type, 2, 40, 1024, 35, 1030, 41));
    Check(Problem(type, 2, 2, 32 * 1024 + 32, 33));
  }
}

// Heads that begin within a block of scales, or each with blocks of its own.
TEST(HeadMatmulTest, BlocksOfScales) {
  for (const std::int64_t matrix_rows : {0, 70}) {
    for (const std::int64_t rows : {1, 40}) {
      Check(Problem(DType::kF8_E4M3, 3, 70, 300, rows, 0, 0, Blocks128(matrix_rows)));
    }
  }
  Check(Problem(DType::kF8_E4M3, 2, 40, 1024, 35, 1030, 41, Blocks128(0)));
}

void CheckClose(std::int64_t heads, std::int64_t outputs, std::int64_t cols, WeightScales blocks) {
  constexpr std::int64_t kRows = 35;
  const Problem problem(DType::kF8_E4M3, heads, outputs, cols, kRows, cols, outputs, blocks);
  std::vector<double> want, limit;
  for (std::int64_t i = 0; i < kRows * heads; ++i) {
    for (std::int64_t n = 0; n < outputs; ++n) {
      double sum = 0, size = 0;
      for (std::int64_t c = 0; c < cols; ++c) {
        const double product = double{problem.f8().Value(i % heads * outputs + n, c)} *
                               double{problem.args().x[i * cols + c]};
        sum += product;
        size += std::abs(product);
      }
      want.push_back(sum);
      limit.push_back(size * SumError(cols));
    }
  }
  ExpectNear(want, problem.Run(), limit, problem.Label());
}

TEST(HeadMatmulTest, CloseToDouble) {
  CheckClose(3, 9, 100, {});
  CheckClose(3, 90, 140, Blocks128(0));
  CheckClose(3, 90, 140, Blocks128(90));
}

TEST(HeadMatmulTest, Shapes) {
  for (const Kernel<HeadMatmulArgs>& kernel : CpuOps().Rows<HeadMatmulArgs>()) {
    HeadMatmulArgs args{.w = {.rows = 12, .cols = 8}, .heads = 3, .rows = 2};
    EXPECT_TRUE(kernel.supports(args).yes) << kernel.name;
    args.heads = 5;
    EXPECT_EQ(kernel.supports(args).reason,
              "rows of the weight (12) must be a multiple of 5 (heads)");
    args.heads = 3;
    args.x_stride = 7;
    EXPECT_EQ(kernel.supports(args).reason, "x_stride (7) must be 0 or at least the columns (8)");
    args.x_stride = 8;
    args.out_stride = 3;
    EXPECT_EQ(kernel.supports(args).reason,
              "out_stride (3) must be 0 or at least a head's rows (4)");
    args.out_stride = 4;
    args.w.type = DType::kQ8_0;
    EXPECT_EQ(kernel.supports(args).reason,
              "columns of the weight (8) must be a multiple of 32 (q8_0)");
  }
}

}  // namespace
}  // namespace vt::test
