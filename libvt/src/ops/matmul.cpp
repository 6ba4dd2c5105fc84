#include <utility>

#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/cases/weight_cases.h"
#include "ops/op_facts.h"
#include "ops/shape_names.h"

namespace vt {
namespace {

OpOutput Output(const MatmulArgs& a) { return {a.out, a.m * a.w.rows}; }

DType WeightType(const MatmulArgs& a) { return a.w.type; }

OpShape Shape(const MatmulArgs& a) { return ProductShape(a.w, FormOf(a.act), a.m); }

void AddCases(CaseList& list, Sweep sweep) {
  MatmulArgs args;
  for (const ActType act : {ActType::kQ15, ActType::kF32}) {
    args.act = act;
    ForEachType(sweep, [&](DType type, std::int64_t cols, std::int64_t turn) {
      args.w = Shaped(type, OutputsAt(sweep, turn), cols);
      args.m = BatchAt(sweep, turn);
      args.accumulate = turn % 5 == 3;
      list.push_back({.call = args, .optional = turn % 3 == 1});
    });
    ForEachBrokenBlock(sweep, [&](DType type, std::int64_t cols) {
      args.w = Shaped(type, 3, cols);
      args.m = 2;
      list.push_back({.call = args, .refused = true});
    });
  }
  if (sweep == Sweep::kSpeed) return;
  args = {.w = Shaped(DType::kF32, 3, 16), .m = -1};
  list.push_back({.call = args, .refused = true});
  // Every number of activation rows, for the widths of the kernels' tiles, and none.
  for (const auto& [type, act] : {std::pair(DType::kF32, ActType::kF32),
                                  {DType::kQ8_0, ActType::kF32},
                                  {DType::kQ8_0, ActType::kQ15},
                                  {DType::kQ4_K, ActType::kQ15}}) {
    for (std::int64_t m = 0; m <= 33; ++m) {
      args = {.w = Shaped(type, 1 + m, 512), .act = act, .m = m};
      list.push_back({.call = args, .optional = false});
    }
  }
}

void Bind(Binder& b, const OpCase& c, MatmulArgs& a) {
  b.FillWeight("weight", a.w);
  if (a.act == ActType::kQ15) {
    a.q = b.Quantised(a.m, a.w.cols);
  } else {
    a.x = b.Floats("x", a.m * a.w.cols);
  }
  if (c.optional) a.bias = b.Floats("bias", a.w.rows);
  a.out = a.accumulate ? b.Changed("out", a.m * a.w.rows) : b.Output("out", a.m * a.w.rows);
  b.Rounding(a.w.cols, SumScale(a.w.cols, b.largest_weight()));
}

std::string Label(const MatmulArgs& a) {
  return Named(a.w) + Acts(a.act) + ", m " + Text(a.m) + (a.accumulate ? ", accumulated" : "");
}

}  // namespace

constexpr OpFacts<MatmulArgs> kMatmulFacts = {
    .meaning = "activations times a weight, plus a bias, plus what is there",
    .output = Output,
    .weight_type = WeightType,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
