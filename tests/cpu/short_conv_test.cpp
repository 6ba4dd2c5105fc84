// short_conv: every kernel against the scalar one to the bit, that one against double; whole
// sequences against the same in pieces.
#include <cmath>

#include "cpu/recurrent_fixture.h"

namespace vt::test {
namespace {

struct Case {
  std::int64_t channels, taps, gap;
  bool silu, bias;
};

// out, then the states, in double.
std::vector<double> Want(const Case& c, const std::vector<Sequence>& step,
                         const std::vector<float>& x, const std::vector<float>& w,
                         const std::vector<float>& bias, const std::vector<float>& state) {
  const std::int64_t before = c.taps - 1, stride = c.channels + c.gap;
  std::vector<double> out, states(state.begin(), state.end());
  std::int64_t row = 0;
  for (const Sequence& s : step) {
    // Rows of the sequence from `before` rows back.
    std::vector<std::vector<double>> input;
    for (std::int64_t j = 0; j < before; ++j) {
      std::vector<double> old(Size(c.channels), 0.0);
      for (std::int64_t i = 0; i < c.channels && !s.fresh; ++i) {
        old[Size(i)] = state[Size((s.slot * before + j) * c.channels + i)];
      }
      input.push_back(old);
    }
    for (std::int64_t t = 0; t < s.rows; ++t, ++row) {
      input.emplace_back(x.begin() + row * stride, x.begin() + row * stride + c.channels);
      for (std::int64_t i = 0; i < c.channels; ++i) {
        double sum = c.bias ? bias[Size(i)] : 0.0;
        for (std::int64_t k = 0; k < c.taps; ++k) {
          sum += w[Size(i * c.taps + k)] * input[Size(t + k)][Size(i)];
        }
        out.push_back(c.silu ? sum / (1 + std::exp(-sum)) : sum);
      }
    }
    for (std::int64_t j = 0; j < before; ++j) {
      for (std::int64_t i = 0; i < c.channels; ++i) {
        states[Size((s.slot * before + j) * c.channels + i)] = input[Size(s.rows + j)][Size(i)];
      }
    }
  }
  out.insert(out.end(), states.begin(), states.end());
  return out;
}

TEST(ShortConvTest, EveryKernel) {
  const std::vector<Sequence>& step = MixedStep();
  const std::vector<StateRow> row = RowsOf(step);
  const std::int64_t rows = CountRows(step);
  std::int64_t turn = 0;
  for (std::int64_t channels : Widths()) {
    for (std::int64_t taps : {std::int64_t{2}, std::int64_t{3}, std::int64_t{4}, kMostConvTaps}) {
      const Case c{channels, taps, turn % 3 == 1 ? 5 : 0, turn % 2 == 0, turn % 5 != 2};
      ++turn;
      const std::string label = OpShape("short_conv", channels, taps);
      const auto x = RandomValues(Size((rows - 1) * (channels + c.gap) + channels), 31);
      const auto w = RandomValues(Size(channels * taps), 32);
      const auto bias = RandomValues(Size(channels), 33);
      const auto state = RandomValues(Size(kMixedSlots * (taps - 1) * channels), 34);
      Guarded<float> guarded_x(x), guarded_w(w), guarded_bias(bias);
      const ShortConvArgs args{.x = guarded_x.data(),
                               .x_stride = c.gap > 0 ? channels + c.gap : 0,
                               .w = guarded_w.data(),
                               .bias = c.bias ? guarded_bias.data() : nullptr,
                               .row = row.data(),
                               .rows = rows,
                               .channels = channels,
                               .taps = taps,
                               .silu = c.silu};
      std::vector<float> initial(Size(rows * channels), NAN);
      initial.insert(initial.end(), state.begin(), state.end());
      const auto got = RunEveryKernel(
          args, initial,
          [](ShortConvArgs& a, float* data) {
            a.out = data;
            a.state = data + a.rows * a.channels;
          },
          label);
      const auto want = Want(c, step, x, w, bias, state);
      std::vector<double> limit(want.size(), 8 * kUnit * static_cast<double>(taps + 2));
      for (std::size_t i = Size(rows * channels); i < limit.size(); ++i) limit[i] = 1e-30;
      ExpectNear(want, got, limit, label);
    }
  }
}

TEST(ShortConvTest, PiecesOfASequence) {
  constexpr std::int64_t kRows = 23, kChannels = 70;
  for (std::int64_t taps : {2, 4, 16}) {
    const auto x = RandomValues(Size(kRows * kChannels), 35);
    const auto w = RandomValues(Size(kChannels * taps), 36);
    const auto state = RandomValues(Size((taps - 1) * kChannels), 37);  // to be forgotten
    const ShortConvArgs args{
        .x = x.data(), .w = w.data(), .channels = kChannels, .taps = taps, .silu = true};
    const auto shift = [](ShortConvArgs& a, std::int64_t row) { a.x += row * kChannels; };
    const std::string label = "short_conv in pieces, taps " + std::to_string(taps);
    const auto whole = RunInChunks(args, kRows, kRows, kChannels, state, shift, label);
    for (std::int64_t chunk : {7, 1}) {
      ExpectSameBits(whole, RunInChunks(args, kRows, chunk, kChannels, state, shift, label), label);
    }
  }
}

TEST(ShortConvTest, NoRows) {
  const auto state = RandomValues(Size(3 * 8), 38);
  const auto w = RandomValues(Size(8 * 4), 39);
  const auto got = RunEveryKernel(
      ShortConvArgs{.w = w.data(), .channels = 8, .taps = 4}, state,
      [](ShortConvArgs& a, float* data) { a.state = data; }, "no rows");
  ExpectSameBits(state, got, "no rows");
}

}  // namespace
}  // namespace vt::test
