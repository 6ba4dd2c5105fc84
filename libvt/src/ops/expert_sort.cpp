#include <limits>

#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/op_facts.h"
#include "ops/shape_check.h"

namespace vt {
namespace {

Support CheckShape(const ExpertSortArgs& a) {
  return ShapeCheck()
      .AtLeast("pairs", a.pairs, 0)
      .AtMost("pairs", a.pairs, "a 32-bit index", std::numeric_limits<std::int32_t>::max())
      .AtLeast("experts", a.experts, 1)
      .AtMost("experts", a.experts, "the most experts of a layer", kMostExperts);
}

OpOutput Output(const ExpertSortArgs&) { return {}; }  // whole numbers

OpShape Shape(const ExpertSortArgs& a) {
  return {.type = {}, .sizes = {{"pairs", a.pairs}, {"experts", a.experts}}};
}

void AddCases(CaseList& list, Sweep sweep) {
  if (sweep == Sweep::kSpeed) {
    list.push_back({.call = ExpertSortArgs{.pairs = 8 * 512, .experts = 128}});
    return;
  }
  const auto add = [&](std::int64_t pairs, std::int64_t experts) {
    list.push_back({.call = ExpertSortArgs{.pairs = pairs, .experts = experts}});
  };
  std::int64_t turn = 0;
  add(0, 4);
  for (const std::int64_t pairs : SizesOf(sweep)) {
    add(pairs, Pick<std::int64_t>(turn++, {1, 8, 3, 64, 128}));
  }
  add(4096, 128);
  add(33, kMostExperts);
  AddRefused(list, sweep, ExpertSortArgs{.pairs = -1, .experts = 8});
  AddRefused(list, sweep, ExpertSortArgs{.pairs = 4, .experts = 0});
  AddRefused(list, sweep, ExpertSortArgs{.pairs = 4, .experts = kMostExperts + 1});
}

void Bind(Binder& b, const OpCase&, ExpertSortArgs& a) {
  a.ids = b.Ids("ids", a.pairs, a.experts);
  a.order = static_cast<std::int32_t*>(b.OutputBytes("order", a.pairs * 4));
  a.sorted_ids = static_cast<std::int32_t*>(b.OutputBytes("sorted ids", a.pairs * 4));
}

std::string Label(const ExpertSortArgs& a) {
  return Text(a.pairs) + ", experts " + Text(a.experts);
}

}  // namespace

constexpr OpFacts<ExpertSortArgs> kExpertSortFacts = {
    .meaning = "pairs of row and expert in order of expert",
    .check_shape = CheckShape,
    .output = Output,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
