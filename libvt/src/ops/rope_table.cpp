#include <cmath>

#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/op_facts.h"
#include "ops/shape_check.h"

namespace vt {
namespace {

Support CheckShape(const RopeTableArgs& a) {
  return ShapeCheck().AtLeast("rows", a.rows, 0).AtLeast("pairs", a.pairs, 0);
}

OpOutput Output(const RopeTableArgs& a) { return {a.table, a.rows * 2 * a.pairs}; }

OpShape Shape(const RopeTableArgs& a) {
  return {.type = {}, .sizes = {{"rows", a.rows}, {"pairs", a.pairs}}};
}

void AddCases(CaseList& list, Sweep sweep) {
  RopeTableArgs args;
  ForEachShape(sweep, [&](std::int64_t rows, std::int64_t pairs, std::int64_t turn) {
    args.rows = rows;
    args.pairs = pairs;
    args.magnitude = Pick(turn, {1.0, 1.25});
    list.push_back({args});
  });
}

void Bind(Binder& b, const OpCase&, RopeTableArgs& a) {
  a.positions = b.Ids("positions", a.rows, 4096);
  std::vector<double> inv_freq(SizeOf(a.pairs));
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    inv_freq[i] = std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(a.pairs));
  }
  a.inv_freq = b.Values<double>("frequencies", inv_freq);
  a.table = b.Output("table", a.rows * 2 * a.pairs);
  b.Rounding(1, a.magnitude);
}

std::string Label(const RopeTableArgs& a) { return Cross(a.rows, a.pairs) + " pairs"; }

}  // namespace

constexpr OpFacts<RopeTableArgs> kRopeTableFacts = {
    .meaning = "cosines and sines of rotary positions",
    .check_shape = CheckShape,
    .output = Output,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
