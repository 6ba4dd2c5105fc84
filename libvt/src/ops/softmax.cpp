#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"

namespace vt {
namespace {

void AddCases(CaseList& list, Sweep sweep) {
  AddShapes<SoftmaxArgs>(list, sweep, [](SoftmaxArgs& a, OpCase& next, std::int64_t turn) {
    a.scale = Pick(turn, {1.0f, 4.0f, 0.125f});
    next.in_place = turn % 2 == 0;
  });
}

void Bind(Binder& b, const OpCase& c, SoftmaxArgs& a) {
  b.InAndOut(a.x, a.out, a.rows * a.cols, c.in_place, -5, 5);
  b.Rounding(a.cols, 0);
}

}  // namespace

constexpr OpFacts<SoftmaxArgs> kSoftmaxFacts = {
    .meaning = "softmax of each row",
    .check_shape = CheckRows,
    .output = RowsOutput,
    .shape = RowsShape,
    .add_cases = AddCases,
    .bind = Bind,
};

}  // namespace vt
