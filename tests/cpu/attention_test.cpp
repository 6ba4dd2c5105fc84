// Attention over paged cells of every type: every kernel against the scalar one to the bit, the
// scalar one against double, and a row's result alone against the same row among others.
#include "cpu/generic/attention.h"

#include <cmath>
#include <numeric>

#include "cpu/kernel_harness.h"

namespace vt::test {
namespace {

struct Shape {
  std::int64_t heads, kv_heads, key_dim, value_dim;
};

// A cache of `positions` in shuffled pages, filled through kv_store, and queries for some rows.
class Fixture {
 public:
  static constexpr std::int64_t kPageCells = 16;

  // one_cache: the values are the first of what the key cells hold.
  Fixture(Shape shape, DType k_type, DType v_type, std::int64_t positions,
          std::vector<std::pair<int, int>> spans, bool one_cache = false)
      : shape_(shape), positions_(positions), spans_(std::move(spans)) {
    const std::int64_t page_count = (positions + kPageCells - 1) / kPageCells;
    for (std::int64_t i = 0; i < page_count; ++i) {
      pages_.push_back(static_cast<std::int32_t>((i * 7 + 3) % (page_count + 2)));
    }
    // 7 and page_count + 2 may share a factor: fall back to the reverse order.
    if (std::gcd<std::int64_t>(7, page_count + 2) != 1) {
      for (std::int64_t i = 0; i < page_count; ++i) {
        pages_[Size(i)] = static_cast<std::int32_t>(page_count + 1 - i);
      }
    }
    const std::int64_t cells = (page_count + 2) * kPageCells;
    args_.k = Fill(k_type, shape.kv_heads * shape.key_dim, cells, 31, k_bytes_, keys_);
    if (one_cache) {
      args_.v = args_.k;
      for (std::int64_t p = 0; p < positions; ++p) {
        const auto cell = keys_.begin() + p * shape.key_dim;
        values_.insert(values_.end(), cell, cell + shape.value_dim);
      }
    } else {
      args_.v = Fill(v_type, shape.kv_heads * shape.value_dim, cells, 32, v_bytes_, values_);
    }
    for (const auto& [first, last] : spans_) rows_.push_back({pages_.data(), first, last});
    q_ = RandomValues(rows_.size() * Size(shape.heads * shape.key_dim), 33, 2.0f);
    args_.heads = shape.heads;
    args_.kv_heads = shape.kv_heads;
    args_.key_dim = shape.key_dim;
    args_.value_dim = shape.value_dim;
    args_.page_cells = kPageCells;
    args_.scale = 1.0f / std::sqrt(static_cast<float>(shape.key_dim));
    args_.scratch_floats = AttentionScratchFloats(shape.heads, shape.kv_heads, positions);
    scratch_.resize(Size(args_.scratch_floats * kMostParts));
  }

  AttentionArgs Args() {
    AttentionArgs args = args_;
    args.q = q_.data();
    args.row = rows_.data();
    args.rows = static_cast<std::int64_t>(rows_.size());
    args.scratch = scratch_.data();
    return args;
  }
  std::vector<float> Blank() const {
    return std::vector<float>(rows_.size() * Size(shape_.heads * shape_.value_dim), -7.0f);
  }
  std::vector<float> Run(const AttentionArgs& args, const std::string& label) {
    return RunEveryKernel(
        args, Blank(), [](AttentionArgs& a, float* out) { a.out = out; }, label);
  }
  std::vector<float>& q() { return q_; }

  // The formula in double over the decoded cells, and what rounding to f32 may add to it.
  void Exact(const AttentionArgs& args, std::vector<double>& want, std::vector<double>& limit) {
    want.clear();
    limit.clear();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      for (std::int64_t h = 0; h < shape_.heads; ++h) {
        const std::int64_t kv = h / (shape_.heads / shape_.kv_heads);
        const float* q = q_.data() + (Size(shape_.heads) * r + Size(h)) * Size(shape_.key_dim);
        std::vector<double> scores;
        double score_error = 0;
        for (int p = rows_[r].first; p <= rows_[r].last; ++p) {
          const float* k = keys_.data() + (p * shape_.kv_heads + kv) * shape_.key_dim;
          double dot = 0, size = 0;
          for (std::int64_t d = 0; d < shape_.key_dim; ++d) {
            dot += static_cast<double>(q[d]) * k[d];
            size += std::abs(static_cast<double>(q[d]) * k[d]);
          }
          double s = dot * args.scale;
          if (args.softcap != 0) s = args.softcap * std::tanh(s / args.softcap);
          scores.push_back(s);
          const double steps = static_cast<double>(shape_.key_dim) / 16 + 16;
          score_error = std::max(score_error, size * args.scale * steps * kUnit);
        }
        double most = *std::max_element(scores.begin(), scores.end());
        if (args.sinks) most = std::max(most, double{args.sinks[h]});
        double sum = args.sinks ? std::exp(args.sinks[h] - most) : 0;
        for (double& s : scores) sum += s = std::exp(s - most);
        for (std::int64_t d = 0; d < shape_.value_dim; ++d) {
          double total = 0, size = 0;
          for (int p = rows_[r].first; p <= rows_[r].last; ++p) {
            const double v = values_[Size((p * shape_.kv_heads + kv) * shape_.value_dim + d)];
            total += scores[Size(p - rows_[r].first)] / sum * v;
            size += scores[Size(p - rows_[r].first)] / sum * std::abs(v);
          }
          want.push_back(total);
          const double steps = static_cast<double>(scores.size()) + 16;
          limit.push_back(size * (4 * score_error + steps * kUnit) + 1e-30);
        }
      }
    }
  }

 private:
  static float Decode(DType type, const std::uint8_t* cell, std::int64_t i) {
    std::uint16_t half = 0;
    float f32 = 0;
    switch (type) {
      case DType::kF32:
        std::memcpy(&f32, cell + i * 4, 4);
        return f32;
      case DType::kF16:
        std::memcpy(&half, cell + i * 2, 2);
        return F16ToF32(half);
      case DType::kBF16:
        std::memcpy(&half, cell + i * 2, 2);
        return Bf16ToF32(half);
      default:
        std::memcpy(&half, cell + i / 32 * 34, 2);
        return F16ToF32(half) * static_cast<std::int8_t>(cell[i / 32 * 34 + 2 + i % 32]);
    }
  }

  // Every cell that is not a position's holds NaN bytes. decoded is [positions, cols].
  KvCells Fill(DType type, std::int64_t cols, std::int64_t cells, std::uint32_t seed,
               std::vector<std::uint8_t>& bytes, std::vector<float>& decoded) {
    KvStoreArgs store;
    store.cells.type = type;
    store.cells.cell_bytes =
        static_cast<std::int64_t>(RowBytes(type, static_cast<std::uint64_t>(cols)));
    bytes.assign(Size(cells * store.cells.cell_bytes), 0xff);
    const auto x = RandomValues(Size(positions_ * cols), seed);
    std::vector<std::int32_t> slots;
    for (std::int64_t p = 0; p < positions_; ++p) {
      slots.push_back(
          static_cast<std::int32_t>(pages_[Size(p / kPageCells)] * kPageCells + p % kPageCells));
    }
    store.x = x.data();
    store.slots = slots.data();
    store.rows = positions_;
    store.cols = cols;
    store.cells.data = bytes.data();
    CpuOps().Rows<KvStoreArgs>().front().run(store, Part{});
    decoded.clear();
    for (std::int64_t p = 0; p < positions_; ++p) {
      const std::uint8_t* cell = bytes.data() + slots[Size(p)] * store.cells.cell_bytes;
      for (std::int64_t i = 0; i < cols; ++i) decoded.push_back(Decode(type, cell, i));
    }
    return store.cells;
  }

  Shape shape_;
  std::int64_t positions_;
  std::vector<std::pair<int, int>> spans_;
  std::vector<std::int32_t> pages_;
  std::vector<std::uint8_t> k_bytes_, v_bytes_;
  std::vector<float> keys_, values_, q_, scratch_;
  std::vector<AttentionRow> rows_;
  AttentionArgs args_;
};

std::string Label(Shape s, DType k, DType v, std::int64_t positions) {
  return "attention " + std::to_string(s.heads) + "/" + std::to_string(s.kv_heads) +
         " heads, dims " + std::to_string(s.key_dim) + "/" + std::to_string(s.value_dim) + ", " +
         std::string(NameOf(k)) + "/" + std::string(NameOf(v)) + ", positions " +
         std::to_string(positions);
}

void CheckShape(Shape shape, DType k, DType v, std::int64_t positions, float softcap = 0) {
  const int last = static_cast<int>(positions) - 1;
  Fixture fixture(shape, k, v, positions,
                  {{0, last}, {0, 0}, {last / 2, last}, {last, last}, {0, last / 3}, {0, last}});
  AttentionArgs args = fixture.Args();
  args.softcap = softcap;
  const std::string label = Label(shape, k, v, positions);
  const auto got = fixture.Run(args, label);
  std::vector<double> want, limit;
  fixture.Exact(args, want, limit);
  ExpectNear(want, got, limit, label);
}

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0};

TEST(AttentionTest, EveryTypeAndHeadCount) {
  for (DType k : kTypes) {
    for (DType v : kTypes) {
      for (Shape shape : {Shape{1, 1, 64, 64}, Shape{9, 3, 64, 32}, Shape{7, 1, 96, 64},
                          Shape{8, 4, 32, 128}, Shape{20, 1, 64, 64}, Shape{5, 5, 64, 64}}) {
        CheckShape(shape, k, v, 70);
      }
    }
  }
}

TEST(AttentionTest, EveryNumberOfPositions) {
  for (std::int64_t positions = 1; positions <= 40; ++positions) {
    CheckShape({6, 2, 64, 64}, DType::kF16, DType::kF16, positions);
  }
  for (std::int64_t positions : {63, 64, 65, 128, 130, 300}) {
    CheckShape({6, 2, 64, 64}, DType::kF16, DType::kF16, positions);
    CheckShape({4, 4, 32, 32}, DType::kQ8_0, DType::kF32, positions);
  }
}

TEST(AttentionTest, EveryDimension) {
  for (std::int64_t dim : {1, 8, 10, 15, 16, 17, 33, 48, 64, 80, 96, 128, 192, 256, 512}) {
    for (DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
      CheckShape({3, 1, dim, 72}, type, DType::kF16, 21);
      CheckShape({4, 2, 24, dim}, DType::kF16, type, 21);
      CheckShape({18, 1, dim, dim + 7}, type, type, 67);  // many heads of one key head
    }
  }
}

TEST(AttentionTest, Softcap) {
  CheckShape({4, 2, 64, 64}, DType::kF16, DType::kF16, 50, 2.0f);
  CheckShape({4, 2, 64, 64}, DType::kQ8_0, DType::kQ8_0, 50, 50.0f);
}

TEST(AttentionTest, Sinks) {
  for (Shape shape : {Shape{6, 2, 64, 64}, Shape{20, 1, 64, 32}, Shape{1, 1, 16, 16}}) {
    for (std::int64_t positions : {1, 16, 17, 70}) {
      const int last = static_cast<int>(positions) - 1;
      Fixture fixture(shape, DType::kF16, DType::kF16, positions, {{0, last}, {last / 2, last}});
      AttentionArgs args = fixture.Args();
      const std::string label = Label(shape, DType::kF16, DType::kF16, positions) + ", sinks";
      const auto without = fixture.Run(args, label);
      // Below, among and above the scores.
      std::vector<float> sinks(Size(shape.heads));
      for (std::size_t h = 0; h < sinks.size(); ++h) {
        sinks[h] = static_cast<float>(h % 4) * 3.0f - 5.0f;
      }
      args.sinks = sinks.data();
      const auto got = fixture.Run(args, label);
      std::vector<double> want, limit;
      fixture.Exact(args, want, limit);
      ExpectNear(want, got, limit, label);
      // exp(-inf) is 0: the bits are those of no sink.
      std::fill(sinks.begin(), sinks.end(), -INFINITY);
      ExpectSameBits(without, fixture.Run(args, label), label + " of -inf");
      std::fill(sinks.begin(), sinks.end(), NAN);
      for (const float value : fixture.Run(args, label)) EXPECT_TRUE(std::isnan(value)) << label;
    }
  }
}

TEST(AttentionTest, ValuesInTheKeyCells) {
  for (Shape shape : {Shape{20, 1, 576, 512}, Shape{3, 1, 96, 64}, Shape{128, 1, 32, 32}}) {
    for (DType type : kTypes) {
      Fixture fixture(shape, type, type, 70, {{0, 69}, {0, 0}, {30, 69}}, true);
      const std::string label = Label(shape, type, type, 70) + ", in one cache";
      const auto got = fixture.Run(fixture.Args(), label);
      std::vector<double> want, limit;
      fixture.Exact(fixture.Args(), want, limit);
      ExpectNear(want, got, limit, label);
    }
  }
}

TEST(AttentionTest, RowsDoNotDependOnEachOther) {
  const Shape shape{6, 2, 64, 64};
  std::vector<std::pair<int, int>> spans;
  for (int i = 0; i < 40; ++i) spans.push_back({i > 20 ? i - 20 : 0, i});
  Fixture all(shape, DType::kF16, DType::kF16, 40, spans);
  const AttentionArgs args = all.Args();
  const auto together = all.Run(args, "attention rows together");
  const std::int64_t width = shape.heads * shape.value_dim;
  for (std::int64_t r : {0, 7, 20, 21, 39}) {
    AttentionArgs one = args;
    one.q += r * shape.heads * shape.key_dim;
    one.row += r;
    one.rows = 1;
    const auto alone = RunEveryKernel(
        one, std::vector<float>(Size(width)), [](AttentionArgs& a, float* out) { a.out = out; },
        "attention row alone");
    ExpectSameBits({together.begin() + r * width, together.begin() + (r + 1) * width}, alone,
                   "row " + std::to_string(r));
  }
}

// The rows of a prompt see ever more positions: equal numbers of rows would not be equal work.
TEST(AttentionTest, PartsOfAPromptCostTheSame) {
  std::vector<AttentionRow> rows;
  for (int r = 0; r < 512; ++r) rows.push_back({nullptr, 0, r});
  AttentionArgs args;
  args.row = rows.data();
  args.heads = 9;
  args.kv_heads = 3;
  for (std::int64_t count : {1, 2, 3, 7, 16, 100}) {
    for (std::int64_t row_count : {1, 2, 100, 512}) {
      args.rows = row_count;
      const Line line(args, Part{0, static_cast<int>(count)});
      std::vector<std::int64_t> costs;
      std::int64_t item = 0;
      EXPECT_EQ(line.Begin(args, 0, count), 0);
      for (std::int64_t part = 0; part < count; ++part) {
        costs.push_back(0);
        const std::int64_t end = line.Begin(args, part + 1, count);
        EXPECT_LE(item, end);
        for (; item < end; ++item) {
          costs.back() += rows[Size(item / line.inner % args.rows)].last + 1;
        }
      }
      EXPECT_EQ(item, line.outer * args.rows * line.inner);
      const std::int64_t total = std::accumulate(costs.begin(), costs.end(), std::int64_t{0});
      EXPECT_EQ(total, line.cost * line.outer * line.inner);
      for (std::int64_t cost : costs) EXPECT_NEAR(cost, total / count, row_count + 1) << count;
    }
  }
}

// Less scratch means fewer heads at a time, and no other answer.
TEST(AttentionTest, ScratchForOneHeadIsEnough) {
  Fixture fixture({8, 1, 64, 64}, DType::kF16, DType::kF16, 100, {{0, 99}, {5, 60}});
  AttentionArgs args = fixture.Args();
  const auto want = fixture.Run(args, "attention");
  args.scratch_floats = 112;
  ExpectSameBits(want, fixture.Run(args, "attention, small scratch"), "small scratch");
}

TEST(AttentionTest, NanReachesTheResultOfItsHeadAlone) {
  const Shape shape{4, 2, 64, 64};
  for (int lane : {0, 5, 63}) {
    Fixture fixture(shape, DType::kF16, DType::kF16, 37, {{0, 36}});
    fixture.q()[Size(2 * shape.key_dim + lane)] = NAN;
    const auto got = fixture.Run(fixture.Args(), "attention nan");
    for (std::int64_t i = 0; i < shape.heads * shape.value_dim; ++i) {
      EXPECT_EQ(std::isnan(got[Size(i)]), i / shape.value_dim == 2) << i;
    }
  }
}

TEST(AttentionTest, RefusesWhatItCannotRead) {
  AttentionArgs args;
  args.heads = 6;
  args.kv_heads = 2;
  args.key_dim = args.value_dim = 48;
  args.page_cells = 16;
  const auto& kernel = CpuOps().Rows<AttentionArgs>().front();
  EXPECT_TRUE(kernel.supports(args).yes);
  args.k.type = DType::kQ8_0;
  EXPECT_EQ(kernel.supports(args).reason,
            "key_dim (48) must be a multiple of 32 (the block of q8_0)");
  args.k.type = DType::kF16;
  args.v.type = DType::kQ4_0;
  EXPECT_EQ(kernel.supports(args).reason, "value type q4_0 is not taken (f32, f16, bf16 or q8_0)");
  args.v.type = DType::kF16;
  args.kv_heads = 4;
  EXPECT_EQ(kernel.supports(args).reason, "heads (6) must be a multiple of 4 (kv_heads)");
}

}  // namespace
}  // namespace vt::test
