#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/cases/state_rows.h"
#include "ops/op_facts.h"
#include "ops/shape_check.h"

namespace vt {
namespace {

Support CheckShape(const SsmScanArgs& a) {
  return ShapeCheck()
      .AtLeast("rows", a.rows, 0)
      .AtLeast("heads", a.heads, 1)
      .AtLeast("head_dim", a.head_dim, 1)
      .AtLeast("groups", a.groups, 1)
      .Multiple("heads", a.heads, a.groups, "groups")
      .AtLeast("state_size", a.state_size, 1)
      .AtMost("heads * head_dim", a.heads * a.head_dim, "x_stride", a.x_stride)
      .AtMost("groups * state_size", a.groups * a.state_size, "x_stride", a.x_stride)
      .Stride(a.dt_stride, a.heads);
}

OpOutput Output(const SsmScanArgs& a) { return {a.out, a.rows * a.heads * a.head_dim}; }

OpShape Shape(const SsmScanArgs& a) {
  return {.type = {},
          .sizes = {{"rows", a.rows},
                    {"heads", a.heads},
                    {"head_dim", a.head_dim},
                    {"groups", a.groups},
                    {"state_size", a.state_size}}};
}

// A model's row: x, b and c beside each other.
std::int64_t RowOf(const SsmScanArgs& a) {
  return a.heads * a.head_dim + 2 * a.groups * a.state_size;
}

void AddCases(CaseList& list, Sweep sweep) {
  const bool every = sweep == Sweep::kEveryShape;
  ForEachShape(sweep, [&](std::int64_t rows, std::int64_t size, std::int64_t turn) {
    SsmScanArgs a{.rows = rows};
    a.groups = every ? Pick<std::int64_t>(turn, {1, 2, 3}) : 1;
    a.heads = a.groups * (every ? Pick<std::int64_t>(turn, {1, 2}) : 32);
    a.head_dim = every ? Pick<std::int64_t>(turn, {4, 1, 7, 16}) : 64;
    a.state_size = every ? size : 128;
    a.x_stride = RowOf(a) + (turn % 3 == 1 ? 9 : 0);
    a.dt_stride = turn % 2 == 1 ? a.heads + 3 : 0;
    list.push_back({.call = a});
  });
  const SsmScanArgs good{
      .x_stride = 64, .rows = 2, .heads = 4, .head_dim = 8, .groups = 2, .state_size = 8};
  const auto refuse = [&](auto change) {
    SsmScanArgs a = good;
    change(a);
    AddRefused(list, sweep, a);
  };
  refuse([](SsmScanArgs& a) { a.rows = -1; });
  refuse([](SsmScanArgs& a) { a.groups = 3; });
  refuse([](SsmScanArgs& a) { a.groups = 0; });
  refuse([](SsmScanArgs& a) { a.head_dim = 0; });
  refuse([](SsmScanArgs& a) { a.state_size = 0; });
  refuse([](SsmScanArgs& a) { a.x_stride = 31; });
  refuse([](SsmScanArgs& a) { a.state_size = 33; });
  refuse([](SsmScanArgs& a) { a.dt_stride = 3; });
}

void Bind(Binder& b, const OpCase&, SsmScanArgs& a) {
  const StateRows rows = SeveralSequences(a.rows);
  const float* x = b.Floats("x, b and c", Extent(a.rows, RowOf(a), a.x_stride));
  a.x = x;
  a.b = x + a.heads * a.head_dim;
  a.c = a.b + a.groups * a.state_size;
  a.dt = b.Floats("dt", Extent(a.rows, a.heads, a.dt_stride), -3, 3);
  a.dt_bias = b.Floats("dt bias", a.heads, -1, 1);
  a.a = b.Floats("a", a.heads, -4, 0);
  a.d = b.Floats("d", a.heads);
  a.row = b.Values<StateRow>("rows", rows.rows);
  a.state = b.Changed("state", rows.slots * a.heads * a.head_dim * a.state_size);
  a.out = b.Output("out", a.rows * a.heads * a.head_dim);
  // A state gathers up to four rows' products of sizes up to that of dt.
  b.Rounding(a.state_size + 4 * a.rows + 8, SumScale(a.state_size, 4));
}

std::string Label(const SsmScanArgs& a) {
  return "rows " + Text(a.rows) + ", heads " + Cross(a.heads, a.head_dim) + " in " +
         Text(a.groups) + ", states " + Text(a.state_size) + Strided(a.x_stride);
}

}  // namespace

constexpr OpFacts<SsmScanArgs> kSsmScanFacts = {
    .meaning = "the selective state space of Mamba 2",
    .check_shape = CheckShape,
    .output = Output,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
