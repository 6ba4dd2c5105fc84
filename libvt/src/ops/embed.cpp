#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/cases/weight_cases.h"
#include "ops/op_facts.h"
#include "ops/shape_names.h"

namespace vt {
namespace {

OpOutput Output(const EmbedArgs& a) { return {a.out, a.rows * a.table.cols}; }

DType WeightType(const EmbedArgs& a) { return a.table.type; }

OpShape Shape(const EmbedArgs& a) {
  return {.type = TypeName(a.table.type),
          .sizes = {{"rows", a.rows}, {"n", a.table.rows}, {"cols", a.table.cols}}};
}

void AddCases(CaseList& list, Sweep sweep) {
  EmbedArgs args;
  ForEachType(sweep, [&](DType type, std::int64_t cols, std::int64_t turn) {
    const bool large = sweep == Sweep::kSpeed;
    args.table = Shaped(type, large ? 256 : OutputsAt(sweep, turn), cols);
    args.rows = large ? 256 : FewRowsAt(sweep, turn);
    args.scale = Pick(turn, {1.0f, 5.5f, 0.25f});
    list.push_back({args});
  });
  args.scale = 1.0f;
  ForEachScaledBlock(sweep, [&](const Weight& w) {
    args.table = w;
    args.rows = 7;
    args.scale = args.scale == 1.0f ? 5.5f : 1.0f;
    list.push_back({args});
  });
  ForEachBrokenBlock(sweep, [&](DType type, std::int64_t cols) {
    args.table = Shaped(type, 3, cols);
    args.rows = 2;
    list.push_back({.call = args, .refused = true});
  });
}

void Bind(Binder& b, const OpCase&, EmbedArgs& a) {
  b.FillWeight("table", a.table);
  a.ids = b.Ids("ids", a.rows, a.table.rows);
  a.out = b.Output("out", a.rows * a.table.cols);
  b.Rounding(1, 0);
}

std::string Label(const EmbedArgs& a) { return Named(a.table) + ", rows " + Text(a.rows); }

}  // namespace

constexpr OpFacts<EmbedArgs> kEmbedFacts = {
    .meaning = "rows of a table by id, times a factor",
    .output = Output,
    .weight_type = WeightType,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
