#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"

namespace vt {
namespace {

OpOutput Output(const ScaleCapArgs& a) { return {a.x, a.count}; }

void AddCases(CaseList& list, Sweep sweep) {
  AddCounts<ScaleCapArgs>(list, sweep, [](ScaleCapArgs& a, std::int64_t turn) {
    a.scale = Pick(turn, {1.0f, 0.5f, -3.0f});
    a.cap = Pick(turn, {0.0f, 30.0f, 0.5f, 2.0f});
  });
}

void Bind(Binder& b, const OpCase&, ScaleCapArgs& a) {
  a.x = b.Changed("x", a.count);
  b.Rounding(1, 1);
}

std::string Label(const ScaleCapArgs& a) { return Text(a.count) + (a.cap != 0 ? ", cap" : ""); }

}  // namespace

constexpr OpFacts<ScaleCapArgs> kScaleCapFacts = {
    .meaning = "times a factor, and held to a cap by tanh, in place",
    .check_shape = CheckCount,
    .output = Output,
    .shape = CountShape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
