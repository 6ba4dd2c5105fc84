#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/op_facts.h"
#include "ops/row_facts.h"

namespace vt {
namespace {

OpOutput Output(const QuantizeArgs& a) { return {a.out.scales, a.rows * (a.cols / kQ15Group)}; }

void AddCases(CaseList& list, Sweep sweep) {
  QuantizeArgs args;
  ForEachShape(sweep, [&](std::int64_t rows, std::int64_t cols, std::int64_t) {
    args.rows = rows;
    args.cols = cols;
    list.push_back({.call = args, .refused = cols % kQ15Group != 0});
  });
  if (sweep == Sweep::kSpeed) return;
  for (const std::int64_t groups : {2, 3, 5, 7, 9}) {
    args.rows = groups;
    args.cols = groups * kQ15Group;
    list.push_back({args});
  }
}

void Bind(Binder& b, const OpCase&, QuantizeArgs& a) {
  a.x = b.Floats("x", a.rows * a.cols);
  const std::int64_t count = a.rows * a.cols, groups = a.rows * (a.cols / kQ15Group);
  a.out.high = static_cast<std::int8_t*>(b.OutputBytes("high digits", count));
  a.out.low = static_cast<std::int8_t*>(b.OutputBytes("low digits", count));
  a.out.scales = b.Output("scales", groups);
  a.out.sums = static_cast<std::int32_t*>(b.OutputBytes("sums", groups * 4));
}

}  // namespace

constexpr OpFacts<QuantizeArgs> kQuantizeFacts = {
    .meaning = "activations to 15 bits, one scale per 32 values",
    .output = Output,
    .shape = RowsShape,
    .add_cases = AddCases,
    .bind = Bind,
};

}  // namespace vt
