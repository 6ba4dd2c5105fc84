#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"
#include "ops/shape_check.h"

namespace vt {
namespace {

Support CheckShape(const RmsNormArgs& a) {
  return ShapeCheck()
      .And(CheckRows(a))
      .AtLeast("weight_rows", a.weight_rows, 1)
      .Stride(a.stride, a.cols);
}

OpShape Shape(const RmsNormArgs& a) {
  OpShape shape = RowsShape(a);
  if (a.weight_rows != 1) shape.sizes.push_back({"weight_rows", a.weight_rows});
  if (a.stride != 0 && a.stride != a.cols) shape.sizes.push_back({"stride", a.stride});
  return shape;
}

void AddCases(CaseList& list, Sweep sweep) {
  AddShapes<RmsNormArgs>(list, sweep, [&](RmsNormArgs& a, OpCase& next, std::int64_t turn) {
    a.weight_rows = Pick<std::int64_t>(turn, {1, 2, 3});
    a.stride = turn % 5 == 2 ? a.cols + 7 : 0;
    next.optional = turn % 4 != 1;
    next.in_place = turn % 2 == 0;
  });
  AddRefused(list, sweep, RmsNormArgs{.rows = 2, .cols = 0});
  AddRefused(list, sweep, RmsNormArgs{.weight_rows = 0, .rows = 2, .cols = 8});
}

void Bind(Binder& b, const OpCase& c, RmsNormArgs& a) {
  b.InAndOut(a.x, a.out, Extent(a.rows, a.cols, a.stride), c.in_place);
  if (c.optional) {
    a.weight = b.Floats("weight", a.weight_rows * a.cols);
    if (a.rows % 2 == 1) a.bias = b.Floats("bias", a.weight_rows * a.cols);
  }
  b.Rounding(a.cols, 0);
}

std::string Label(const RmsNormArgs& a) {
  return Cross(a.rows, a.cols) + ", weight rows " + Text(a.weight_rows) + Strided(a.stride);
}

}  // namespace

constexpr OpFacts<RmsNormArgs> kRmsNormFacts = {
    .meaning = "each row over its root mean square, times a weight",
    .check_shape = CheckShape,
    .output = RowsOutput,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
