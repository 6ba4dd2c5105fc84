#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/op_facts.h"
#include "ops/shape_check.h"
#include "ops/shape_names.h"

namespace vt {
namespace {

Support CheckShape(const RopeArgs& a) {
  return ShapeCheck()
      .AtLeast("rows", a.rows, 0)
      .AtLeast("heads", a.heads, 0)
      .AtLeast("pairs", a.pairs, 0)
      .AtMost("2 * pairs", 2 * a.pairs, "head_dim", a.head_dim)
      .Stride(a.stride, a.heads * a.head_dim);
}

OpOutput Output(const RopeArgs& a) {
  // With a stride, other values stand between the heads of two rows.
  return {a.x, a.stride == 0 ? a.rows * a.heads * a.head_dim : 0};
}

OpShape Shape(const RopeArgs& a) {
  OpShape shape{
      .type = {},
      .form = FormOf(a.layout),
      .sizes = {
          {"rows", a.rows}, {"heads", a.heads}, {"head_dim", a.head_dim}, {"pairs", a.pairs}}};
  if (a.stride != 0 && a.stride != a.heads * a.head_dim)
    shape.sizes.push_back({"stride", a.stride});
  return shape;
}

void AddCases(CaseList& list, Sweep sweep) {
  RopeArgs args;
  ForEachShape(sweep, [&](std::int64_t rows, std::int64_t pairs, std::int64_t turn) {
    args.rows = rows;
    args.pairs = pairs;
    args.heads = Pick<std::int64_t>(turn, {1, 3, 8, 2});
    args.head_dim = 2 * pairs + (turn % 3 == 1 ? 6 : 0);
    args.layout = Pick(turn, {RopeLayout::kHalf, RopeLayout::kInterleaved});
    args.stride = turn % 5 == 2 ? args.heads * args.head_dim + 9 : 0;
    list.push_back({args});
  });
  AddRefused(list, sweep, RopeArgs{.rows = 2, .heads = 2, .head_dim = 8, .pairs = 5});
  AddRefused(list, sweep, RopeArgs{.rows = -1, .heads = 2, .head_dim = 8, .pairs = 4});
  AddRefused(list, sweep, RopeArgs{.rows = 2, .heads = 2, .head_dim = 7, .pairs = 4});
}

void Bind(Binder& b, const OpCase&, RopeArgs& a) {
  a.x = b.Changed("x", Extent(a.rows, a.heads * a.head_dim, a.stride));
  a.table = b.Floats("table", a.rows * 2 * a.pairs);
  b.Rounding(2, 1);
}

std::string Label(const RopeArgs& a) {
  return Text(a.rows) + "x" + Cross(a.heads, a.head_dim) + ", pairs " + Text(a.pairs) +
         Layout(a.layout) + Strided(a.stride);
}

}  // namespace

constexpr OpFacts<RopeArgs> kRopeFacts = {
    .meaning = "rotary positions applied to heads, in place",
    .check_shape = CheckShape,
    .output = Output,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
