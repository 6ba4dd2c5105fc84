// index_select: every kernel against the scalar one to the bit; that one against the formula, with
// values whose scores are exact; and attention over what was selected.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "cpu/generic/half.h"
#include "cpu/kernel_harness.h"

namespace vt::test {
namespace {

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0};

// Cells of `dim` whole numbers in [-7, 7], one for each position and in no order, and queries and
// weights of whole numbers: every score is a whole number that f32 holds, whatever the cells' type.
class Problem {
 public:
  Problem(DType type, std::int64_t heads, std::int64_t dim, std::int64_t positions,
          std::int64_t page_cells, std::vector<std::pair<int, int>> spans)
      : heads_(heads), dim_(dim), spans_(std::move(spans)) {
    const std::int64_t page_count = (positions + page_cells - 1) / page_cells;
    for (std::int64_t i = 0; i < page_count; ++i) {
      pages_.push_back(static_cast<std::int32_t>(page_count - i));  // page 0 is nobody's
    }
    args_.k.type = type;
    args_.k.cell_bytes = static_cast<std::int64_t>(RowBytes(type, static_cast<std::uint64_t>(dim)));
    bytes_.assign(Size((page_count + 1) * page_cells * args_.k.cell_bytes), 0xff);
    keys_ = WholeNumbers(positions * dim, 7);
    for (std::int64_t p = 0; p < positions; ++p) {
      cells_.push_back(
          static_cast<std::int32_t>(pages_[Size(p / page_cells)] * page_cells + p % page_cells));
      for (std::int64_t d = 0; d < dim; ++d) {
        Put(bytes_.data() + cells_.back() * args_.k.cell_bytes, d, keys_[Size(p * dim + d)]);
      }
    }
    args_.k.data = bytes_.data();
    for (const auto& [first, last] : spans_) rows_.push_back({pages_.data(), first, last});
    const auto rows = static_cast<std::int64_t>(rows_.size());
    q_ = WholeNumbers(rows * heads * dim, 3);
    weights_ = WholeNumbers(rows * heads, 2);
    args_.q = q_.data();
    args_.weights = weights_.data();
    args_.row = rows_.data();
    args_.rows = rows;
    args_.heads = heads;
    args_.dim = dim;
    args_.page_cells = page_cells;
    args_.scratch_floats = (positions + 15) / 16 * 16;
    scratch_.resize(Size(args_.scratch_floats * kMostParts));
    args_.scratch = scratch_.data();
  }

  // The cells selected for each row, and -7 where there are none.
  std::vector<std::int32_t> Run(std::int64_t top) {
    IndexSelectArgs args = args_;
    args.top = top;
    const std::int64_t rows = args.rows;
    std::vector<std::vector<AttentionRow>> sparse;
    const auto selected = RunEveryKernel(
        args, std::vector<std::int32_t>(Size(rows * top), -7),
        [&](IndexSelectArgs& a, std::int32_t* out) {
          sparse.emplace_back(Size(rows));
          a.sparse = sparse.back().data();
          a.selected = out;
          selected_.push_back(out);
        },
        Label(top));
    for (std::size_t run = 0; run < sparse.size(); ++run) {
      for (std::int64_t r = 0; r < rows; ++r) {
        const AttentionRow& row = sparse[run][Size(r)];
        EXPECT_EQ(row.pages, selected_[run] + r * top) << Label(top);
        EXPECT_EQ(row.first, 0) << Label(top);
        EXPECT_EQ(row.last, std::min(Visible(r), top) - 1) << Label(top);
      }
    }
    selected_.clear();
    return selected;
  }

  std::vector<std::int32_t> Want(std::int64_t top) const {
    std::vector<std::int32_t> want;
    for (std::int64_t r = 0; r < args_.rows; ++r) {
      std::vector<double> scores;
      for (int p = spans_[Size(r)].first; p <= spans_[Size(r)].second; ++p) {
        scores.push_back(Score(r, p));
      }
      std::vector<int> order(scores.size());
      std::iota(order.begin(), order.end(), 0);
      const auto kept = static_cast<std::ptrdiff_t>(std::min(order.size(), Size(top)));
      std::partial_sort(order.begin(), order.begin() + kept, order.end(),
                        [&](int a, int b) { return scores[Size(a)] > scores[Size(b)]; });
      order.resize(Size(kept));
      std::sort(order.begin(), order.end());
      for (const int i : order) want.push_back(cells_[Size(spans_[Size(r)].first + i)]);
      want.resize(Size((r + 1) * top), -7);
    }
    return want;
  }

  double Score(std::int64_t r, std::int64_t p) const {
    double score = 0;
    for (std::int64_t h = 0; h < heads_; ++h) {
      double dot = 0;
      for (std::int64_t d = 0; d < dim_; ++d) {
        dot += double{q_[Size((r * heads_ + h) * dim_ + d)]} * double{keys_[Size(p * dim_ + d)]};
      }
      score += double{weights_[Size(r * heads_ + h)]} * std::max(0.0, dot);
    }
    return score;
  }

  std::string Label(std::int64_t top) const {
    return "index_select " + std::string(NameOf(args_.k.type)) + ", heads " +
           std::to_string(heads_) + ", dim " + std::to_string(dim_) + ", rows " +
           std::to_string(args_.rows) + ", top " + std::to_string(top);
  }

  std::int64_t Visible(std::int64_t r) const {
    return spans_[Size(r)].second - spans_[Size(r)].first + 1;
  }
  IndexSelectArgs& args() { return args_; }
  const std::vector<std::int32_t>& cells() const { return cells_; }
  std::vector<float>& q() { return q_; }
  std::vector<float>& weights() { return weights_; }

 private:
  std::vector<float> WholeNumbers(std::int64_t count, int most) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<float>(static_cast<int>(random_() % (2u * most + 1)) - most));
    }
    return values;
  }

  void Put(std::uint8_t* cell, std::int64_t d, float value) const {
    const std::uint16_t one = F32ToF16(1);
    const std::uint16_t half = args_.k.type == DType::kF16 ? F32ToF16(value) : F32ToBf16(value);
    switch (args_.k.type) {
      case DType::kF32:
        std::memcpy(cell + d * 4, &value, 4);
        break;
      case DType::kQ8_0:
        std::memcpy(cell + d / 32 * 34, &one, 2);
        cell[d / 32 * 34 + 2 + d % 32] = static_cast<std::uint8_t>(static_cast<int>(value));
        break;
      default:
        std::memcpy(cell + d * 2, &half, 2);
    }
  }

  std::int64_t heads_, dim_;
  std::vector<std::pair<int, int>> spans_;
  std::mt19937 random_{61};
  std::vector<std::int32_t> pages_, cells_;
  std::vector<std::uint8_t> bytes_;
  std::vector<float> keys_, q_, weights_, scratch_;
  std::vector<AttentionRow> rows_;
  std::vector<const std::int32_t*> selected_;
  IndexSelectArgs args_;
};

std::vector<std::pair<int, int>> Spans(std::int64_t positions) {
  const int last = static_cast<int>(positions) - 1;
  return {{0, last}, {0, 0}, {last / 2, last}, {last, last}, {0, last / 3}, {1 % positions, last}};
}

TEST(IndexSelectTest, TheLargestInOrderOfPosition) {
  for (const DType type : kTypes) {
    for (const auto& [heads, page_cells] : {std::pair(1, 64), {3, 1}, {16, 16}, {37, 64}}) {
      Problem problem(type, heads, 64, 150, page_cells, Spans(150));
      for (std::int64_t top : {1, 20, 75, 149, 150, 200}) {
        ExpectSameBits(problem.Want(top), problem.Run(top), problem.Label(top));
      }
    }
  }
}

TEST(IndexSelectTest, EveryNumberOfPositions) {
  for (std::int64_t positions = 1; positions <= 70; ++positions) {
    Problem problem(DType::kF16, 5, 32, positions, 16, Spans(positions));
    for (std::int64_t top : {std::int64_t{1}, (positions + 1) / 2, positions, positions + 3}) {
      ExpectSameBits(problem.Want(top), problem.Run(top), problem.Label(top));
    }
  }
}

TEST(IndexSelectTest, EveryDimension) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (std::int64_t dim : Widths()) {
      for (std::int64_t heads : {5, 18}) {
        Problem problem(type, heads, dim, 40, 16, Spans(40));
        ExpectSameBits(problem.Want(11), problem.Run(11), problem.Label(11));
      }
    }
  }
}

// With no weight above 0 the best score is 0, which most positions have; then it is all there is.
TEST(IndexSelectTest, OfEqualsThoseOfPartialSort) {
  for (std::int64_t positions : {2, 3, 17, 64, 300}) {
    const int last = static_cast<int>(positions) - 1;
    Problem problem(DType::kF32, 2, 16, positions, 16, {{0, last}, {last / 7, last}});
    for (const bool zero : {false, true}) {
      for (float& weight : problem.weights()) weight = zero ? 0 : -std::abs(weight);
      for (std::int64_t top = 1; top < positions; top += 1 + top / 3) {
        ExpectSameBits(problem.Want(top), problem.Run(top), problem.Label(top));
      }
    }
  }
}

// Scores that vanish below 0 are no worse than 0.
TEST(IndexSelectTest, NegativeZeroIsZero) {
  Problem problem(DType::kF32, 2, 16, 100, 16, {{0, 99}});
  for (float& weight : problem.weights()) weight = 0;
  const auto want = problem.Run(30);
  for (float& weight : problem.weights()) weight = -1e-20f;
  for (float& value : problem.q()) value *= 1e-30f;
  ExpectSameBits(want, problem.Run(30), problem.Label(30));
}

// Scores that are NaN come last; they keep nobody else from being chosen.
TEST(IndexSelectTest, NanIsTheLeast) {
  Problem problem(DType::kF16, 1, 16, 60, 16, {{0, 59}});
  auto* cells = static_cast<std::uint16_t*>(problem.args().k.data);
  for (int p : {0, 13, 59}) cells[problem.cells()[Size(p)] * 16] = 0x7e00;
  problem.q()[0] = 1;
  const auto got = problem.Run(57);
  std::size_t i = 0;
  for (int p = 0; p < 60; ++p) {
    if (p != 0 && p != 13 && p != 59) {
      EXPECT_EQ(got[i++], problem.cells()[Size(p)]);
    }
  }
  EXPECT_EQ(problem.Run(58)[0], problem.cells()[0]);
}

// Attention over the rows that index_select gives, with values of any size in cells of its own.
class Sparse {
 public:
  static constexpr std::int64_t kHeads = 6, kKeyDim = 48, kValueDim = 32, kPositions = 150;

  Sparse() : problem_(DType::kF16, 5, 32, kPositions, 16, Spans(kPositions)) {
    const auto cells = static_cast<std::int64_t>(kPositions / 16 + 3) * 16;
    q_ = RandomValues(Size(problem_.args().rows * kHeads * kKeyDim), 71, 2.0f);
    keys_ = RandomValues(Size(cells * kKeyDim), 72);
    values_ = RandomValues(Size(cells * kValueDim), 73);
    sinks_ = RandomValues(Size(kHeads), 74);
  }

  std::vector<float> Attend(const AttentionRow* rows, std::int64_t page_cells) {
    AttentionArgs args{.q = q_.data(),
                       .k = {DType::kF32, keys_.data(), kKeyDim * 4},
                       .v = {DType::kF32, values_.data(), kValueDim * 4},
                       .row = rows,
                       .rows = problem_.args().rows,
                       .heads = kHeads,
                       .kv_heads = 1,
                       .key_dim = kKeyDim,
                       .value_dim = kValueDim,
                       .page_cells = page_cells,
                       .scale = 0.2f,
                       .sinks = sinks_.data()};
    args.scratch_floats = AttentionScratchFloats(kHeads, 1, kPositions);
    std::vector<float> scratch(Size(args.scratch_floats * kMostParts));
    args.scratch = scratch.data();
    return RunEveryKernel(
        args, std::vector<float>(Size(args.rows * kHeads * kValueDim)),
        [](AttentionArgs& a, float* out) { a.out = out; }, "sparse attention");
  }

  std::vector<float> Dense() { return Attend(problem_.args().row, 16); }

  std::vector<float> Selected(std::int64_t top) {
    IndexSelectArgs args = problem_.args();
    std::vector<std::int32_t> selected(Size(args.rows * top));
    std::vector<AttentionRow> rows(Size(args.rows));
    args.top = top;
    args.selected = selected.data();
    args.sparse = rows.data();
    RunReference(args);
    return Attend(rows.data(), 1);
  }

  // Softmax over the positions that `top` leaves, all others masked.
  void Masked(std::int64_t top, std::vector<double>& want, std::vector<double>& limit) const {
    const auto kept = problem_.Want(top);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(q_.size()) / kKeyDim; ++i) {
      const std::int64_t r = i / kHeads;
      std::vector<double> scores;
      std::vector<std::int64_t> cells;
      double most = sinks_[Size(i % kHeads)];
      for (std::int64_t n = 0; n < std::min(top, problem_.Visible(r)); ++n) {
        cells.push_back(kept[Size(r * top + n)]);
        double dot = 0;
        for (std::int64_t d = 0; d < kKeyDim; ++d) {
          dot +=
              double{q_[Size(i * kKeyDim + d)]} * double{keys_[Size(cells.back() * kKeyDim + d)]};
        }
        scores.push_back(dot * 0.2f);
        most = std::max(most, scores.back());
      }
      double sum = std::exp(sinks_[Size(i % kHeads)] - most);
      for (double& s : scores) sum += s = std::exp(s - most);
      for (std::int64_t d = 0; d < kValueDim; ++d) {
        double total = 0;
        for (std::size_t n = 0; n < scores.size(); ++n) {
          total += scores[n] / sum * values_[Size(cells[n] * kValueDim + d)];
        }
        want.push_back(total);
        limit.push_back(1e-5);
      }
    }
  }

 private:
  Problem problem_;
  std::vector<float> q_, keys_, values_, sinks_;
};

TEST(IndexSelectTest, AttentionOverAllIsDense) {
  Sparse sparse;
  const auto dense = sparse.Dense();
  for (std::int64_t top : {Sparse::kPositions, Sparse::kPositions + 50}) {
    ExpectSameBits(dense, sparse.Selected(top), "top " + std::to_string(top));
  }
}

TEST(IndexSelectTest, AttentionOverSomeIsMasked) {
  for (std::int64_t top : {1, 40, 100}) {
    Sparse sparse;
    std::vector<double> want, limit;
    sparse.Masked(top, want, limit);
    ExpectNear(want, sparse.Selected(top), limit, "top " + std::to_string(top));
  }
}

TEST(IndexSelectTest, Shapes) {
  for (const Kernel<IndexSelectArgs>& kernel : CpuOps().Rows<IndexSelectArgs>()) {
    IndexSelectArgs args{.k = {}, .rows = 1, .heads = 4, .dim = 48, .page_cells = 16, .top = 2};
    EXPECT_TRUE(kernel.supports(args).yes) << kernel.name;
    args.k.type = DType::kQ8_0;
    EXPECT_EQ(kernel.supports(args).reason,
              "dim (48) must be a multiple of 32 (the block of q8_0)");
    args.k.type = DType::kF16;
    args.top = 0;
    EXPECT_EQ(kernel.supports(args).reason, "top (0) must be at least 1");
    args.top = 1;
    args.heads = 0;
    EXPECT_EQ(kernel.supports(args).reason, "heads (0) must be at least 1");
  }
}

}  // namespace
}  // namespace vt::test
