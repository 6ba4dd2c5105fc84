#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"

namespace vt {
namespace {

std::vector<AnyArgs> Compose(const DualRmsNormResidualArgs& a) {
  const std::int64_t count = a.rows * a.cols;
  float* first = a.scratch;
  float* second = a.scratch ? a.scratch + count : nullptr;
  const auto norm = [&](const float* x, const float* weight, float* out) {
    return RmsNormArgs{
        .x = x, .weight = weight, .out = out, .rows = a.rows, .cols = a.cols, .eps = a.eps};
  };
  return {norm(a.x1, a.weight1, first), norm(a.x2, a.weight2, second),
          AddArgs{.a = first, .b = second, .out = first, .count = count},
          norm(first, a.weight3, first),
          AddArgs{.a = a.residual, .b = first, .out = a.out, .count = count}};
}

void AddCases(CaseList& list, Sweep sweep) {
  AddShapes<DualRmsNormResidualArgs>(list, sweep,
                                     [](DualRmsNormResidualArgs&, OpCase& next, std::int64_t turn) {
                                       next.optional = turn % 4 != 1;
                                       next.in_place = turn % 2 == 0;
                                     });
  AddRefused(list, sweep, DualRmsNormResidualArgs{.rows = 2, .cols = 0});
}

void Bind(Binder& b, const OpCase& c, DualRmsNormResidualArgs& a) {
  const std::int64_t count = a.rows * a.cols;
  a.x1 = b.Floats("x1", count);
  a.x2 = b.Floats("x2", count);
  b.InAndOut(a.residual, a.out, count, c.in_place);
  if (c.optional) {
    a.weight1 = b.Floats("weight1", a.cols);
    a.weight2 = b.Floats("weight2", a.cols, 0.5f, 1.5f);
    a.weight3 = b.Floats("weight3", a.cols);
  }
  a.scratch = b.Scratch(ScratchFloats(a));
  b.Rounding(3 * a.cols, 2);
}

}  // namespace

constexpr OpFacts<DualRmsNormResidualArgs> kDualRmsNormResidualFacts = {
    .meaning = "rms_norm of the sum of two rms_norms, plus a residual",
    .check_shape = CheckRows,
    .output = RowsOutput,
    .shape = RowsShape,
    .compose = Compose,
    .add_cases = AddCases,
    .bind = Bind,
};

}  // namespace vt
