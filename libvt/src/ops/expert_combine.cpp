#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/expert_cases.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"
#include "ops/shape_check.h"

namespace vt {
namespace {

Support CheckShape(const ExpertCombineArgs& a) {
  return ShapeCheck()
      .And(CheckRows(a))
      .AtLeast("used", a.used, 1)
      .AtMost("used", a.used, "the most experts of a layer", kMostExperts);
}

OpShape Shape(const ExpertCombineArgs& a) {
  OpShape shape = RowsShape(a);
  shape.sizes.push_back({"used", a.used});
  return shape;
}

void AddCases(CaseList& list, Sweep sweep) {
  AddShapes<ExpertCombineArgs>(list, sweep,
                               [&](ExpertCombineArgs& a, OpCase& next, std::int64_t turn) {
                                 a.used = Pick<std::int64_t>(turn, {2, 1, 8, 5});
                                 if (sweep == Sweep::kSpeed) a.used = 8;
                                 next.optional = turn % 3 != 2;
                               });
  AddRefused(list, sweep, ExpertCombineArgs{.rows = 2, .used = 0, .cols = 8});
  AddRefused(list, sweep, ExpertCombineArgs{.rows = 2, .used = kMostExperts + 1, .cols = 8});
  AddRefused(list, sweep, ExpertCombineArgs{.rows = 2, .used = 2, .cols = 0});
}

void Bind(Binder& b, const OpCase& c, ExpertCombineArgs& a) {
  const std::int64_t pairs = a.rows * a.used;
  a.x = b.Floats("x", pairs * a.cols);
  if (c.optional) {
    a.order = Permutation(b, "order", pairs);
    a.weights = b.Floats("weights", pairs);
  }
  a.out = b.Output("out", a.rows * a.cols);
  b.Rounding(a.used, SumScale(a.used, 1));
}

}  // namespace

constexpr OpFacts<ExpertCombineArgs> kExpertCombineFacts = {
    .meaning = "the weighted sum of the results of a row's experts",
    .check_shape = CheckShape,
    .output = RowsOutput,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
};

}  // namespace vt
