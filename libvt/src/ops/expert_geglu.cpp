#include <utility>

#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/cases/weight_cases.h"
#include "ops/op_facts.h"
#include "ops/shape_names.h"

namespace vt {
namespace {

constexpr DType kExpertTypes[] = {DType::kBF16, DType::kF8_E4M3};

Support Refused(std::string reason) { return {false, std::move(reason)}; }

Support CheckShape(const ExpertGegluArgs& a) {
  if (a.gate.type != DType::kBF16 && a.gate.type != DType::kF8_E4M3) {
    return Refused("expert weights of type " + std::string(NameOf(a.gate.type)) +
                   " are not taken (bf16 or f8_e4m3)");
  }
  if (a.up.type != a.gate.type || a.up.rows != a.gate.rows || a.up.cols != a.gate.cols) {
    return Refused("gate and up must have one type and shape");
  }
  if (a.rows > kMostIndexedRows) {
    return Refused("at most " + std::to_string(kMostIndexedRows) + " rows are indexed, seen " +
                   std::to_string(a.rows) + "; sort more by expert and use expert_matmul");
  }
  if (a.experts < 1 || a.gate.rows % a.experts != 0) {
    return Refused("rows of the weight (" + std::to_string(a.gate.rows) +
                   ") are not a multiple of experts (" + std::to_string(a.experts) + ")");
  }
  return {};
}

OpOutput Output(const ExpertGegluArgs& a) { return {a.out, a.rows * (a.gate.rows / a.experts)}; }

DType WeightType(const ExpertGegluArgs& a) { return a.gate.type; }

OpShape Shape(const ExpertGegluArgs& a) { return ExpertShape(a.gate, "f32", a.rows, a.experts); }

std::vector<AnyArgs> Compose(const ExpertGegluArgs& a) {
  const auto matmul = [&](const Weight& w, float* out) {
    return ExpertMatmulArgs{
        .w = w, .experts = a.experts, .x = a.x, .ids = a.ids, .rows = a.rows, .out = out};
  };
  return {matmul(a.gate, a.out), matmul(a.up, a.scratch),
          GeluMulArgs{.gate = a.out,
                      .up = a.scratch,
                      .out = a.out,
                      .count = a.rows * (a.gate.rows / a.experts)}};
}

void AddCases(CaseList& list, Sweep sweep) {
  ExpertGegluArgs args;
  ForEachType(sweep, [&](DType type, std::int64_t cols, std::int64_t turn) {
    args.experts = ExpertsAt(sweep, turn);
    args.gate = args.up = Shaped(type, args.experts * OutputsAt(sweep, turn), cols);
    args.rows = FewRowsAt(sweep, turn);
    const bool taken = type == DType::kBF16 || type == DType::kF8_E4M3;
    list.push_back({.call = args, .refused = !taken});
  });
  if (sweep == Sweep::kSpeed) return;
  const Weight scaled = ScaledBlocks(3, 140, 200);
  list.push_back({.call = ExpertGegluArgs{.gate = scaled, .up = scaled, .experts = 3, .rows = 5}});
  for (const DType type : kExpertTypes) {
    const auto add = [&](std::int64_t experts, std::int64_t rows, Weight up, bool refused) {
      args = {.gate = Shaped(type, 12, 33), .up = up, .experts = experts, .rows = rows};
      list.push_back({.call = args, .refused = refused});
    };
    const Weight up = Shaped(type, 12, 33);
    add(4, kMostIndexedRows, up, false);
    add(4, kMostIndexedRows + 1, up, true);
    add(0, 2, up, true);
    add(-4, 2, up, true);
    add(5, 2, up, true);
    add(4, 2, Shaped(type, 12, 34), true);
    add(4, 2, Shaped(type, 8, 33), true);
    add(4, 2, Shaped(type == DType::kBF16 ? DType::kF8_E4M3 : DType::kBF16, 12, 33), true);
  }
}

void Bind(Binder& b, const OpCase&, ExpertGegluArgs& a) {
  b.FillWeight("gate", a.gate);
  const double gate = SumScale(a.gate.cols, b.largest_weight());
  b.FillWeight("up", a.up);
  a.x = b.Floats("x", a.rows * a.gate.cols);
  a.ids = b.Ids("ids", a.rows, a.experts);
  a.out = b.Output("out", ScratchFloats(a));
  a.scratch = b.Scratch(ScratchFloats(a));
  b.Rounding(2 * a.gate.cols, gate * SumScale(a.up.cols, b.largest_weight()));
}

std::string Label(const ExpertGegluArgs& a) {
  return Named(a.gate) + " and " + std::string(NameOf(a.up.type)) + " " + Named(a.up) +
         ", experts " + Text(a.experts) + ", rows " + Text(a.rows);
}

}  // namespace

constexpr OpFacts<ExpertGegluArgs> kExpertGegluFacts = {
    .meaning = "gelu(gate) * up with each row's own expert, for few rows",
    .check_shape = CheckShape,
    .output = Output,
    .weight_type = WeightType,
    .shape = Shape,
    .compose = Compose,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
