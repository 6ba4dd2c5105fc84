#include <utility>

#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/cases/weight_cases.h"
#include "ops/op_facts.h"
#include "ops/shape_names.h"

namespace vt {
namespace {

OpOutput Output(const ExpertMatmulArgs& a) { return {a.out, a.rows * ExpertOutputs(a)}; }

DType WeightType(const ExpertMatmulArgs& a) { return a.w.type; }

OpShape Shape(const ExpertMatmulArgs& a) {
  OpShape shape = ExpertShape(a.w, FormOf(a.act), a.rows, a.experts);
  if (a.n > 0) {
    shape.sizes[1].value = a.n;
    shape.sizes.push_back({"first", a.first});
  }
  if (a.x_repeat != 1) shape.sizes.push_back({"x_repeat", a.x_repeat});
  return shape;
}

void AddCases(CaseList& list, Sweep sweep) {
  for (const ActType act : {ActType::kQ15, ActType::kF32}) {
    ForEachType(sweep, [&](DType type, std::int64_t cols, std::int64_t turn) {
      const std::int64_t experts = ExpertsAt(sweep, turn);
      list.push_back(
          {.call = ExpertMatmulArgs{.w = Shaped(type, experts * OutputsAt(sweep, turn), cols),
                                    .experts = experts,
                                    .act = act,
                                    .rows = FewRowsAt(sweep, turn)},
           .optional = turn % 3 == 1});
    });
    ForEachBrokenBlock(sweep, [&](DType type, std::int64_t cols) {
      list.push_back(
          {.call =
               ExpertMatmulArgs{.w = Shaped(type, 6, cols), .experts = 2, .act = act, .rows = 2},
           .refused = true});
    });
    if (sweep == Sweep::kSpeed) continue;
    const Weight w = Shaped(DType::kQ8_0, 12, 64);
    const auto refuse = [&](ExpertMatmulArgs args) {
      args.act = act;
      args.rows = 6;
      list.push_back({.call = args, .refused = true});
    };
    for (const std::int64_t experts : {0, -1, 5}) refuse({.w = w, .experts = experts});
    refuse({.w = w, .experts = 2, .first = -1, .n = 3});
    refuse({.w = w, .experts = 2, .first = 3, .n = 4});
    refuse({.w = w, .experts = 2, .first = 3});
    refuse({.w = w, .experts = 2, .n = 7});
    refuse({.w = w, .experts = 2, .n = -1});
    refuse({.w = w, .experts = 2, .x_repeat = 0});
    refuse({.w = w, .experts = 2, .x_repeat = 4});
  }
  if (sweep == Sweep::kSpeed) return;
  for (const std::int64_t rows : {16, 40, 100}) {
    list.push_back({.call = ExpertMatmulArgs{
                        .w = Shaped(DType::kBF16, 4 * 17, 63), .experts = 4, .rows = rows}});
  }
  // Blocks of scales that begin anew with each expert, all rows of one and some.
  for (const std::int64_t expert_rows : {1, 100, 128, 192, 300}) {
    const Weight w = ScaledBlocks(4, expert_rows, 200);
    list.push_back({.call = ExpertMatmulArgs{.w = w, .experts = 4, .rows = 5}});
    list.push_back({.call = ExpertMatmulArgs{.w = w,
                                             .experts = 4,
                                             .first = expert_rows / 2,
                                             .n = expert_rows - expert_rows / 2,
                                             .x_repeat = 2,
                                             .rows = 6}});
  }
  // Some rows of each expert, and rows of x that several experts share.
  for (const auto& [type, act] : {std::pair(DType::kF32, ActType::kF32),
                                  {DType::kQ8_0, ActType::kF32},
                                  {DType::kF8_E4M3, ActType::kF32},
                                  {DType::kQ8_0, ActType::kQ15},
                                  {DType::kQ4_K, ActType::kQ15}}) {
    std::int64_t turn = 0;
    for (const std::int64_t n : {1, 3, 16, 17, 20}) {
      for (const std::int64_t x_repeat : {1, 2, 8}) {
        ExpertMatmulArgs args{.w = Shaped(type, 3 * 40, 256),
                              .experts = 3,
                              .first = 5 * (turn % 5),
                              .n = n,
                              .x_repeat = x_repeat,
                              .act = act,
                              .rows = x_repeat * (turn % 4)};
        list.push_back({.call = args, .optional = turn++ % 2 == 0});
      }
    }
  }
}

void Bind(Binder& b, const OpCase& c, ExpertMatmulArgs& a) {
  const std::int64_t x_rows = a.x_repeat > 0 ? a.rows / a.x_repeat : 0;
  b.FillWeight("weight", a.w);
  if (a.act == ActType::kQ15) {
    a.q = b.Quantised(x_rows, a.w.cols);
  } else {
    a.x = b.Floats("x", x_rows * a.w.cols);
  }
  a.ids = b.Ids("ids", a.rows, a.experts);
  if (c.optional) a.bias = b.Floats("bias", a.w.rows);
  a.out = b.Output("out", a.rows * ExpertOutputs(a));
  b.Rounding(a.w.cols, SumScale(a.w.cols, b.largest_weight()));
}

std::string Label(const ExpertMatmulArgs& a) {
  std::string label =
      Named(a.w) + Acts(a.act) + ", experts " + Text(a.experts) + ", rows " + Text(a.rows);
  if (a.n != 0 || a.first != 0) label += ", " + Text(a.n) + " outputs from " + Text(a.first);
  if (a.x_repeat != 1) label += ", " + Text(a.x_repeat) + " to a row of x";
  return label;
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
