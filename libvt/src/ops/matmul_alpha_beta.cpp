#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/cases/weight_cases.h"
#include "ops/op_facts.h"
#include "ops/shape_names.h"

namespace vt {
namespace {

OpOutput Output(const MatmulAlphaBetaArgs& a) { return {a.out, a.m * a.b.rows}; }

DType WeightType(const MatmulAlphaBetaArgs& a) { return a.b.type; }

OpShape Shape(const MatmulAlphaBetaArgs& a) { return ProductShape(a.b, "f32", a.m); }

std::vector<AnyArgs> Compose(const MatmulAlphaBetaArgs& a) {
  const std::int64_t count = a.m * a.b.rows;
  const bool fresh = a.beta == 0.0f;
  std::vector<AnyArgs> calls = {
      MatmulArgs{.w = a.b, .x = a.a, .m = a.m, .out = fresh ? a.out : a.scratch}};
  if (fresh) {
    calls.push_back(ScaleCapArgs{.x = a.out, .count = count, .scale = a.alpha});
    return calls;
  }
  calls.push_back(ScaleCapArgs{.x = a.out, .count = count, .scale = a.beta});
  calls.push_back(
      AddArgs{.a = a.out, .b = a.scratch, .out = a.out, .count = count, .scale = a.alpha});
  return calls;
}

void AddCases(CaseList& list, Sweep sweep) {
  MatmulAlphaBetaArgs args;
  ForEachType(sweep, [&](DType type, std::int64_t cols, std::int64_t turn) {
    args.b = Shaped(type, OutputsAt(sweep, turn), cols);
    args.m = BatchAt(sweep, turn);
    args.alpha = Pick(turn, {1.0f, -0.5f, 2.0f, 0.125f, 0.0f});
    args.beta = Pick(turn, {0.0f, 1.0f, -0.75f, 0.5f});
    list.push_back({args});
  });
  ForEachBrokenBlock(sweep, [&](DType type, std::int64_t cols) {
    args.b = Shaped(type, 3, cols);
    args.m = 2;
    list.push_back({.call = args, .refused = true});
  });
}

void Bind(Binder& b, const OpCase&, MatmulAlphaBetaArgs& a) {
  b.FillWeight("weight", a.b);
  a.a = b.Floats("a", a.m * a.b.cols);
  a.out = a.beta == 0 ? b.Output("out", a.m * a.b.rows) : b.Changed("out", a.m * a.b.rows);
  a.scratch = b.Scratch(ScratchFloats(a));
  b.Rounding(a.b.cols, 2 + 2 * SumScale(a.b.cols, b.largest_weight()));
}

std::string Label(const MatmulAlphaBetaArgs& a) {
  return Named(a.b) + ", m " + Text(a.m) + (a.beta == 0 ? ", beta 0" : "");
}

}  // namespace

constexpr OpFacts<MatmulAlphaBetaArgs> kMatmulAlphaBetaFacts = {
    .meaning = "alpha times a matmul plus beta times what is there",
    .output = Output,
    .weight_type = WeightType,
    .shape = Shape,
    .compose = Compose,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
