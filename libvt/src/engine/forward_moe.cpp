// A mixture of experts: the router's choice, the chosen experts, the shared one.
//
// Few rows go by pairs of row and expert as they are; from kFewestGroupedRows on, and where experts
// take turns in slots, the pairs are sorted by expert first. A row's result is the same to the bit
// either way.
#include <cmath>

#include "engine/forward_pass.h"
#include "ops/matmul_policy.h"

namespace vt {
namespace {

Gating ToGating(RouterGating gating) {
  switch (gating) {
    case RouterGating::kSigmoid:
      return Gating::kSigmoid;
    case RouterGating::kSoftmaxOfChosen:
      return Gating::kSoftmaxOfChosen;
    case RouterGating::kSoftmax:
      break;
  }
  return Gating::kSoftmax;
}

}  // namespace

Status Pass::RouterLogits(int index, const LayerSpec& layer, Operand& input) {
  const MoeSpec& moe = layer.moe;
  ops_->At(index, "ffn_gate_inp");
  Operand routed = input;
  if (moe.router_input == RouterInput::kStream) {
    VT_RETURN_IF_ERROR(
        RmsNorm(w_->Floats(moe.router_scale), b_->stream, b_->router_in, rows_, spec_.width));
    VT_RETURN_IF_ERROR(
        ops_->Run(ScaleCapArgs{.x = b_->router_in,
                               .count = rows_ * spec_.width,
                               .scale = 1.0f / std::sqrt(static_cast<float>(spec_.width))}));
    routed = Input(b_->router_in, spec_.width);
  }
  VT_RETURN_IF_ERROR(Matmul(routed, moe.router, b_->router_logits));
  if (moe.router_softcap == 0.0f) return {};
  return ops_->Run(ScaleCapArgs{
      .x = b_->router_logits, .count = rows_ * moe.experts, .cap = moe.router_softcap});
}

Status Pass::Route(int index, const MoeSpec& moe, const float** weights) {
  ops_->At(index, "ffn_route");
  VT_RETURN_IF_ERROR(ops_->Run(RouteArgs{.logits = b_->router_logits,
                                         .selection_bias = w_->Floats(moe.selection_bias),
                                         .rows = rows_,
                                         .experts = moe.experts,
                                         .used = moe.used,
                                         .groups = moe.groups,
                                         .groups_used = moe.groups_used,
                                         .gating = ToGating(moe.gating),
                                         .normalize = moe.normalize,
                                         .scale = moe.weight_scale,
                                         .ids = b_->expert_ids,
                                         .weights = b_->expert_weights}));
  *weights = b_->expert_weights;
  if (!moe.expert_scale) return {};
  // Into a buffer of its own: whoever reads expert_weights again finds them unscaled.
  *weights = b_->scaled_weights;
  return ops_->Run(ApplyExpertScaleArgs{.x = b_->expert_weights,
                                        .scales = w_->Floats(moe.expert_scale),
                                        .ids = b_->expert_ids,
                                        .experts = moe.experts,
                                        .rows = rows_ * moe.used,
                                        .cols = 1,
                                        .out = b_->scaled_weights,
                                        .scratch = b_->router_logits});
}

Status Pass::ExpertProduct(int index, const char* place, const MoeSpec& moe, const ExpertRef& w,
                           Operand& in, const Choice& choice, float* out) {
  ops_->At(index, place);
  if (const int side = SideOf(w.weight); side != at_) {
    const std::int64_t pairs = in.rows * choice.repeat;
    VT_RETURN_IF_ERROR(Carry(choice.ids, pairs, side));
    const Choice chosen{Twin(choice.ids, side), choice.repeat, choice.experts};
    return Away(side, in, out, pairs * w.rows, false, [&](Operand& there, float* result) {
      return ExpertProduct(index, place, moe, w, there, chosen, result);
    });
  }
  Weight weight = w_->Matrix(w.weight);
  weight.rows = weight.rows / moe.experts * choice.experts;
  const ExpertMatmulArgs args{
      .w = weight,
      .experts = choice.experts,
      .first = w.first,
      .n = w.rows,
      .x_repeat = choice.repeat,
      .bias = w_->Floats(w.bias),
      .act = MatmulActType(weight.type, in.cols, c_.plan.options.exact, ops_->device_kind()),
      .x = in.x,
      .q = b_->quantized,
      .ids = choice.ids,
      .rows = in.rows * choice.repeat,
      .out = out};
  if (args.act == ActType::kQ15) VT_RETURN_IF_ERROR(Quantize(in));
  return ops_->Run(args);
}

Status Pass::SharedInner(int index, const MoeSpec& moe, Operand& input) {
  if (moe.shared_width == 0) return {};
  if (moe.shared_router) {
    ops_->At(index, "ffn_gate_inp_shexp");
    VT_RETURN_IF_ERROR(Matmul(input, moe.shared_router, b_->shared_scale));
  }
  if (moe.ffn == FfnKind::kGated) {
    ops_->At(index, "ffn_gate_shexp");
    VT_RETURN_IF_ERROR(Matmul(input, moe.shared_gate, b_->shared_gate));
  }
  ops_->At(index, "ffn_up_shexp");
  VT_RETURN_IF_ERROR(Matmul(input, moe.shared_up, b_->shared_up));
  ops_->At(index, "ffn_shexp_act");
  return GatedActivation(moe.ffn, moe.activation, b_->shared_gate, b_->shared_up,
                         rows_ * moe.shared_width);
}

Status Pass::SharedOuter(int index, const MoeSpec& moe) {
  if (moe.shared_width == 0) return {};
  ops_->At(index, "ffn_down_shexp");
  Operand inner = Input(b_->shared_gate, moe.shared_width);
  if (!moe.shared_router) return Matmul(inner, moe.shared_down, b_->moe, true);
  VT_RETURN_IF_ERROR(Matmul(inner, moe.shared_down, b_->moe_in));
  VT_RETURN_IF_ERROR(ops_->Run(SigmoidMulArgs{.x = b_->moe_in,
                                              .gate = b_->shared_scale,
                                              .out = b_->moe_in,
                                              .rows = rows_,
                                              .cols = spec_.width,
                                              .gate_cols = 1}));
  return ops_->Run(
      AddArgs{.a = b_->moe, .b = b_->moe_in, .out = b_->moe, .count = rows_ * spec_.width});
}

Status Pass::ExpertPairs(int index, const MoeSpec& moe, Operand& in, const Choice& choice,
                         std::int64_t begin) {
  const std::int64_t pairs = in.rows * choice.repeat;
  const auto from = [&](float* buffer, std::int64_t cols) {
    return buffer ? buffer + begin * cols : nullptr;  // null: dry
  };
  float* gate = from(b_->pair_gate, moe.width);
  float* up = from(b_->pair_up, moe.width);
  if (moe.ffn == FfnKind::kGated) {
    VT_RETURN_IF_ERROR(ExpertProduct(index, "ffn_gate_exps", moe, moe.gate, in, choice, gate));
  }
  VT_RETURN_IF_ERROR(ExpertProduct(index, "ffn_up_exps", moe, moe.up, in, choice, up));
  ops_->At(index, "ffn_exps_act");
  VT_RETURN_IF_ERROR(GatedActivation(moe.ffn, moe.activation, gate, up, pairs * moe.width));
  Operand inner = Input(gate, moe.width, pairs);
  return ExpertProduct(index, "ffn_down_exps", moe, moe.down, inner,
                       {choice.ids, 1, choice.experts}, from(b_->pair_out, spec_.width));
}

Status Pass::RoutedExperts(int index, const MoeSpec& moe, const Operand& input,
                           const float* weights) {
  const std::int64_t pairs = rows_ * moe.used;
  const bool slots = PlaceOf(index).expert_slots > 0;
  const bool sorted = slots || rows_ >= kFewestGroupedRows;
  Choice choice{b_->expert_ids, moe.used, moe.experts};
  const std::int32_t* order = nullptr;
  if (sorted) {
    ops_->At(index, "ffn_route");
    VT_RETURN_IF_ERROR(ops_->Run(ExpertSortArgs{.ids = b_->expert_ids,
                                                .pairs = pairs,
                                                .experts = moe.experts,
                                                .order = b_->pair_order,
                                                .sorted_ids = b_->sorted_ids}));
    choice.ids = b_->sorted_ids;
    order = b_->pair_order;
  }
  Operand in = input;
  if (sorted || moe.weigh_input) {
    ops_->At(index, "ffn_gather");
    VT_RETURN_IF_ERROR(ops_->Run(ExpertGatherArgs{.x = input.x,
                                                  .order = order,
                                                  .weights = moe.weigh_input ? weights : nullptr,
                                                  .pairs = pairs,
                                                  .used = moe.used,
                                                  .cols = spec_.width,
                                                  .out = b_->pair_in}));
    in = Input(b_->pair_in, spec_.width, pairs);
    choice.repeat = 1;
  }
  VT_RETURN_IF_ERROR(slots ? PairsInSlots(index, moe, pairs) : ExpertPairs(index, moe, in, choice));
  ops_->At(index, "ffn_combine");
  VT_RETURN_IF_ERROR(ops_->Run(ExpertCombineArgs{.x = b_->pair_out,
                                                 .order = order,
                                                 .weights = moe.weigh_input ? nullptr : weights,
                                                 .rows = rows_,
                                                 .used = moe.used,
                                                 .cols = spec_.width,
                                                 .out = b_->moe}));
  return {};
}

Status Pass::Experts(int index, const LayerSpec& layer, Operand& input) {
  const MoeSpec& moe = layer.moe;
  if (moe.router_input != RouterInput::kLayer) {
    VT_RETURN_IF_ERROR(RouterLogits(index, layer, input));
  }
  const float* weights = nullptr;
  VT_RETURN_IF_ERROR(Route(index, moe, &weights));
  VT_RETURN_IF_ERROR(SharedInner(index, moe, input));
  const int home = at_;
  const int side = PlaceOf(index).experts;
  Operand there = input;
  if (side != home) {
    VT_RETURN_IF_ERROR(Carry(input.x, rows_ * spec_.width, side));
    VT_RETURN_IF_ERROR(Carry(b_->expert_ids, rows_ * moe.used, side));
    VT_RETURN_IF_ERROR(Carry(weights, rows_ * moe.used, side));
    there = Input(Twin(input.x, side), spec_.width);
    weights = Twin(weights, side);
    Enter(side);
  }
  VT_RETURN_IF_ERROR(RoutedExperts(index, moe, there, weights));
  VT_RETURN_IF_ERROR(Carry(b_->moe, rows_ * spec_.width, home));
  Enter(home);
  return SharedOuter(index, moe);
}

}  // namespace vt
