#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/cases/weight_cases.h"
#include "ops/op_facts.h"
#include "ops/shape_names.h"

namespace vt {
namespace {

OpOutput Output(const MatmulFp8ChannelArgs& a) { return {a.out, a.m * a.w.rows}; }

DType WeightType(const MatmulFp8ChannelArgs& a) { return a.w.type; }

OpShape Shape(const MatmulFp8ChannelArgs& a) { return ProductShape(a.w, "f32", a.m); }

std::vector<AnyArgs> Compose(const MatmulFp8ChannelArgs& a) {
  const Weight decoded{.type = DType::kF32, .rows = a.w.rows, .cols = a.w.cols, .data = a.scratch};
  return {DequantFp8ChannelArgs{.w = a.w, .out = a.scratch},
          MatmulArgs{.w = decoded, .x = a.x, .m = a.m, .out = a.out}};
}

void AddCases(CaseList& list, Sweep sweep) {
  MatmulFp8ChannelArgs args;
  ForEachType(sweep, [&](DType type, std::int64_t cols, std::int64_t turn) {
    args.w = Shaped(type, OutputsAt(sweep, turn), cols);
    args.m = BatchAt(sweep, turn);
    list.push_back({.call = args, .refused = type != DType::kF8_E4M3});
  });
}

void Bind(Binder& b, const OpCase&, MatmulFp8ChannelArgs& a) {
  b.FillWeight("weight", a.w);
  a.x = b.Floats("x", a.m * a.w.cols);
  a.out = b.Output("out", a.m * a.w.rows);
  a.scratch = b.Scratch(ScratchFloats(a));
  b.Rounding(a.w.cols, SumScale(a.w.cols, b.largest_weight()));
}

std::string Label(const MatmulFp8ChannelArgs& a) { return Named(a.w) + ", m " + Text(a.m); }

}  // namespace

constexpr OpFacts<MatmulFp8ChannelArgs> kMatmulFp8ChannelFacts = {
    .meaning = "matmul with an fp8 weight with one scale per row",
    .output = Output,
    .weight_type = WeightType,
    .shape = Shape,
    .compose = Compose,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
