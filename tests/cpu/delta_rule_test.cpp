// delta_rule: every kernel against the scalar one to the bit, that one against double; whole
// sequences against the same in pieces.
#include <cmath>

#include "cpu/recurrent_fixture.h"

namespace vt::test {
namespace {

struct Rule {
  DeltaRuleArgs args;  // sizes, and pointers into what follows
  std::vector<float> qkv, alpha, beta, dt_bias, a;

  Rule(std::int64_t rows, std::int64_t heads, std::int64_t key_heads, std::int64_t key_dim,
       std::int64_t value_dim, bool interleaved = false, std::int64_t gap = 0) {
    args.rows = rows;
    args.heads = heads;
    args.key_heads = key_heads;
    args.key_dim = key_dim;
    args.value_dim = value_dim;
    args.interleaved_keys = interleaved;
    args.qkv_stride = 2 * key_heads * key_dim + heads * value_dim + gap;
    qkv = RandomValues(Size(rows * args.qkv_stride - gap), 51);
    alpha = RandomValues(Size(rows * heads), 52, 4.0f);
    beta = RandomValues(Size(rows * heads), 53, 4.0f);
    dt_bias = RandomValues(Size(heads), 54);
    a = RandomValues(Size(heads), 55);
    for (float& v : a) v = -0.3f + 0.25f * v;
    args.alpha = alpha.data();
    args.beta = beta.data();
    args.dt_bias = dt_bias.data();
    args.a = a.data();
    Point(qkv.data());
  }
  void Point(const float* data) {
    args.q = data;
    args.k = args.q + args.key_heads * args.key_dim;
    args.v = args.k + args.key_heads * args.key_dim;
  }
  std::int64_t out_cols() const { return args.heads * args.value_dim; }
  std::int64_t state_floats() const { return out_cols() * args.key_dim; }

  std::vector<double> Unit(const float* x) const {
    double squares = args.eps;
    for (std::int64_t i = 0; i < args.key_dim; ++i) squares += double{x[i]} * x[i];
    std::vector<double> unit;
    for (std::int64_t i = 0; i < args.key_dim; ++i) unit.push_back(x[i] / std::sqrt(squares));
    return unit;
  }

  // out, then the states, in double, by the formula as it stands in the header: S is [key, value].
  std::vector<double> Want(const std::vector<Sequence>& step,
                           const std::vector<float>& state) const {
    const DeltaRuleArgs& s = args;
    std::vector<double> out, states(state.begin(), state.end());
    std::int64_t row = 0;
    for (const Sequence& sequence : step) {
      double* all = states.data() + sequence.slot * state_floats();
      if (sequence.fresh) std::fill_n(all, state_floats(), 0.0);
      for (std::int64_t t = 0; t < sequence.rows; ++t, ++row) {
        for (std::int64_t h = 0; h < s.heads; ++h) {
          const std::int64_t g = s.interleaved_keys ? h % s.key_heads : h / (s.heads / s.key_heads);
          const auto q = Unit(s.q + row * s.qkv_stride + g * s.key_dim);
          const auto k = Unit(s.k + row * s.qkv_stride + g * s.key_dim);
          const float* v = s.v + row * s.qkv_stride + h * s.value_dim;
          const double raw = double{s.alpha[row * s.heads + h]} + s.dt_bias[h];
          const double decay = std::exp(s.a[h] * std::log1p(std::exp(raw)));
          const double gate = 1 / (1 + std::exp(-double{s.beta[row * s.heads + h]}));
          for (std::int64_t j = 0; j < s.value_dim; ++j) {
            double* column = all + (h * s.value_dim + j) * s.key_dim;
            double found = 0, result = 0;
            for (std::int64_t i = 0; i < s.key_dim; ++i) {
              column[i] *= decay;
              found += column[i] * k[Size(i)];
            }
            for (std::int64_t i = 0; i < s.key_dim; ++i) {
              column[i] += k[Size(i)] * gate * (v[j] - found);
              result += column[i] * q[Size(i)];
            }
            out.push_back(result / std::sqrt(static_cast<double>(s.key_dim)));
          }
        }
      }
    }
    out.insert(out.end(), states.begin(), states.end());
    return out;
  }
};

TEST(DeltaRuleTest, EveryKernel) {
  const std::vector<Sequence>& step = MixedStep();
  const std::vector<StateRow> row = RowsOf(step);
  const std::int64_t rows = CountRows(step);
  std::int64_t turn = 0;
  const auto check = [&](std::int64_t heads, std::int64_t key_heads, std::int64_t key_dim,
                         std::int64_t value_dim) {
    Rule rule(rows, heads, key_heads, key_dim, value_dim, turn % 2 == 0, turn % 3 == 1 ? 3 : 0);
    ++turn;
    const std::string label = OpShape("delta_rule", heads, key_heads) + " by " +
                              std::to_string(key_dim) + "x" + std::to_string(value_dim);
    const auto state = RandomValues(Size(kMixedSlots * rule.state_floats()), 56);
    Guarded<float> qkv(rule.qkv);
    rule.Point(qkv.data());
    rule.args.row = row.data();
    std::vector<float> initial(Size(rows * rule.out_cols()), NAN);
    initial.insert(initial.end(), state.begin(), state.end());
    const auto got = RunEveryKernel(
        rule.args, initial,
        [](DeltaRuleArgs& a, float* data) {
          a.out = data;
          a.state = data + a.rows * a.heads * a.value_dim;
        },
        label);
    const auto want = rule.Want(step, state);
    // Values below about one, sums of unit vectors with states of up to key_dim^1/2.
    const double size = std::sqrt(static_cast<double>(key_dim));
    const std::vector<double> limit(want.size(), 20 * SumError(key_dim) * (1 + size));
    ExpectNear(want, got, limit, label);
  };
  for (std::int64_t key_dim : Widths()) check(2, 1, key_dim, 5);
  for (std::int64_t value_dim : {1, 2, 3, 4, 7, 8}) check(6, 3, 16, value_dim);
  check(6, 3, 24, 24);  // the other order of key heads
  check(4, 2, 128, 128);
}

TEST(DeltaRuleTest, PiecesOfASequence) {
  constexpr std::int64_t kRows = 40;
  Rule rule(kRows, 4, 2, 20, 6);
  const auto state = RandomValues(Size(rule.state_floats()), 57);  // to be forgotten
  const auto shift = [](DeltaRuleArgs& a, std::int64_t row) {
    a.q += row * a.qkv_stride;
    a.k += row * a.qkv_stride;
    a.v += row * a.qkv_stride;
    a.alpha += row * a.heads;
    a.beta += row * a.heads;
  };
  const auto run = [&](std::int64_t chunk) {
    return RunInChunks(rule.args, kRows, chunk, rule.out_cols(), state, shift, "delta_rule");
  };
  const auto whole = run(kRows);
  for (std::int64_t chunk : {7, 1}) ExpectSameBits(whole, run(chunk), "delta_rule in pieces");
}

// A key of no length neither divides by zero nor stores anything.
TEST(DeltaRuleTest, ZeroKeys) {
  Rule rule(2, 1, 1, 16, 4);
  std::fill(rule.qkv.begin(), rule.qkv.end(), 0.0f);
  const std::vector<StateRow> row = RowsOf({{0, 2, true}});
  rule.args.row = row.data();
  const auto got = RunEveryKernel(
      rule.args, RandomValues(Size(2 * 4 + rule.state_floats()), 58),
      [](DeltaRuleArgs& a, float* data) {
        a.out = data;
        a.state = data + 8;
      },
      "zero keys");
  for (float v : got) EXPECT_EQ(v, 0.0f);
}

TEST(DeltaRuleTest, NoRows) {
  Rule rule(0, 2, 2, 16, 4);
  const auto state = RandomValues(Size(rule.state_floats()), 59);
  const auto got = RunEveryKernel(
      rule.args, state, [](DeltaRuleArgs& a, float* data) { a.state = data; }, "no rows");
  ExpectSameBits(state, got, "no rows");
}

}  // namespace
}  // namespace vt::test
