#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/cases/weight_cases.h"
#include "ops/op_facts.h"
#include "ops/shape_check.h"
#include "ops/shape_names.h"

namespace vt {
namespace {

// What the composed form asks.
Support CheckScratch(const MatmulFp8Args& a) {
  return ShapeCheck().True(a.scratch_floats >= ScratchFloats(a), [&] {
    return "decodes the whole weight, and has no room for it (" + Text(ScratchFloats(a)) +
           " floats of scratch wanted, " + Text(a.scratch_floats) + " given)";
  });
}

OpOutput Output(const MatmulFp8Args& a) { return {a.out, a.m * a.w.rows}; }

DType WeightType(const MatmulFp8Args& a) { return a.w.type; }

OpShape Shape(const MatmulFp8Args& a) { return ProductShape(a.w, "f32", a.m); }

std::vector<AnyArgs> Compose(const MatmulFp8Args& a) {
  const Weight decoded{.type = DType::kF32, .rows = a.w.rows, .cols = a.w.cols, .data = a.scratch};
  return {DequantFp8Args{.w = a.w, .out = a.scratch}, MatmulArgs{.w = decoded,
                                                                 .x = a.x,
                                                                 .m = a.m,
                                                                 .bias = a.bias,
                                                                 .accumulate = a.accumulate,
                                                                 .out = a.out}};
}

void AddCases(CaseList& list, Sweep sweep) {
  const auto add = [&](const Weight& w, std::int64_t m, std::int64_t turn) {
    MatmulFp8Args args{.w = w, .m = m, .accumulate = turn % 5 == 3};
    args.scratch_floats = ScratchFloats(args);
    list.push_back({.call = args, .optional = turn % 3 == 1, .refused = w.type != DType::kF8_E4M3});
  };
  ForEachType(sweep, [&](DType type, std::int64_t cols, std::int64_t turn) {
    add(Shaped(type, OutputsAt(sweep, turn), cols), BatchAt(sweep, turn), turn);
  });
  std::int64_t turn = 0;
  ForEachScaledBlock(sweep, [&](const Weight& w) {
    add(w, BatchAt(sweep, turn), turn);
    ++turn;
  });
}

void Bind(Binder& b, const OpCase& c, MatmulFp8Args& a) {
  b.FillWeight("weight", a.w);
  a.x = b.Floats("x", a.m * a.w.cols);
  if (c.optional) a.bias = b.Floats("bias", a.w.rows);
  a.out = a.accumulate ? b.Changed("out", a.m * a.w.rows) : b.Output("out", a.m * a.w.rows);
  a.scratch = b.Scratch(a.scratch_floats);
  b.Rounding(a.w.cols, SumScale(a.w.cols, b.largest_weight()));
}

std::string Label(const MatmulFp8Args& a) {
  return Named(a.w) + ", m " + Text(a.m) + (a.accumulate ? ", accumulated" : "");
}

}  // namespace

constexpr OpFacts<MatmulFp8Args> kMatmulFp8Facts = {
    .meaning = "matmul with an fp8 weight, its scales by row or by block",
    .check_shape = CheckScratch,
    .output = Output,
    .weight_type = WeightType,
    .shape = Shape,
    .compose = Compose,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
