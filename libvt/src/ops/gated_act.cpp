#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"
#include "ops/shape_check.h"

namespace vt {
namespace {

Support CheckShape(const GatedActArgs& a) {
  return ShapeCheck()
      .And(CheckCount(a))
      .True(a.act != GatedActKind::kClampedSwiglu || a.limit > 0.0f,
            [&] { return "limit (" + std::to_string(a.limit) + ") must be above 0"; });
}

OpShape Shape(const GatedActArgs& a) {
  return {.type = {},
          .form = a.act == GatedActKind::kRelu ? "relu" : "clamped_swiglu",
          .sizes = {{"count", a.count}}};
}

void AddCases(CaseList& list, Sweep sweep) {
  for (const GatedActKind act : {GatedActKind::kRelu, GatedActKind::kClampedSwiglu}) {
    AddCounts<GatedActArgs>(list, sweep, [&](GatedActArgs& a, std::int64_t turn) {
      a.act = act;
      a.limit = Pick(turn, {7.0f, 7.0f, 1.5f});
    });
  }
  AddRefused(list, sweep,
             GatedActArgs{.count = 8, .act = GatedActKind::kClampedSwiglu, .limit = 0.0f});
}

void Bind(Binder& b, const OpCase& c, GatedActArgs& a) {
  b.InAndOut(a.gate, a.out, a.count, c.in_place, -9, 9);
  a.up = b.Floats("up", a.count, -9, 9);
  b.Rounding(1, 9 * 10);
}

}  // namespace

constexpr OpFacts<GatedActArgs> kGatedActFacts = {
    .meaning = "gated activations other than silu and gelu",
    .check_shape = CheckShape,
    .output = CountOutput,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
};

}  // namespace vt
