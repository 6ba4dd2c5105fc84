#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"
#include "ops/shape_names.h"

namespace vt {
namespace {

OpShape Shape(const ActivateArgs& a) {
  return {.type = {}, .form = FormOf(a.act), .sizes = {{"count", a.count}}};
}

void AddCases(CaseList& list, Sweep sweep) {
  for (const Activation act :
       {Activation::kSilu, Activation::kGelu, Activation::kRelu, Activation::kReluSquared}) {
    AddCounts<ActivateArgs>(list, sweep, [&](ActivateArgs& a, std::int64_t) { a.act = act; });
  }
}

void Bind(Binder& b, const OpCase& c, ActivateArgs& a) {
  b.InAndOut(a.x, a.out, a.count, c.in_place, -4, 4);
  b.Rounding(1, 16);
}

std::string Label(const ActivateArgs& a) {
  return Text(a.count) + ", " + std::string(FormOf(a.act));
}

}  // namespace

constexpr OpFacts<ActivateArgs> kActivateFacts = {
    .meaning = "silu, gelu, relu or its square",
    .check_shape = CheckCount,
    .output = CountOutput,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
