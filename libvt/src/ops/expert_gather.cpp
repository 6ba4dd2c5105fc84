#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/expert_cases.h"
#include "ops/cases/labels.h"
#include "ops/op_facts.h"
#include "ops/shape_check.h"

namespace vt {
namespace {

Support CheckShape(const ExpertGatherArgs& a) {
  return ShapeCheck()
      .AtLeast("pairs", a.pairs, 0)
      .AtLeast("cols", a.cols, 1)
      .AtLeast("used", a.used, 1)
      .Multiple("pairs", a.pairs, a.used, "used");
}

OpOutput Output(const ExpertGatherArgs& a) { return {a.out, a.pairs * a.cols}; }

OpShape Shape(const ExpertGatherArgs& a) {
  return {.type = {}, .sizes = {{"pairs", a.pairs}, {"cols", a.cols}, {"used", a.used}}};
}

void AddCases(CaseList& list, Sweep sweep) {
  ForEachShape(sweep, [&](std::int64_t rows, std::int64_t cols, std::int64_t turn) {
    const std::int64_t used = Pick<std::int64_t>(turn, {2, 1, 8, 5});
    list.push_back({.call = ExpertGatherArgs{.pairs = rows * used, .used = used, .cols = cols},
                    .optional = turn % 3 != 2});
  });
  AddRefused(list, sweep, ExpertGatherArgs{.pairs = -2, .used = 2, .cols = 8});
  AddRefused(list, sweep, ExpertGatherArgs{.pairs = 3, .used = 2, .cols = 8});
  AddRefused(list, sweep, ExpertGatherArgs{.pairs = 2, .used = 0, .cols = 8});
  AddRefused(list, sweep, ExpertGatherArgs{.pairs = 2, .used = 2, .cols = 0});
}

void Bind(Binder& b, const OpCase& c, ExpertGatherArgs& a) {
  a.x = b.Floats("x", a.used > 0 ? a.pairs / a.used * a.cols : 0);
  if (c.optional) {
    a.order = Permutation(b, "order", a.pairs);
    a.weights = b.Floats("weights", a.pairs);
  }
  a.out = b.Output("out", a.pairs * a.cols);
}

std::string Label(const ExpertGatherArgs& a) {
  return Cross(a.pairs, a.cols) + ", used " + Text(a.used);
}

}  // namespace

constexpr OpFacts<ExpertGatherArgs> kExpertGatherFacts = {
    .meaning = "the row of each pair of row and expert",
    .check_shape = CheckShape,
    .output = Output,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
