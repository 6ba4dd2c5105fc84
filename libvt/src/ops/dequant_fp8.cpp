#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/cases/weight_cases.h"
#include "ops/op_facts.h"
#include "ops/shape_names.h"

namespace vt {
namespace {

OpOutput Output(const DequantFp8Args& a) { return {a.out, a.w.rows * a.w.cols}; }

DType WeightType(const DequantFp8Args& a) { return a.w.type; }

OpShape Shape(const DequantFp8Args& a) {
  return {.type = TypeName(a.w.type), .sizes = {{"n", a.w.rows}, {"k", a.w.cols}}};
}

void AddCases(CaseList& list, Sweep sweep) {
  DequantFp8Args args;
  ForEachType(sweep, [&](DType type, std::int64_t cols, std::int64_t turn) {
    args.w =
        Shaped(type, sweep == Sweep::kSpeed ? 1024 : Pick<std::int64_t>(turn, {1, 3, 0, 17}), cols);
    list.push_back({.call = args, .refused = type != DType::kF8_E4M3});
  });
  ForEachScaledBlock(sweep,
                     [&](const Weight& w) { list.push_back({.call = DequantFp8Args{.w = w}}); });
}

void Bind(Binder& b, const OpCase&, DequantFp8Args& a) {
  b.FillWeight("weight", a.w);
  a.out = b.Output("out", a.w.rows * a.w.cols);
}

std::string Label(const DequantFp8Args& a) { return Named(a.w); }

}  // namespace

constexpr OpFacts<DequantFp8Args> kDequantFp8Facts = {
    .meaning = "an fp8 weight, its scales by row or by block, to f32",
    .output = Output,
    .weight_type = WeightType,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
