#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"

namespace vt {
namespace {

Support CheckShape(const SigmoidMulArgs& a) {
  return ShapeCheck().And(CheckRows(a)).True(a.gate_cols == 1 || a.gate_cols == a.cols, [&] {
    return "gate_cols (" + std::to_string(a.gate_cols) + ") must be 1 or cols (" +
           std::to_string(a.cols) + ")";
  });
}

OpShape Shape(const SigmoidMulArgs& a) {
  OpShape shape = RowsShape(a);
  if (a.gate_cols != a.cols) shape.sizes.push_back({"gate_cols", a.gate_cols});
  return shape;
}

void AddCases(CaseList& list, Sweep sweep) {
  for (const bool broadcast : {false, true}) {
    AddShapes<SigmoidMulArgs>(list, sweep, [&](SigmoidMulArgs& a, OpCase& next, std::int64_t turn) {
      a.gate_cols = broadcast ? 1 : a.cols;
      next.in_place = turn % 2 == 0;
    });
  }
  AddRefused(list, sweep, SigmoidMulArgs{.rows = 2, .cols = 8, .gate_cols = 2});
}

void Bind(Binder& b, const OpCase& c, SigmoidMulArgs& a) {
  b.InAndOut(a.x, a.out, a.rows * a.cols, c.in_place);
  a.gate = b.Floats("gate", a.rows * a.gate_cols, -4, 4);
  b.Rounding(2, 1);  // two roundings on values below 1
}

}  // namespace

constexpr OpFacts<SigmoidMulArgs> kSigmoidMulFacts = {
    .meaning = "x * sigmoid(gate), value by value or a gate for each row",
    .check_shape = CheckShape,
    .output = RowsOutput,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
};

}  // namespace vt
