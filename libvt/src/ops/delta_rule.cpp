#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/cases/state_rows.h"
#include "ops/op_facts.h"
#include "ops/shape_check.h"

namespace vt {
namespace {

Support CheckShape(const DeltaRuleArgs& a) {
  return ShapeCheck()
      .AtLeast("rows", a.rows, 0)
      .AtLeast("heads", a.heads, 1)
      .AtLeast("key_heads", a.key_heads, 1)
      .Multiple("heads", a.heads, a.key_heads, "key_heads")
      .AtLeast("key_dim", a.key_dim, 1)
      .AtLeast("value_dim", a.value_dim, 1)
      .AtMost("key_heads * key_dim", a.key_heads * a.key_dim, "qkv_stride", a.qkv_stride)
      .AtMost("heads * value_dim", a.heads * a.value_dim, "qkv_stride", a.qkv_stride);
}

OpOutput Output(const DeltaRuleArgs& a) { return {a.out, a.rows * a.heads * a.value_dim}; }

OpShape Shape(const DeltaRuleArgs& a) {
  return {.type = {},
          .form = a.interleaved_keys ? "interleaved" : "",
          .sizes = {{"rows", a.rows},
                    {"heads", a.heads},
                    {"key_heads", a.key_heads},
                    {"key_dim", a.key_dim},
                    {"value_dim", a.value_dim}}};
}

// A model's row: q, k and v beside each other.
std::int64_t RowOf(const DeltaRuleArgs& a) {
  return 2 * a.key_heads * a.key_dim + a.heads * a.value_dim;
}

void AddCases(CaseList& list, Sweep sweep) {
  const bool every = sweep == Sweep::kEveryShape;
  ForEachShape(sweep, [&](std::int64_t rows, std::int64_t size, std::int64_t turn) {
    DeltaRuleArgs a{.rows = rows};
    a.key_heads = every ? Pick<std::int64_t>(turn, {1, 2, 3}) : 16;
    a.heads = a.key_heads * (every ? Pick<std::int64_t>(turn, {1, 2}) : 2);
    a.interleaved_keys = turn % 4 == 1;
    a.key_dim = every ? size : 128;
    a.value_dim = every ? Pick<std::int64_t>(turn, {4, 1, 7, 16}) : 128;
    a.qkv_stride = RowOf(a) + (turn % 3 == 1 ? 9 : 0);
    list.push_back({.call = a});
  });
  const DeltaRuleArgs good{
      .qkv_stride = 64, .rows = 2, .heads = 4, .key_heads = 2, .key_dim = 8, .value_dim = 8};
  const auto refuse = [&](auto change) {
    DeltaRuleArgs a = good;
    change(a);
    AddRefused(list, sweep, a);
  };
  refuse([](DeltaRuleArgs& a) { a.rows = -1; });
  refuse([](DeltaRuleArgs& a) { a.key_heads = 3; });
  refuse([](DeltaRuleArgs& a) { a.key_heads = 0; });
  refuse([](DeltaRuleArgs& a) { a.key_dim = 0; });
  refuse([](DeltaRuleArgs& a) { a.value_dim = 0; });
  refuse([](DeltaRuleArgs& a) { a.qkv_stride = 31; });
  refuse([](DeltaRuleArgs& a) { a.key_dim = 33; });
}

void Bind(Binder& b, const OpCase&, DeltaRuleArgs& a) {
  const StateRows rows = SeveralSequences(a.rows);
  const float* qkv = b.Floats("q, k and v", Extent(a.rows, RowOf(a), a.qkv_stride));
  a.q = qkv;
  a.k = a.q + a.key_heads * a.key_dim;
  a.v = a.k + a.key_heads * a.key_dim;
  a.alpha = b.Floats("alpha", a.rows * a.heads, -3, 3);
  a.beta = b.Floats("beta", a.rows * a.heads, -3, 3);
  a.dt_bias = b.Floats("dt bias", a.heads, -1, 1);
  a.a = b.Floats("a", a.heads, -4, 0);
  a.row = b.Values<StateRow>("rows", rows.rows);
  a.state = b.Changed("state", rows.slots * a.heads * a.value_dim * a.key_dim);
  a.out = b.Output("out", a.rows * a.heads * a.value_dim);
  // v less what k brings back of a state of values below one.
  b.Rounding(2 * a.key_dim + 4 * a.rows + 8, SumScale(a.key_dim, 1));
}

std::string Label(const DeltaRuleArgs& a) {
  return "rows " + Text(a.rows) + ", heads " + Text(a.heads) + "/" + Text(a.key_heads) + ", dims " +
         Text(a.key_dim) + "/" + Text(a.value_dim) + (a.interleaved_keys ? ", interleaved" : "") +
         Strided(a.qkv_stride);
}

}  // namespace

constexpr OpFacts<DeltaRuleArgs> kDeltaRuleFacts = {
    .meaning = "the gated delta rule of linear attention",
    .check_shape = CheckShape,
    .output = Output,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
