#include <utility>

#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"

namespace vt {
namespace {

Support Refused(std::string reason) { return {false, std::move(reason)}; }

Support CheckShape(const ApplyExpertScaleArgs& a) {
  if (a.x != nullptr && a.x == a.out) return Refused("out must not be x");
  return {};
}

OpShape Shape(const ApplyExpertScaleArgs& a) {
  OpShape shape = RowsShape(a);
  shape.sizes.push_back({"experts", a.experts});
  return shape;
}

std::vector<AnyArgs> Compose(const ApplyExpertScaleArgs& a) {
  const Weight scales{.type = DType::kF32, .rows = a.experts, .cols = 1, .data = a.scales};
  return {
      EmbedArgs{.table = scales, .ids = a.ids, .rows = a.rows, .out = a.scratch},
      MulArgs{.a = a.x, .b = a.scratch, .out = a.out, .rows = a.rows, .cols = a.cols, .b_cols = 1}};
}

void AddCases(CaseList& list, Sweep sweep) {
  AddShapes<ApplyExpertScaleArgs>(list, sweep,
                                  [](ApplyExpertScaleArgs& a, OpCase&, std::int64_t turn) {
                                    a.experts = Pick<std::int64_t>(turn, {1, 8, 3});
                                  });
  if (sweep == Sweep::kSpeed) return;
  list.push_back({.call = ApplyExpertScaleArgs{.experts = 3, .rows = 2, .cols = 8},
                  .in_place = true,
                  .refused = true});
}

void Bind(Binder& b, const OpCase& c, ApplyExpertScaleArgs& a) {
  b.InAndOut(a.x, a.out, a.rows * a.cols, c.in_place);
  a.scales = b.Floats("scales", a.experts);
  a.ids = b.Ids("ids", a.rows, a.experts);
  a.scratch = b.Scratch(ScratchFloats(a));
}

std::string Label(const ApplyExpertScaleArgs& a) {
  return Cross(a.rows, a.cols) + ", experts " + Text(a.experts);
}

}  // namespace

constexpr OpFacts<ApplyExpertScaleArgs> kApplyExpertScaleFacts = {
    .meaning = "each row times the scale of its expert",
    .check_shape = CheckShape,
    .output = RowsOutput,
    .shape = Shape,
    .compose = Compose,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
