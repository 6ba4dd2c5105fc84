#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"

namespace vt {
namespace {

std::vector<AnyArgs> Compose(const RmsNormAddArgs& a) {
  return {RmsNormArgs{.x = a.x,
                      .weight = a.weight,
                      .out = a.scratch,
                      .rows = a.rows,
                      .cols = a.cols,
                      .eps = a.eps},
          AddArgs{.a = a.residual, .b = a.scratch, .out = a.out, .count = a.rows * a.cols}};
}

void AddCases(CaseList& list, Sweep sweep) {
  AddShapes<RmsNormAddArgs>(list, sweep, [](RmsNormAddArgs&, OpCase& next, std::int64_t turn) {
    next.optional = turn % 4 != 1;
    next.in_place = turn % 2 == 0;
  });
  AddRefused(list, sweep, RmsNormAddArgs{.rows = 2, .cols = 0});
}

void Bind(Binder& b, const OpCase& c, RmsNormAddArgs& a) {
  const std::int64_t count = a.rows * a.cols;
  a.x = b.Floats("x", count);
  b.InAndOut(a.residual, a.out, count, c.in_place);
  if (c.optional) a.weight = b.Floats("weight", a.cols);
  a.scratch = b.Scratch(ScratchFloats(a));
  b.Rounding(a.cols, 1);
}

}  // namespace

constexpr OpFacts<RmsNormAddArgs> kRmsNormAddFacts = {
    .meaning = "rms_norm, plus a residual",
    .check_shape = CheckRows,
    .output = RowsOutput,
    .shape = RowsShape,
    .compose = Compose,
    .add_cases = AddCases,
    .bind = Bind,
};

}  // namespace vt
