// Ops with one thread to a value: the reference's bits everywhere.
#include <limits>

#include "gpu/gpu_harness.h"

namespace vt::test::gpu {
namespace {

// Random values with every special one among them.
std::vector<float> Awkward(std::int64_t count, std::uint32_t seed) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kSpecial[] = {0.0f,  -0.0f,  kInf,    -kInf, std::nanf(""), 1e-40f,
                                88.8f, -88.8f, -103.9f, 1e38f, -1e38f,        -5.0f};
  std::vector<float> values = RandomValues(count, seed, 12.0f);
  for (std::size_t i = 0; i < values.size(); i += 7)
    values[i] = kSpecial[i / 7 % std::size(kSpecial)];
  return values;
}

TEST(GpuAdd, ScalesAndAdds) {
  for (const std::int64_t count : kCounts) {
    const auto a = Awkward(count, 1), b = RandomValues(count, 2, 3.0f);
    const std::string label = std::to_string(count);
    const std::vector<float> empty(a.size());
    CheckSameBits<AddArgs>(
        "f32",
        [&](Buffers& on) {
          return AddArgs{
              .a = on.In(a), .b = on.In(b), .out = on.Out(empty), .count = count, .scale = 0.37f};
        },
        label);
    CheckSameBits<AddArgs>(
        "f32",
        [&](Buffers& on) {
          float* out = on.Out(a);
          return AddArgs{.a = out, .b = on.In(b), .out = out, .count = count};
        },
        label + " in place of a");
    CheckSameBits<AddArgs>(
        "f32",
        [&](Buffers& on) {
          float* out = on.Out(b);
          return AddArgs{.a = on.In(a), .b = out, .out = out, .count = count, .scale = -2.5f};
        },
        label + " in place of b");
  }
}

template <class Args>
void CheckGated() {
  for (const std::int64_t count : kCounts) {
    const auto gate = Awkward(count, 3), up = RandomValues(count, 4, 2.0f);
    const std::string label = std::to_string(count);
    const std::vector<float> empty(gate.size());
    CheckSameBits<Args>(
        "f32",
        [&](Buffers& on) {
          return Args{.gate = on.In(gate), .up = on.In(up), .out = on.Out(empty), .count = count};
        },
        label);
    CheckSameBits<Args>(
        "f32",
        [&](Buffers& on) {
          float* out = on.Out(gate);
          return Args{.gate = out, .up = on.In(up), .out = out, .count = count};
        },
        label + " in place");
  }
}
TEST(GpuSiluMul, HasTheReferencesBits) { CheckGated<SiluMulArgs>(); }
TEST(GpuGeluMul, HasTheReferencesBits) { CheckGated<GeluMulArgs>(); }

// silu and gelu to their formulas in double, so that the two do not share a mistake.
TEST(GpuGated, FollowTheFormulas) {
  const std::int64_t count = 2001;
  std::vector<float> gate(count), up(count, 1.0f);
  for (std::int64_t i = 0; i < count; ++i) {
    gate[static_cast<std::size_t>(i)] = static_cast<float>(i - 1000) * 0.01f;
  }
  const auto run = [&]<class Args>(const Args&) {
    return RunTarget<Args>(
        Targets()[0], "f32",
        [&](Buffers& on) {
          return Args{.gate = on.In(gate), .up = on.In(up), .out = on.Out(up), .count = count};
        },
        "formula");
  };
  const auto silu = run(SiluMulArgs{}), gelu = run(GeluMulArgs{});
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double x = gate[i];
    const double want_silu = x / (1 + std::exp(-x));
    const double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    const double want_gelu = x / (1 + std::exp(-2 * u));
    // The exponential's argument is off by some units of itself, at most 2 |u| of them.
    EXPECT_NEAR(silu[i], want_silu, 8 * kUnit * std::abs(want_silu)) << x;
    EXPECT_NEAR(gelu[i], want_gelu, (8 + 8 * std::abs(u)) * kUnit * std::abs(want_gelu)) << x;
  }
}

TEST(GpuRope, RotatesBothLayouts) {
  struct Shape {
    std::int64_t rows, heads, head_dim, pairs, stride;
  };
  for (const Shape s : {Shape{1, 1, 2, 1, 0}, Shape{3, 2, 64, 32, 0}, Shape{2, 5, 10, 3, 0},
                        Shape{3, 3, 33, 16, 120}, Shape{5, 4, 128, 64, 0}, Shape{0, 2, 8, 4, 0},
                        Shape{2, 2, 8, 0, 0}}) {
    const std::int64_t width = s.heads * s.head_dim;
    const std::int64_t stride = s.stride == 0 ? width : s.stride;
    const auto x = RandomValues(s.rows == 0 ? 0 : (s.rows - 1) * stride + width, 5);
    const auto table = RandomValues(s.rows * 2 * s.pairs, 6);
    for (const RopeLayout layout : {RopeLayout::kHalf, RopeLayout::kInterleaved}) {
      CheckSameBits<RopeArgs>(
          "f32",
          [&](Buffers& on) {
            return RopeArgs{.x = on.Out(x),
                            .table = on.In(table),
                            .rows = s.rows,
                            .heads = s.heads,
                            .head_dim = s.head_dim,
                            .pairs = s.pairs,
                            .layout = layout,
                            .stride = s.stride};
          },
          std::to_string(s.rows) + "x" + std::to_string(s.heads) + "x" +
              std::to_string(s.head_dim) + " pairs " + std::to_string(s.pairs) +
              (layout == RopeLayout::kHalf ? " half" : " interleaved"));
    }
  }
}

}  // namespace
}  // namespace vt::test::gpu
