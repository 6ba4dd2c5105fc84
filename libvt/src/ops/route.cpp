#include <algorithm>

#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/op_facts.h"
#include "ops/shape_check.h"

namespace vt {
namespace {

std::string_view FormOf(Gating gating) {
  switch (gating) {
    case Gating::kSoftmax:
      return "softmax";
    case Gating::kSigmoid:
      return "sigmoid";
    case Gating::kSoftmaxOfChosen:
      break;
  }
  return "softmax of chosen";
}

Support CheckShape(const RouteArgs& a) {
  return ShapeCheck()
      .AtLeast("rows", a.rows, 0)
      .AtLeast("experts", a.experts, 1)
      .AtMost("experts", a.experts, "the most experts of a layer", kMostExperts)
      .AtLeast("used", a.used, 1)
      .AtMost("used", a.used, "experts", a.experts)
      .AtLeast("groups", a.groups, 1)
      .Multiple("experts", a.experts, a.groups, "groups")
      .AtLeast("groups_used", a.groups_used, 1)
      .AtMost("groups_used", a.groups_used, "groups", a.groups)
      .AtMost("used", a.used, "experts of the groups used",
              a.groups > 0 ? a.experts / a.groups * a.groups_used : 0);
}

OpOutput Output(const RouteArgs& a) { return {a.weights, a.rows * a.used}; }

OpShape Shape(const RouteArgs& a) {
  OpShape shape{.type = {},
                .form = FormOf(a.gating),
                .sizes = {{"rows", a.rows}, {"experts", a.experts}, {"used", a.used}}};
  if (a.groups != 1) {
    shape.sizes.push_back({"groups", a.groups});
    shape.sizes.push_back({"groups_used", a.groups_used});
  }
  return shape;
}

RouteArgs RouteOf(std::int64_t experts, std::int64_t turn) {
  return {.rows = Pick<std::int64_t>(turn, {1, 3, 0, 7}),
          .experts = experts,
          .used = std::min(experts, Pick<std::int64_t>(turn, {1, 2, 8, 4, experts})),
          .gating = Pick(turn, {Gating::kSoftmax, Gating::kSigmoid, Gating::kSoftmaxOfChosen}),
          .normalize = turn % 2 == 0,
          .scale = Pick(turn, {1.0f, 2.5f, 0.5f})};
}

void AddCases(CaseList& list, Sweep sweep) {
  if (sweep == Sweep::kSpeed) {
    list.push_back({.call = RouteArgs{.rows = 256, .experts = 128, .used = 8, .normalize = true},
                    .optional = false});
    return;
  }
  std::int64_t turn = 0;
  const auto add = [&](std::int64_t experts) {
    list.push_back({.call = RouteOf(experts, turn), .optional = turn % 4 >= 2});
    ++turn;
  };
  for (const std::int64_t size : SizesOf(sweep)) {
    add(size);
    add(size);
  }
  for (const std::int64_t experts : {60, 64, 72, 128, 160, 384, 512, 1024}) add(experts);
  for (const std::int64_t size : {1, 2, 5, 16, 20, 32, 100}) {
    for (const std::int64_t groups : {2, 4, 8}) {
      RouteArgs args = RouteOf(size * groups, turn);
      args.groups = groups;
      args.groups_used = Pick<std::int64_t>(turn, {1, groups / 2, groups});
      args.used = std::min(args.used, size * args.groups_used);
      list.push_back({.call = args, .optional = turn++ % 2 == 0});
    }
  }
  const auto refuse = [&](const RouteArgs& args) { AddRefused(list, sweep, args); };
  refuse({.rows = -1, .experts = 8, .used = 2});
  refuse({.rows = 2, .experts = 0, .used = 1});
  refuse({.rows = 2, .experts = kMostExperts + 1, .used = 2});
  refuse({.rows = 2, .experts = 8, .used = 0});
  refuse({.rows = 2, .experts = 8, .used = 9});
  refuse({.rows = 2, .experts = 8, .used = 2, .groups = 0});
  refuse({.rows = 2, .experts = 8, .used = 2, .groups = 3});
  refuse({.rows = 2, .experts = 8, .used = 2, .groups = 4, .groups_used = 0});
  refuse({.rows = 2, .experts = 8, .used = 2, .groups = 4, .groups_used = 5});
  refuse({.rows = 2, .experts = 8, .used = 5, .groups = 4, .groups_used = 2});
}

void Bind(Binder& b, const OpCase& c, RouteArgs& a) {
  // Few different values, so that there are ties.
  std::vector<float> logits(SizeOf(a.rows) * SizeOf(a.experts));
  for (float& logit : logits) logit = static_cast<float>(b.random().Below(65)) / 8 - 4;
  a.logits = b.Values<float>("logits", logits);
  if (c.optional) a.selection_bias = b.Floats("selection bias", a.experts, -0.1f, 0.1f);
  const std::int64_t chosen = a.rows * a.used;
  a.ids = static_cast<std::int32_t*>(b.OutputBytes("ids", chosen * 4));
  a.weights = b.Output("weights", chosen);
  b.Rounding(a.experts, a.scale);
}

std::string Label(const RouteArgs& a) {
  std::string label = Text(a.rows) + ", " + Text(a.used) + " of " + Text(a.experts) + ", " +
                      std::string(FormOf(a.gating));
  if (a.groups != 1) label += ", " + Text(a.groups_used) + " of " + Text(a.groups) + " groups";
  if (a.normalize) label += ", normalised";
  return label;
}

}  // namespace

constexpr OpFacts<RouteArgs> kRouteFacts = {
    .meaning = "the chosen experts of each row and their weights",
    .check_shape = CheckShape,
    .output = Output,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
