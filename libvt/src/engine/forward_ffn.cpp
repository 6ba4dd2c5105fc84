// The feed-forward of a layer: dense, a mixture of experts, or both side by side.
#include "engine/forward_pass.h"

namespace vt {
namespace {

Activation PlainActivation(FfnActivation act) {
  switch (act) {
    case FfnActivation::kGelu:
      return Activation::kGelu;
    case FfnActivation::kRelu:
      return Activation::kRelu;
    case FfnActivation::kReluSquared:
      return Activation::kReluSquared;
    case FfnActivation::kSilu:
    case FfnActivation::kClampedSilu:
      break;
  }
  return Activation::kSilu;
}

}  // namespace

Status Pass::GatedActivation(FfnKind kind, FfnActivation act, float* gate, float* up,
                             std::int64_t count) {
  if (kind == FfnKind::kPlain) {
    return ops_->Run(
        ActivateArgs{.x = up, .out = gate, .count = count, .act = PlainActivation(act)});
  }
  switch (act) {
    case FfnActivation::kSilu:
      return ops_->Run(SiluMulArgs{.gate = gate, .up = up, .out = gate, .count = count});
    case FfnActivation::kGelu:
      return ops_->Run(GeluMulArgs{.gate = gate, .up = up, .out = gate, .count = count});
    case FfnActivation::kReluSquared:
      VT_RETURN_IF_ERROR(ops_->Run(
          ActivateArgs{.x = gate, .out = gate, .count = count, .act = Activation::kReluSquared}));
      return ops_->Run(
          MulArgs{.a = gate, .b = up, .out = gate, .rows = 1, .cols = count, .b_cols = count});
    case FfnActivation::kRelu:
    case FfnActivation::kClampedSilu:
      break;
  }
  return ops_->Run(GatedActArgs{
      .gate = gate,
      .up = up,
      .out = gate,
      .count = count,
      .act = act == FfnActivation::kRelu ? GatedActKind::kRelu : GatedActKind::kClampedSwiglu});
}

Status Pass::Dense(int index, const LayerSpec& layer, Operand& input) {
  if (spec_.ffn == FfnKind::kGated) {
    ops_->At(index, "ffn_gate");
    VT_RETURN_IF_ERROR(Matmul(input, layer.gate, b_->gate));
  }
  ops_->At(index, "ffn_up");
  VT_RETURN_IF_ERROR(Matmul(input, layer.up, b_->up));
  ops_->At(index, "ffn_act");
  return GatedActivation(spec_.ffn, spec_.activation, b_->gate, b_->up, rows_ * layer.ffn_width);
}

Status Pass::FeedForward(int index, const LayerSpec& layer) {
  const bool dense = static_cast<bool>(layer.up);
  const bool experts = layer.moe.experts > 0;
  if (!dense && !experts) return {};
  Operand input = Input(b_->stream, spec_.width);
  if (layer.parallel_residual) {
    input.x = b_->normed;
  } else if (layer.ffn_norm) {
    ops_->At(index, "ffn_norm");
    VT_RETURN_IF_ERROR(
        Norm(layer.ffn_norm, spec_.norm, b_->stream, b_->normed, rows_, spec_.width));
    input.x = b_->normed;
  }
  if (!experts) {
    VT_RETURN_IF_ERROR(Dense(index, layer, input));
    Operand inner = Input(b_->gate, layer.ffn_width);
    return AddBranch(index, "ffn_down", inner, layer.down, layer.ffn_post_norm);
  }
  if (!dense) {
    VT_RETURN_IF_ERROR(Experts(index, layer, input));
    ops_->At(index, "ffn_out");
    return AddResult(b_->moe, layer.ffn_post_norm);
  }
  VT_RETURN_IF_ERROR(Dense(index, layer, input));
  ops_->At(index, "ffn_down");
  Operand inner = Input(b_->gate, layer.ffn_width);
  VT_RETURN_IF_ERROR(Matmul(inner, layer.down, b_->branch));
  if (layer.dense_post_norm) {
    VT_RETURN_IF_ERROR(
        Norm(layer.dense_post_norm, spec_.norm, b_->branch, b_->branch, rows_, spec_.width));
  }
  Operand expert_input = Input(input.x, spec_.width);
  if (layer.moe.norm) {
    ops_->At(index, "ffn_moe_norm");
    VT_RETURN_IF_ERROR(
        Norm(layer.moe.norm, spec_.norm, b_->stream, b_->moe_in, rows_, spec_.width));
    expert_input.x = b_->moe_in;
  }
  VT_RETURN_IF_ERROR(Experts(index, layer, expert_input));
  ops_->At(index, "ffn_moe_out");
  if (layer.moe.post_norm) {
    VT_RETURN_IF_ERROR(Norm(layer.moe.post_norm, spec_.norm, b_->moe, b_->moe, rows_, spec_.width));
  }
  ops_->At(index, "ffn_out");
  VT_RETURN_IF_ERROR(ops_->Run(
      AddArgs{.a = b_->branch, .b = b_->moe, .out = b_->moe, .count = rows_ * spec_.width}));
  if (layer.moe.branch_scale != 1.0f) {
    VT_RETURN_IF_ERROR(ops_->Run(
        ScaleCapArgs{.x = b_->moe, .count = rows_ * spec_.width, .scale = layer.moe.branch_scale}));
  }
  return AddResult(b_->moe, layer.ffn_post_norm);
}

}  // namespace vt
