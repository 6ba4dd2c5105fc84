#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/state_rows.h"
#include "ops/op_facts.h"
#include "ops/shape_check.h"

namespace vt {
namespace {

Support CheckShape(const ShortConvArgs& a) {
  return ShapeCheck()
      .AtLeast("rows", a.rows, 0)
      .AtLeast("channels", a.channels, 1)
      .AtLeast("taps", a.taps, 2)
      .AtMost("taps", a.taps, "the most", kMostConvTaps)
      .Stride(a.x_stride, a.channels);
}

OpOutput Output(const ShortConvArgs& a) { return {a.out, a.rows * a.channels}; }

OpShape Shape(const ShortConvArgs& a) {
  OpShape shape{.type = {},
                .form = a.silu ? "silu" : "",
                .sizes = {{"rows", a.rows}, {"channels", a.channels}, {"taps", a.taps}}};
  if (a.x_stride != 0 && a.x_stride != a.channels) shape.sizes.push_back({"stride", a.x_stride});
  return shape;
}

void AddCases(CaseList& list, Sweep sweep) {
  ForEachShape(sweep, [&](std::int64_t rows, std::int64_t channels, std::int64_t turn) {
    ShortConvArgs a{.rows = rows, .channels = channels};
    a.taps = Pick<std::int64_t>(turn, {4, 3, 2, 5, kMostConvTaps});
    a.x_stride = turn % 3 == 1 ? channels + 5 : 0;
    a.silu = turn % 2 == 0;
    list.push_back({.call = a, .optional = turn % 4 != 1});
  });
  AddRefused(list, sweep, ShortConvArgs{.rows = -1, .channels = 8, .taps = 4});
  AddRefused(list, sweep, ShortConvArgs{.rows = 2, .channels = 0, .taps = 4});
  AddRefused(list, sweep, ShortConvArgs{.rows = 2, .channels = 8, .taps = 1});
  AddRefused(list, sweep, ShortConvArgs{.rows = 2, .channels = 8, .taps = kMostConvTaps + 1});
  AddRefused(list, sweep, ShortConvArgs{.x_stride = 7, .rows = 2, .channels = 8, .taps = 4});
}

void Bind(Binder& b, const OpCase& c, ShortConvArgs& a) {
  const StateRows rows = SeveralSequences(a.rows);
  a.x = b.Floats("x", Extent(a.rows, a.channels, a.x_stride));
  a.w = b.Floats("w", a.channels * a.taps);
  if (c.optional) a.bias = b.Floats("bias", a.channels);
  a.row = b.Values<StateRow>("rows", rows.rows);
  a.state = b.Changed("state", rows.slots * (a.taps - 1) * a.channels);
  a.out = b.Output("out", a.rows * a.channels);
  b.Rounding(a.taps + 2, SumScale(a.taps, 1));
}

}  // namespace

constexpr OpFacts<ShortConvArgs> kShortConvFacts = {
    .meaning = "causal convolution along each sequence",
    .check_shape = CheckShape,
    .output = Output,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
};

}  // namespace vt
