#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"
#include "ops/shape_check.h"

namespace vt {
namespace {

Support CheckShape(const LayerNormArgs& a) {
  return ShapeCheck().And(CheckRows(a)).AtLeast("weight_rows", a.weight_rows, 1);
}

OpShape Shape(const LayerNormArgs& a) {
  OpShape shape = RowsShape(a);
  if (a.weight_rows != 1) shape.sizes.push_back({"weight_rows", a.weight_rows});
  return shape;
}

void AddCases(CaseList& list, Sweep sweep) {
  AddShapes<LayerNormArgs>(list, sweep, [](LayerNormArgs& a, OpCase& next, std::int64_t turn) {
    a.weight_rows = Pick<std::int64_t>(turn, {1, 2, 3});
    next.optional = turn % 4 != 1;
    next.in_place = turn % 2 == 0;
  });
  AddRefused(list, sweep, LayerNormArgs{.rows = 2, .cols = 0});
  AddRefused(list, sweep, LayerNormArgs{.weight_rows = 0, .rows = 2, .cols = 8});
}

void Bind(Binder& b, const OpCase& c, LayerNormArgs& a) {
  b.InAndOut(a.x, a.out, a.rows * a.cols, c.in_place);
  if (c.optional) {
    a.weight = b.Floats("weight", a.weight_rows * a.cols);
    a.bias = b.Floats("bias", a.weight_rows * a.cols);
  }
  b.Rounding(2 * a.cols, 2);
}

std::string Label(const LayerNormArgs& a) {
  return Cross(a.rows, a.cols) + ", weight rows " + Text(a.weight_rows);
}

}  // namespace

constexpr OpFacts<LayerNormArgs> kLayerNormFacts = {
    .meaning = "each row to mean 0 and variance 1, times a weight, plus a bias",
    .check_shape = CheckShape,
    .output = RowsOutput,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
