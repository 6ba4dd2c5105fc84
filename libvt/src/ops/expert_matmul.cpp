#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/cases/weight_cases.h"
#include "ops/op_facts.h"
#include "ops/shape_names.h"

namespace vt {
namespace {

OpOutput Output(const ExpertMatmulArgs& a) { return {a.out, a.rows * (a.w.rows / a.experts)}; }

DType WeightType(const ExpertMatmulArgs& a) { return a.w.type; }

OpShape Shape(const ExpertMatmulArgs& a) {
  return ExpertShape(a.w, FormOf(a.act), a.rows, a.experts);
}

void AddCases(CaseList& list, Sweep sweep) {
  ExpertMatmulArgs args;
  for (const ActType act : {ActType::kQ15, ActType::kF32}) {
    args.act = act;
    ForEachType(sweep, [&](DType type, std::int64_t cols, std::int64_t turn) {
      args.experts = ExpertsAt(sweep, turn);
      args.w = Shaped(type, args.experts * OutputsAt(sweep, turn), cols);
      args.rows = FewRowsAt(sweep, turn);
      list.push_back({args});
    });
    ForEachBrokenBlock(sweep, [&](DType type, std::int64_t cols) {
      args.experts = 2;
      args.w = Shaped(type, 6, cols);
      args.rows = 2;
      list.push_back({.call = args, .refused = true});
    });
    if (sweep == Sweep::kSpeed) continue;
    for (const std::int64_t experts : {0, -1, 4}) {
      args.experts = experts;
      args.w = Shaped(DType::kQ8_0, 6, 64);
      list.push_back({.call = args, .refused = true});
    }
  }
  if (sweep == Sweep::kSpeed) return;
  for (const std::int64_t rows : {16, 40, 100}) {
    args.act = ActType::kF32;
    args.experts = 4;
    args.w = Shaped(DType::kBF16, 4 * 17, 63);
    args.rows = rows;
    list.push_back({args});
  }
}

void Bind(Binder& b, const OpCase&, ExpertMatmulArgs& a) {
  b.FillWeight("weight", a.w);
  if (a.act == ActType::kQ15) {
    a.q = b.Quantised(a.rows, a.w.cols);
  } else {
    a.x = b.Floats("x", a.rows * a.w.cols);
  }
  a.ids = b.Ids("ids", a.rows, a.experts);
  a.out = b.Output("out", a.experts > 0 ? a.rows * (a.w.rows / a.experts) : 0);
  b.Rounding(a.w.cols, SumScale(a.w.cols, b.largest_weight()));
}

std::string Label(const ExpertMatmulArgs& a) {
  return Named(a.w) + Acts(a.act) + ", experts " + Text(a.experts) + ", rows " + Text(a.rows);
}

}  // namespace

constexpr OpFacts<ExpertMatmulArgs> kExpertMatmulFacts = {
    .meaning = "each row times the matrix of its own expert",
    .output = Output,
    .weight_type = WeightType,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
