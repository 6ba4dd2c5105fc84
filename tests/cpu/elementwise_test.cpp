// Norms, RoPE and the pointwise ops: every kernel against the scalar one to the bit, the scalar one
// against double within the error its additions allow.
#include <cmath>

#include "cpu/kernel_harness.h"

namespace vt::test {
namespace {

const std::vector<std::int64_t> kCols = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  11,  12,
                                         13, 14, 15, 16, 17, 31, 32, 33, 63, 100, 576, 1000};

std::string Shape(const char* op, std::int64_t a, std::int64_t b) {
  return std::string(op) + " " + std::to_string(a) + "x" + std::to_string(b);
}

std::size_t Size(std::int64_t n) { return static_cast<std::size_t>(n); }

// Relative error of a sum of `cols` terms of one sign in 16 lanes, and of a few steps more.
double SumError(std::int64_t cols) { return kUnit * (static_cast<double>(cols) / 16 + 12); }

TEST(RmsNormTest, EveryKernel) {
  for (std::int64_t cols : kCols) {
    for (std::int64_t rows : {0, 1, 3, 7}) {
      for (std::int64_t weight_rows : {0, 1, 2}) {
        const auto x = RandomValues(Size(rows * cols), 1, 3.0f);
        const auto weight = RandomValues(Size(weight_rows * cols), 2);
        Guarded<float> guarded_x(x), guarded_weight(weight);
        RmsNormArgs args;
        args.x = guarded_x.data();
        args.weight = weight_rows > 0 ? guarded_weight.data() : nullptr;
        args.weight_rows = weight_rows > 0 ? weight_rows : 1;
        args.rows = rows;
        args.cols = cols;
        const std::string label = Shape("rms_norm", rows, cols);
        const auto got = RunEveryKernel(
            args, std::vector<float>(x.size()), [](RmsNormArgs& a, float* out) { a.out = out; },
            label);
        const auto in_place = RunEveryKernel(
            args, x, [](RmsNormArgs& a, float* data) { a.x = a.out = data; }, label + " in place");
        ExpectSameBits(got, in_place, label + " in place");

        std::vector<double> want(x.size()), limit(x.size());
        for (std::int64_t r = 0; r < rows; ++r) {
          double squares = 0;
          for (std::int64_t c = 0; c < cols; ++c) squares += std::pow(x[Size(r * cols + c)], 2);
          const double root = std::sqrt(squares / static_cast<double>(cols) + args.eps);
          for (std::int64_t c = 0; c < cols; ++c) {
            const std::size_t i = Size(r * cols + c);
            want[i] = x[i] / root;
            if (weight_rows > 0) want[i] *= weight[Size(r % weight_rows * cols + c)];
            limit[i] = std::abs(want[i]) * SumError(cols) + 1e-30;
          }
        }
        ExpectNear(want, got, limit, label);
      }
    }
  }
}

TEST(LayerNormTest, EveryKernel) {
  for (std::int64_t cols : kCols) {
    for (std::int64_t rows : {1, 4}) {
      for (std::int64_t weight_rows : {0, 1, 2}) {
        auto x = RandomValues(Size(rows * cols), 3);
        for (float& v : x) v += 2.0f;  // a mean to take away
        const auto weight = RandomValues(Size(weight_rows * cols), 4);
        const auto bias = RandomValues(Size(weight_rows * cols), 5);
        Guarded<float> guarded_x(x), guarded_weight(weight), guarded_bias(bias);
        LayerNormArgs args;
        args.x = guarded_x.data();
        if (weight_rows > 0) {
          args.weight = guarded_weight.data();
          args.weight_rows = weight_rows;
          if (weight_rows == 1) args.bias = guarded_bias.data();
        }
        args.rows = rows;
        args.cols = cols;
        const std::string label = Shape("layer_norm", rows, cols);
        const auto got = RunEveryKernel(
            args, std::vector<float>(x.size()), [](LayerNormArgs& a, float* out) { a.out = out; },
            label);
        const auto in_place = RunEveryKernel(
            args, x, [](LayerNormArgs& a, float* data) { a.x = a.out = data; },
            label + " in place");
        ExpectSameBits(got, in_place, label + " in place");

        std::vector<double> want(x.size()), limit(x.size());
        for (std::int64_t r = 0; r < rows; ++r) {
          double mean = 0, squares = 0;
          for (std::int64_t c = 0; c < cols; ++c) mean += x[Size(r * cols + c)];
          mean /= static_cast<double>(cols);
          for (std::int64_t c = 0; c < cols; ++c) {
            squares += std::pow(x[Size(r * cols + c)] - mean, 2);
          }
          const double root = std::sqrt(squares / static_cast<double>(cols) + args.eps);
          const double mean_error = SumError(cols) * std::abs(mean);
          for (std::int64_t c = 0; c < cols; ++c) {
            const std::size_t i = Size(r * cols + c);
            const double w = weight_rows > 0 ? weight[Size(r % weight_rows * cols + c)] : 1.0;
            const double b = args.bias ? bias[Size(c)] : 0.0;
            const double normal = (x[i] - mean) / root;
            want[i] = normal * w + b;
            limit[i] = std::abs(w) * (mean_error / root * (1 + std::abs(normal)) +
                                      std::abs(normal) * SumError(cols)) +
                       std::abs(want[i]) * 2 * kUnit + 1e-30;
          }
        }
        ExpectNear(want, got, limit, label);
      }
    }
  }
}

TEST(RopeTest, TableAndRotation) {
  const std::vector<std::int32_t> positions = {0, 1, 7, 4095, 131071};
  const auto rows = static_cast<std::int64_t>(positions.size());
  for (std::int64_t pairs : {1, 5, 16, 20, 32, 64}) {
    std::vector<double> inv_freq;
    for (std::int64_t i = 0; i < pairs; ++i) {
      inv_freq.push_back(std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(pairs)));
    }
    RopeTableArgs table_args;
    table_args.positions = positions.data();
    table_args.inv_freq = inv_freq.data();
    table_args.rows = rows;
    table_args.pairs = pairs;
    table_args.magnitude = 1.25;
    const auto table = RunEveryKernel(
        table_args, std::vector<float>(Size(rows * 2 * pairs)),
        [](RopeTableArgs& a, float* out) { a.table = out; }, "rope_table");
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < pairs; ++i) {
        const long double angle = static_cast<long double>(positions[Size(r)]) * inv_freq[Size(i)];
        EXPECT_NEAR(table[Size(r * 2 * pairs + i)], 1.25 * std::cos(angle), 2e-7);
        EXPECT_NEAR(table[Size(r * 2 * pairs + pairs + i)], 1.25 * std::sin(angle), 2e-7);
      }
    }
    for (RopeLayout layout : {RopeLayout::kHalf, RopeLayout::kInterleaved}) {
      const std::int64_t heads = 3, head_dim = 2 * pairs + 6;
      const auto x = RandomValues(Size(rows * heads * head_dim), 6);
      RopeArgs args;
      args.table = table.data();
      args.rows = rows;
      args.heads = heads;
      args.head_dim = head_dim;
      args.pairs = pairs;
      args.layout = layout;
      const std::string label = Shape("rope", heads, head_dim);
      const auto got = RunEveryKernel(
          args, x, [](RopeArgs& a, float* data) { a.x = data; }, label);
      std::vector<double> want(x.begin(), x.end()), limit(x.size(), 1e-6);
      for (std::int64_t item = 0; item < rows * heads; ++item) {
        for (std::int64_t i = 0; i < pairs; ++i) {
          const bool half = layout == RopeLayout::kHalf;
          const std::size_t a = Size(item * head_dim + (half ? i : 2 * i));
          const std::size_t b = a + Size(half ? pairs : 1);
          const double cosine = table[Size(item / heads * 2 * pairs + i)];
          const double sine = table[Size(item / heads * 2 * pairs + pairs + i)];
          want[a] = x[a] * cosine - x[b] * sine;
          want[b] = x[a] * sine + x[b] * cosine;
        }
      }
      ExpectNear(want, got, limit, label);
    }
  }
}

// Values of every size, signs, the ends and NaN.
std::vector<float> WideValues(std::size_t count, std::uint32_t seed) {
  std::vector<float> values = RandomValues(count, seed, 12.0f);
  const float special[] = {0.0f,     -0.0f, 1e-40f, -1e-40f, 88.7f,     -88.7f, 104.0f, -104.0f,
                           INFINITY, 1e30f, -1e30f, NAN,     -INFINITY, 3e38f,  0.5f,   -1e-10f};
  for (std::size_t i = 0; i < count; i += 3) values[i] = special[i / 3 % std::size(special)];
  return values;
}

TEST(ActivateTest, EveryKernel) {
  for (std::int64_t count : {0, 1, 7, 15, 16, 17, 50, 1000, 3000}) {
    for (Activation act : {Activation::kSilu, Activation::kGelu}) {
      const std::string label = Shape("activate", static_cast<int>(act), count);
      const auto gate = RandomValues(Size(count), 7, 8.0f);
      const auto up = RandomValues(Size(count), 8);
      Guarded<float> guarded_gate(gate), guarded_up(up);
      ActivateArgs args;
      args.gate = guarded_gate.data();
      args.count = count;
      args.act = act;
      const auto to_out = [](ActivateArgs& a, float* out) { a.out = out; };
      const auto alone = RunEveryKernel(args, std::vector<float>(Size(count)), to_out, label);
      args.up = guarded_up.data();
      const auto got = RunEveryKernel(args, std::vector<float>(Size(count)), to_out, label);
      ExpectSameBits(got,
                     RunEveryKernel(
                         args, gate, [](ActivateArgs& a, float* d) { a.gate = a.out = d; }, label),
                     label + " over gate");
      args.gate = guarded_gate.data();
      ExpectSameBits(got,
                     RunEveryKernel(
                         args, up, [](ActivateArgs& a, float* d) { a.up = a.out = d; }, label),
                     label + " over up");
      std::vector<double> want, want_alone, limit, limit_alone;
      for (std::size_t i = 0; i < gate.size(); ++i) {
        const double x = gate[i];
        const double u = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
        const double y =
            act == Activation::kSilu ? x / (1 + std::exp(-x)) : x / 2 * (1 + std::tanh(u));
        want_alone.push_back(y);
        limit_alone.push_back(8 * kUnit * std::abs(y) + 1e-7);
        want.push_back(y * up[i]);
        limit.push_back(8 * kUnit * std::abs(y * up[i]) + 1e-7);
      }
      ExpectNear(want_alone, alone, limit_alone, label + " without up");
      ExpectNear(want, got, limit, label);

      const auto wide = WideValues(Size(count), 9);
      args.gate = wide.data();
      args.up = nullptr;
      RunEveryKernel(args, std::vector<float>(Size(count)), to_out, label + " wide");
    }
  }
}

TEST(AddTest, EveryKernel) {
  for (std::int64_t count : {0, 1, 15, 16, 33, 1000, 3000}) {
    const std::string label = Shape("add", 1, count);
    const auto a = WideValues(Size(count), 10);
    const auto b = RandomValues(Size(count), 11);
    Guarded<float> guarded_a(a), guarded_b(b);
    AddArgs args;
    args.a = guarded_a.data();
    args.b = guarded_b.data();
    args.count = count;
    args.scale = 0.37f;
    const auto got = RunEveryKernel(
        args, std::vector<float>(Size(count)), [](AddArgs& x, float* out) { x.out = out; }, label);
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(SameBits(got[i], std::fma(b[i], 0.37f, a[i]))) << label << " at " << i;
    }
    ExpectSameBits(got,
                   RunEveryKernel(
                       args, a, [](AddArgs& x, float* d) { x.a = x.out = d; }, label),
                   label + " over a");
    args.a = guarded_a.data();
    ExpectSameBits(got,
                   RunEveryKernel(
                       args, b, [](AddArgs& x, float* d) { x.b = x.out = d; }, label),
                   label + " over b");
  }
}

TEST(ScaleCapTest, EveryKernel) {
  for (std::int64_t count : {0, 1, 15, 16, 33, 1000, 3000}) {
    for (float cap : {0.0f, 30.0f, 1.5f}) {
      const std::string label = Shape("scale_cap", static_cast<int>(cap), count);
      const auto x = RandomValues(Size(count), 12, 100.0f);
      ScaleCapArgs args;
      args.count = count;
      args.scale = 0.4f;
      args.cap = cap;
      const auto bind = [](ScaleCapArgs& a, float* data) { a.x = data; };
      const auto got = RunEveryKernel(args, x, bind, label);
      std::vector<double> want, limit;
      for (float v : x) {
        const double s = static_cast<double>(v) * args.scale;
        want.push_back(cap == 0 ? s : cap * std::tanh(s / cap));
        limit.push_back(std::abs(want.back()) * 10 * kUnit + 1e-30);
      }
      ExpectNear(want, got, limit, label);
      RunEveryKernel(args, WideValues(Size(count), 13), bind, label + " wide");
    }
  }
}

}  // namespace
}  // namespace vt::test
