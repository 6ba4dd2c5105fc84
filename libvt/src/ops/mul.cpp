#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"
#include "ops/shape_check.h"

namespace vt {
namespace {

Support CheckShape(const MulArgs& a) {
  return ShapeCheck()
      .AtLeast("rows", a.rows, 0)
      .AtLeast("cols", a.cols, 0)
      .True(a.b_cols == 1 || a.b_cols == a.cols, [&] {
        return "b_cols (" + std::to_string(a.b_cols) + ") must be 1 or cols (" +
               std::to_string(a.cols) + ")";
      });
}

OpShape Shape(const MulArgs& a) {
  OpShape shape = RowsShape(a);
  if (a.b_cols != a.cols) shape.sizes.push_back({"b_cols", a.b_cols});
  return shape;
}

void AddCases(CaseList& list, Sweep sweep) {
  for (const bool broadcast : {false, true}) {
    AddShapes<MulArgs>(list, sweep, [&](MulArgs& a, OpCase& next, std::int64_t turn) {
      a.b_cols = broadcast ? 1 : a.cols;
      next.in_place = turn % 2 == 0;
    });
  }
  AddRefused(list, sweep, MulArgs{.rows = 2, .cols = 8, .b_cols = 2});
  AddRefused(list, sweep, MulArgs{.rows = 2, .cols = 8, .b_cols = 0});
}

void Bind(Binder& b, const OpCase& c, MulArgs& a) {
  b.InAndOut(a.a, a.out, a.rows * a.cols, c.in_place);
  a.b = b.Floats("b", a.rows * a.b_cols);
}

std::string Label(const MulArgs& a) { return Cross(a.rows, a.cols) + " by " + Text(a.b_cols); }

}  // namespace

constexpr OpFacts<MulArgs> kMulFacts = {
    .meaning = "product, value by value or a factor for each row",
    .check_shape = CheckShape,
    .output = RowsOutput,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
