// Latent attention (MLA) from ops, in its two forms. Absorbed: queries are taken to the latent
// space by head_matmul, attention reads the latents themselves, and head_matmul takes its result
// back. Expanded: keys and values of every head are made from the latents. In exact arithmetic they
// are equal.
#include <cmath>

#include "cpu/kernel_harness.h"

namespace vt::test {
namespace {

struct Sizes {
  std::int64_t heads, nope, rope, latent, value;
  std::int64_t positions;
};

class Latent {
 public:
  explicit Latent(Sizes sizes) : s(sizes) {
    // Weights of a size that keeps their products near 1.
    const float limit = std::sqrt(3.0f / static_cast<float>(s.latent));
    up_key_ = RandomValues(Size(s.heads * s.nope * s.latent), 51, limit);
    up_value_ = RandomValues(Size(s.heads * s.value * s.latent), 52, limit);
    queries_ = RandomValues(Size(s.positions * s.heads * (s.nope + s.rope)), 53, 2.0f);
    cells_ = RandomValues(Size(s.positions * (s.latent + s.rope)), 54, 2.0f);
    for (std::int64_t p = 0; p < s.positions; ++p) {
      pages_.push_back(static_cast<std::int32_t>(p));
    }
    for (std::int64_t p = 0; p < s.positions; ++p) {
      rows_.push_back({pages_.data(), 0, static_cast<std::int32_t>(p)});
    }
  }

  // [positions, heads, value]
  std::vector<float> Absorbed() {
    const std::int64_t width = s.latent + s.rope, heads = s.positions * s.heads;
    std::vector<float> down_key(up_key_.size());  // each head's matrix transposed
    for (std::int64_t h = 0; h < s.heads; ++h) {
      for (std::int64_t n = 0; n < s.nope; ++n) {
        for (std::int64_t c = 0; c < s.latent; ++c) {
          down_key[Size((h * s.latent + c) * s.nope + n)] =
              up_key_[Size((h * s.nope + n) * s.latent + c)];
        }
      }
    }
    std::vector<float> q(Size(heads * width));
    RunReference(
        HeadMatmulArgs{.w = {.rows = s.heads * s.latent, .cols = s.nope, .data = down_key.data()},
                       .heads = s.heads,
                       .x = queries_.data(),
                       .x_stride = s.nope + s.rope,
                       .rows = s.positions,
                       .out = q.data(),
                       .out_stride = width});
    for (std::int64_t i = 0; i < heads; ++i) {
      for (std::int64_t d = 0; d < s.rope; ++d) {
        q[Size(i * width + s.latent + d)] = queries_[Size(i * (s.nope + s.rope) + s.nope + d)];
      }
    }
    const KvCells cells = CellsOf(cells_, width);
    const auto latents = Attend(q, cells, cells, 1, width, s.latent);
    std::vector<float> out(Size(heads * s.value));
    RunReference(
        HeadMatmulArgs{.w = {.rows = s.heads * s.value, .cols = s.latent, .data = up_value_.data()},
                       .heads = s.heads,
                       .x = latents.data(),
                       .rows = s.positions,
                       .out = out.data()});
    return out;
  }

  std::vector<float> Expanded() {
    const std::int64_t width = s.latent + s.rope, key = s.nope + s.rope;
    std::vector<float> keys(Size(s.positions * s.heads * key));
    std::vector<float> values(Size(s.positions * s.heads * s.value));
    for (std::int64_t p = 0; p < s.positions; ++p) {
      const float* cell = cells_.data() + p * width;
      std::vector<float> nope(Size(s.heads * s.nope));
      RunReference(
          MatmulArgs{.w = {.rows = s.heads * s.nope, .cols = s.latent, .data = up_key_.data()},
                     .x = cell,
                     .m = 1,
                     .out = nope.data()});
      RunReference(
          MatmulArgs{.w = {.rows = s.heads * s.value, .cols = s.latent, .data = up_value_.data()},
                     .x = cell,
                     .m = 1,
                     .out = values.data() + p * s.heads * s.value});
      for (std::int64_t h = 0; h < s.heads; ++h) {
        float* out = keys.data() + (p * s.heads + h) * key;
        std::copy_n(nope.data() + h * s.nope, s.nope, out);
        std::copy_n(cell + s.latent, s.rope, out + s.nope);
      }
    }
    return Attend(queries_, CellsOf(keys, s.heads * key), CellsOf(values, s.heads * s.value),
                  s.heads, key, s.value);
  }

 private:
  static KvCells CellsOf(std::vector<float>& values, std::int64_t width) {
    return {.type = DType::kF32, .data = values.data(), .cell_bytes = width * 4};
  }

  std::vector<float> Attend(const std::vector<float>& q, KvCells k, KvCells v,
                            std::int64_t kv_heads, std::int64_t key_dim, std::int64_t value_dim) {
    std::vector<float> out(Size(s.positions * s.heads * value_dim));
    AttentionArgs args{.q = q.data(),
                       .k = k,
                       .v = v,
                       .row = rows_.data(),
                       .rows = s.positions,
                       .heads = s.heads,
                       .kv_heads = kv_heads,
                       .key_dim = key_dim,
                       .value_dim = value_dim,
                       .page_cells = 1,
                       .scale = 1.0f / std::sqrt(static_cast<float>(s.nope + s.rope))};
    args.scratch_floats = AttentionScratchFloats(s.heads, kv_heads, s.positions);
    std::vector<float> scratch(Size(args.scratch_floats));
    args.scratch = scratch.data();
    args.out = out.data();
    RunReference(args);
    return out;
  }

  Sizes s;
  std::vector<float> up_key_, up_value_, queries_, cells_;
  std::vector<std::int32_t> pages_;
  std::vector<AttentionRow> rows_;
};

TEST(LatentAttentionTest, AbsorbedIsExpanded) {
  for (const Sizes& sizes : {Sizes{4, 24, 8, 64, 32, 40}, Sizes{2, 128, 64, 512, 128, 33}}) {
    Latent latent(sizes);
    const auto absorbed = latent.Absorbed(), expanded = latent.Expanded();
    ASSERT_EQ(absorbed.size(), expanded.size());
    double error = 0, size = 0;
    for (std::size_t i = 0; i < absorbed.size(); ++i) {
      const double difference = double{absorbed[i]} - double{expanded[i]};
      error += difference * difference;
      size += double{expanded[i]} * double{expanded[i]};
    }
    EXPECT_GT(size / static_cast<double>(absorbed.size()), 1e-3);
    EXPECT_LT(error / size, 1e-10) << sizes.latent;
  }
}

}  // namespace
}  // namespace vt::test
