#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"

namespace vt {
namespace {

void AddCases(CaseList& list, Sweep sweep) {
  AddCounts<AddArgs>(list, sweep, [](AddArgs& a, std::int64_t turn) {
    a.scale = Pick(turn, {1.0f, -0.375f, 2.5f});
  });
}

void Bind(Binder& b, const OpCase& c, AddArgs& a) {
  b.InAndOut(a.a, a.out, a.count, c.in_place);
  a.b = b.Floats("b", a.count);
  b.Rounding(1, 2.5);
}

}  // namespace

constexpr OpFacts<AddArgs> kAddFacts = {
    .meaning = "sum of a and b times a factor",
    .check_shape = CheckCount,
    .output = CountOutput,
    .shape = CountShape,
    .add_cases = AddCases,
    .bind = Bind,
};

}  // namespace vt
