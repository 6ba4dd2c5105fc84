// ssm_scan: every kernel against the scalar one to the bit, that one against double; whole
// sequences against the same in pieces.
#include <cmath>

#include "cpu/recurrent_fixture.h"

namespace vt::test {
namespace {

struct Scan {
  SsmScanArgs args;  // sizes, and pointers into what follows
  std::vector<float> x, dt, dt_bias, a, d;

  Scan(std::int64_t rows, std::int64_t heads, std::int64_t head_dim, std::int64_t groups,
       std::int64_t state_size, std::int64_t gap = 0) {
    args.rows = rows;
    args.heads = heads;
    args.head_dim = head_dim;
    args.groups = groups;
    args.state_size = state_size;
    args.x_stride = heads * head_dim + 2 * groups * state_size + gap;
    args.dt_stride = gap > 0 ? heads + gap : 0;
    x = RandomValues(Size(rows * args.x_stride - gap), 41);
    dt = RandomValues(Size(rows * (heads + gap) - gap), 42, 4.0f);
    dt_bias = RandomValues(Size(heads), 43);
    a = RandomValues(Size(heads), 44);
    for (float& v : a) v = -1.5f + v;
    d = RandomValues(Size(heads), 45);
    args.dt_bias = dt_bias.data();
    args.a = a.data();
    args.d = d.data();
    Point(x.data(), dt.data());
  }
  void Point(const float* x_data, const float* dt_data) {
    args.x = x_data;
    args.b = args.x + args.heads * args.head_dim;
    args.c = args.b + args.groups * args.state_size;
    args.dt = dt_data;
  }
  std::int64_t out_cols() const { return args.heads * args.head_dim; }
  std::int64_t state_floats() const { return out_cols() * args.state_size; }

  // out, then the states, in double; `magnitude` gets the sums of the sizes of their terms.
  std::vector<double> Want(const std::vector<Sequence>& step, const std::vector<float>& state,
                           std::vector<double>& magnitude) const {
    const SsmScanArgs& s = args;
    std::vector<double> out, states(state.begin(), state.end());
    magnitude.clear();
    std::int64_t row = 0;
    for (const Sequence& sequence : step) {
      double* all = states.data() + sequence.slot * state_floats();
      if (sequence.fresh) std::fill_n(all, state_floats(), 0.0);
      for (std::int64_t t = 0; t < sequence.rows; ++t, ++row) {
        for (std::int64_t h = 0; h < s.heads; ++h) {
          const std::int64_t stride = s.dt_stride == 0 ? s.heads : s.dt_stride;
          const double raw = double{s.dt[row * stride + h]} + s.dt_bias[h];
          const double time = std::log1p(std::exp(raw));
          const std::int64_t g = h / (s.heads / s.groups);
          for (std::int64_t i = 0; i < s.head_dim; ++i) {
            double* one = all + (h * s.head_dim + i) * s.state_size;
            const double x_value = s.x[row * s.x_stride + h * s.head_dim + i];
            double sum = s.d[h] * x_value, size = std::abs(sum);
            for (std::int64_t n = 0; n < s.state_size; ++n) {
              const std::int64_t at = row * s.x_stride + g * s.state_size + n;
              one[n] = one[n] * std::exp(time * s.a[h]) + time * x_value * s.b[at];
              sum += one[n] * s.c[at];
              size += std::abs(one[n] * s.c[at]);
            }
            out.push_back(sum);
            magnitude.push_back(size);
          }
        }
      }
    }
    out.insert(out.end(), states.begin(), states.end());
    for (double v : states) magnitude.push_back(std::abs(v));
    return out;
  }
};

TEST(SsmScanTest, EveryKernel) {
  const std::vector<Sequence>& step = MixedStep();
  const std::vector<StateRow> row = RowsOf(step);
  const std::int64_t rows = CountRows(step);
  std::int64_t turn = 0;
  const auto check = [&](std::int64_t heads, std::int64_t head_dim, std::int64_t groups,
                         std::int64_t size) {
    Scan scan(rows, heads, head_dim, groups, size, turn++ % 2 == 0 ? 0 : 3);
    const std::string label = OpShape("ssm_scan", heads, head_dim) + " in " +
                              std::to_string(groups) + " by " + std::to_string(size);
    const auto state = RandomValues(Size(kMixedSlots * scan.state_floats()), 46);
    Guarded<float> x(scan.x), dt(scan.dt);
    scan.Point(x.data(), dt.data());
    scan.args.row = row.data();
    std::vector<float> initial(Size(rows * scan.out_cols()), NAN);
    initial.insert(initial.end(), state.begin(), state.end());
    const auto got = RunEveryKernel(
        scan.args, initial,
        [](SsmScanArgs& a, float* data) {
          a.out = data;
          a.state = data + a.rows * a.heads * a.head_dim;
        },
        label);
    std::vector<double> limit;
    const auto want = scan.Want(step, state, limit);
    for (double& v : limit) v = v * 40 * SumError(size) + 1e-6;
    ExpectNear(want, got, limit, label);
  };
  for (std::int64_t size : Widths()) check(2, 5, 1, size);
  for (std::int64_t head_dim : {1, 2, 3, 4, 7, 8}) check(6, head_dim, 3, 16);
  check(4, 32, 2, 128);
}

TEST(SsmScanTest, PiecesOfASequence) {
  constexpr std::int64_t kRows = 40;
  Scan scan(kRows, 3, 6, 1, 20);
  const auto state = RandomValues(Size(scan.state_floats()), 47);  // to be forgotten
  const auto shift = [](SsmScanArgs& a, std::int64_t row) {
    a.x += row * a.x_stride;
    a.b += row * a.x_stride;
    a.c += row * a.x_stride;
    a.dt += row * a.heads;
  };
  const auto run = [&](std::int64_t chunk) {
    return RunInChunks(scan.args, kRows, chunk, scan.out_cols(), state, shift, "ssm_scan");
  };
  const auto whole = run(kRows);
  for (std::int64_t chunk : {7, 1}) ExpectSameBits(whole, run(chunk), "ssm_scan in pieces");
}

TEST(SsmScanTest, NoRows) {
  Scan scan(0, 2, 4, 1, 16, 0);
  const auto state = RandomValues(Size(scan.state_floats()), 48);
  const auto got = RunEveryKernel(
      scan.args, state, [](SsmScanArgs& a, float* data) { a.state = data; }, "no rows");
  ExpectSameBits(state, got, "no rows");
}

}  // namespace
}  // namespace vt::test
