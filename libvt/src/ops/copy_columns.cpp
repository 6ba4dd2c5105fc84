#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"
#include "ops/shape_check.h"

namespace vt {
namespace {

Support CheckShape(const CopyColumnsArgs& a) {
  return ShapeCheck().And(CheckRows(a)).Stride(a.x_stride, a.cols).Stride(a.out_stride, a.cols);
}

OpOutput Output(const CopyColumnsArgs& a) {
  // With a stride, other values stand between two rows.
  const bool packed = a.out_stride == 0 || a.out_stride == a.cols;
  return {a.out, packed ? a.rows * a.cols : 0};
}

OpShape Shape(const CopyColumnsArgs& a) {
  OpShape shape = RowsShape(a);
  if (a.x_stride != 0) shape.sizes.push_back({"x_stride", a.x_stride});
  if (a.out_stride != 0) shape.sizes.push_back({"out_stride", a.out_stride});
  return shape;
}

void AddCases(CaseList& list, Sweep sweep) {
  AddShapes<CopyColumnsArgs>(list, sweep, [](CopyColumnsArgs& a, OpCase&, std::int64_t turn) {
    a.x_stride = Pick<std::int64_t>(turn, {0, 2 * a.cols, a.cols + 7});
    a.out_stride = Pick<std::int64_t>(turn, {a.cols + 5, 0, a.cols, 3 * a.cols});
  });
  AddRefused(list, sweep, CopyColumnsArgs{.rows = 2, .cols = 0});
  AddRefused(list, sweep, CopyColumnsArgs{.x_stride = 7, .rows = 2, .cols = 8});
  AddRefused(list, sweep, CopyColumnsArgs{.rows = 2, .cols = 8, .out_stride = 7});
  AddRefused(list, sweep, CopyColumnsArgs{.x_stride = -8, .rows = 2, .cols = 8});
}

void Bind(Binder& b, const OpCase&, CopyColumnsArgs& a) {
  a.x = b.Floats("x", Extent(a.rows, a.cols, a.x_stride));
  a.out = b.Changed("out", Extent(a.rows, a.cols, a.out_stride));
}

}  // namespace

constexpr OpFacts<CopyColumnsArgs> kCopyColumnsFacts = {
    .meaning = "parts of rows moved into or out of wider ones",
    .check_shape = CheckShape,
    .output = Output,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
};

}  // namespace vt
