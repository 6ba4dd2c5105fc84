#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/op_facts.h"
#include "ops/shape_check.h"
#include "ops/shape_names.h"

namespace vt {
namespace {

Support CheckShape(const FusedNormRopeArgs& a) {
  return ShapeCheck()
      .AtLeast("rows", a.rows, 0)
      .AtLeast("latent", a.latent, 1)
      .AtLeast("pairs", a.pairs, 0);
}

OpOutput Output(const FusedNormRopeArgs& a) { return {a.x, a.rows * (a.latent + 2 * a.pairs)}; }

OpShape Shape(const FusedNormRopeArgs& a) {
  return {.type = {},
          .form = FormOf(a.layout),
          .sizes = {{"rows", a.rows}, {"latent", a.latent}, {"pairs", a.pairs}}};
}

std::vector<AnyArgs> Compose(const FusedNormRopeArgs& a) {
  const std::int64_t stride = a.latent + 2 * a.pairs;
  return {RmsNormArgs{.x = a.x,
                      .weight = a.weight,
                      .out = a.x,
                      .rows = a.rows,
                      .cols = a.latent,
                      .eps = a.eps,
                      .stride = stride},
          RopeArgs{.x = a.x ? a.x + a.latent : nullptr,
                   .table = a.table,
                   .rows = a.rows,
                   .heads = 1,
                   .head_dim = 2 * a.pairs,
                   .pairs = a.pairs,
                   .layout = a.layout,
                   .stride = stride}};
}

void AddCases(CaseList& list, Sweep sweep) {
  FusedNormRopeArgs args;
  ForEachShape(sweep, [&](std::int64_t rows, std::int64_t latent, std::int64_t turn) {
    args.rows = rows;
    args.latent = latent;
    args.pairs = Pick<std::int64_t>(turn, {1, 32, 5, 16, 17});
    args.layout = Pick(turn, {RopeLayout::kInterleaved, RopeLayout::kHalf});
    list.push_back({.call = args, .optional = turn % 4 != 1});
  });
  AddRefused(list, sweep, FusedNormRopeArgs{.rows = 2, .latent = 0, .pairs = 4});
}

void Bind(Binder& b, const OpCase& c, FusedNormRopeArgs& a) {
  a.x = b.Changed("x", a.rows * (a.latent + 2 * a.pairs));
  if (c.optional) a.weight = b.Floats("weight", a.latent);
  a.table = b.Floats("table", a.rows * 2 * a.pairs);
  b.Rounding(a.latent + 2, 1);
}

std::string Label(const FusedNormRopeArgs& a) {
  return Cross(a.rows, a.latent) + ", pairs " + Text(a.pairs) + Layout(a.layout);
}

}  // namespace

constexpr OpFacts<FusedNormRopeArgs> kFusedNormRopeFacts = {
    .meaning = "rms_norm of a latent and rope of the key that heads share, in place",
    .check_shape = CheckShape,
    .output = Output,
    .shape = Shape,
    .compose = Compose,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
