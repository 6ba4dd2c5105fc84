// Sequences of one step or of many, for the tests of ops with a recurrent state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cpu/kernel_harness.h"
#include "ops/types.h"

namespace vt::test {

struct Sequence {
  std::int32_t slot;
  std::int64_t rows;
  bool fresh;
};

// Sequences of one step: a fresh one between two that go on, in slots out of order. Slots 0 and 4
// belong to nobody.
inline const std::vector<Sequence>& MixedStep() {
  static const std::vector<Sequence> step = {{3, 5, false}, {1, 19, true}, {2, 1, false}};
  return step;
}
inline constexpr std::int64_t kMixedSlots = 5;

inline std::vector<StateRow> RowsOf(const std::vector<Sequence>& step) {
  std::vector<StateRow> rows;
  for (const Sequence& s : step) {
    for (std::int64_t r = 0; r < s.rows; ++r) rows.push_back({s.slot, r == 0 && s.fresh ? 1 : 0});
  }
  return rows;
}

inline std::int64_t CountRows(const std::vector<Sequence>& step) {
  return static_cast<std::int64_t>(RowsOf(step).size());
}

// Splits `data` into its first `count` values and the rest.
inline std::vector<float> Head(const std::vector<float>& data, std::int64_t count) {
  return {data.begin(), data.begin() + count};
}
inline std::vector<float> Tail(const std::vector<float>& data, std::int64_t from) {
  return {data.begin() + from, data.end()};
}

// Runs a sequence of `rows` rows in steps of at most `chunk` with every kernel of the op:
// shift(args, row) moves the row pointers of args to a row, `out_cols` are the floats of out's row.
// Out and state lie in one buffer, out first. Returns both as they are at the end.
template <class Args, class Shift>
std::vector<float> RunInChunks(const Args& all, std::int64_t rows, std::int64_t chunk,
                               std::int64_t out_cols, const std::vector<float>& state, Shift shift,
                               const std::string& label) {
  std::vector<float> outs, now = state;
  for (std::int64_t begin = 0; begin < rows; begin += chunk) {
    Args args = all;
    args.rows = std::min(chunk, rows - begin);
    shift(args, begin);
    const std::vector<StateRow> row = RowsOf({{0, args.rows, begin == 0}});
    args.row = row.data();
    std::vector<float> initial(Size(args.rows * out_cols), NAN);
    initial.insert(initial.end(), now.begin(), now.end());
    const std::vector<float> got = RunEveryKernel(
        args, initial,
        [&](Args& a, float* data) {
          a.out = data;
          a.state = data + a.rows * out_cols;
        },
        label);
    outs.insert(outs.end(), got.begin(), got.begin() + args.rows * out_cols);
    now = Tail(got, args.rows * out_cols);
  }
  outs.insert(outs.end(), now.begin(), now.end());
  return outs;
}

}  // namespace vt::test
