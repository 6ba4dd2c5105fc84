// Keys and tensors of a mixture of experts.
#include "models/spec_builder.h"

namespace vt {
namespace {

constexpr std::uint64_t kMostExperts = 1u << 16;
constexpr std::uint64_t kMostWidth = 1u << 24;

std::int64_t Signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

Status SpecBuilder::ReadMoeSizes(ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const auto experts, Count("expert_count", 0, kMostExperts));
  if (experts.value_or(0) == 0) return {};
  VT_ASSIGN_OR_RETURN(const auto lead, Count("leading_dense_block_count", 0, layer_count_));
  leading_dense_ = lead.value_or(0);
  VT_ASSIGN_OR_RETURN(const auto step, Count("interleave_moe_layer_step", 0, kMostExperts));
  moe_step_ = step.value_or(1);
  VT_ASSIGN_OR_RETURN(const auto used, CountPerLayer("expert_used_count", 0, *experts));
  if (!used) {
    return CorruptError("key \"" + Key("expert_used_count") + "\": missing (allowed 1 to " +
                        std::to_string(*experts) + ")");
  }
  VT_ASSIGN_OR_RETURN(const auto width, CountPerLayer("expert_feed_forward_length", 0, kMostWidth));
  VT_ASSIGN_OR_RETURN(const auto gating, Count("expert_gating_func", 0, 3));
  VT_ASSIGN_OR_RETURN(const auto normalize, Flag("expert_weights_norm"));
  VT_ASSIGN_OR_RETURN(const double scale, NumberOr("expert_weights_scale", 0.0, 0.0, 1e6));
  VT_ASSIGN_OR_RETURN(const auto groups, Count("expert_group_count", 0, *experts));
  VT_ASSIGN_OR_RETURN(const auto groups_used,
                      Count("expert_group_used_count", 0, groups.value_or(1)));
  if (groups.value_or(1) > 1 && *experts % *groups != 0) {
    return CorruptError("key \"" + Key("expert_group_count") + "\": " + std::to_string(*groups) +
                        " does not divide the " + std::to_string(*experts) + " experts of " +
                        Key("expert_count"));
  }
  MoeSpec moe;
  moe.experts = Signed(*experts);
  moe.router_input = family_.moe.router_input;
  moe.gating = family_.moe.gating;
  if (gating.value_or(0) == 1) moe.gating = RouterGating::kSoftmax;
  if (gating.value_or(0) == 2) moe.gating = RouterGating::kSigmoid;
  if (gating.value_or(0) == 3) moe.gating = RouterGating::kSoftmaxOfChosen;
  moe.normalize = normalize.value_or(family_.moe.normalize);
  if (scale != 0.0) moe.weight_scale = static_cast<float>(scale);  // 0 means none
  moe.groups = Signed(std::max<std::uint64_t>(1, groups.value_or(1)));
  moe.groups_used = groups_used.value_or(0) > 0 ? Signed(*groups_used) : moe.groups;
  moe.weigh_input = family_.moe.weigh_input;
  moe.ffn = spec.ffn;
  moe.activation = spec.activation;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    LayerSpec& layer = spec.layers[i];
    layer.moe = moe;
    layer.moe.used = Signed((*used)[i]);
    layer.moe.width = width && (*width)[i] > 0 ? Signed((*width)[i]) : layer.ffn_width;
  }
  return {};
}

bool SpecBuilder::HasExperts(const MoeSpec& moe, std::size_t index) const {
  if (moe.experts == 0) return false;
  if (family_.moe.by_presence) {
    return Has("blk." + std::to_string(index) + ".ffn_gate_inp.weight");
  }
  return index >= leading_dense_ && moe_step_ > 0 && (index + 1) % moe_step_ == 0;
}

Result<ExpertRef> SpecBuilder::Experts(const MoeSpec& moe, const std::string& name,
                                       std::int64_t rows, std::int64_t cols, Presence presence) {
  ExpertRef ref;
  VT_ASSIGN_OR_RETURN(ref.weight, Tensor(name + ".weight", rows * moe.experts, cols, presence));
  if (!ref.weight) return ref;
  ref.rows = rows;
  const GgufTensor& tensor = file_.tensors()[static_cast<std::size_t>(ref.weight.tensor)];
  if (tensor.dims.size() != 3 || tensor.dims[2] != static_cast<std::uint64_t>(moe.experts)) {
    return CorruptError("tensor \"" + name + ".weight\": wanted 3 dimensions [" +
                        std::to_string(cols) + ", " + std::to_string(rows) + ", " +
                        std::to_string(moe.experts) + "], one matrix per expert");
  }
  const Presence bias = family_.moe.linear_bias;
  VT_ASSIGN_OR_RETURN(ref.bias, Tensor(name + ".bias", moe.experts, rows, bias));
  return ref;
}

Status SpecBuilder::ReadExperts(LayerSpec& layer, const std::string& prefix, std::int64_t width) {
  MoeSpec& moe = layer.moe;
  if (moe.used < 1 || moe.width < 1) {
    return CorruptError("key \"" +
                        Key(moe.used < 1 ? "expert_used_count" : "expert_feed_forward_length") +
                        "\": missing or 0, though " + prefix + "* has experts");
  }
  const Presence bias = family_.moe.linear_bias;
  VT_ASSIGN_OR_RETURN(
      moe.router, Linear(prefix + "ffn_gate_inp", moe.experts, width, Presence::kRequired, bias));
  VT_ASSIGN_OR_RETURN(moe.selection_bias,
                      Tensor(prefix + "exp_probs_b.bias", 1, moe.experts, Presence::kOptional));
  VT_ASSIGN_OR_RETURN(
      moe.down, Experts(moe, prefix + "ffn_down_exps", width, moe.width, Presence::kRequired));
  if (moe.ffn == FfnKind::kGated && Has(prefix + "ffn_gate_up_exps.weight")) {
    VT_ASSIGN_OR_RETURN(ExpertRef both, Experts(moe, prefix + "ffn_gate_up_exps", 2 * moe.width,
                                                width, Presence::kRequired));
    both.rows = moe.width;
    moe.gate = moe.up = both;
    moe.up.first = moe.width;
  } else {
    if (moe.ffn == FfnKind::kGated) {
      VT_ASSIGN_OR_RETURN(
          moe.gate, Experts(moe, prefix + "ffn_gate_exps", moe.width, width, Presence::kRequired));
    }
    VT_ASSIGN_OR_RETURN(
        moe.up, Experts(moe, prefix + "ffn_up_exps", moe.width, width, Presence::kRequired));
  }
  return ReadSharedExpert(moe, prefix, width);
}

Status SpecBuilder::ReadSharedExpert(MoeSpec& moe, const std::string& prefix, std::int64_t width) {
  VT_ASSIGN_OR_RETURN(const auto count, Count("expert_shared_count", 0, kMostExperts));
  VT_ASSIGN_OR_RETURN(const auto given, Count("expert_shared_feed_forward_length", 0, kMostWidth));
  if (count.value_or(0) == 0 && !Has(prefix + "ffn_up_shexp.weight")) return {};
  std::int64_t inner = given.value_or(0) > 0
                           ? Signed(*given)
                           : moe.width * Signed(std::max<std::uint64_t>(1, count.value_or(1)));
  if (given.value_or(0) == 0 && count.value_or(0) == 0) {
    inner = Signed(file_.FindTensor(prefix + "ffn_up_shexp.weight")->rows());
  }
  const Presence bias = family_.linear_bias;
  moe.shared_width = inner;
  if (moe.ffn == FfnKind::kGated) {
    VT_ASSIGN_OR_RETURN(moe.shared_gate,
                        Linear(prefix + "ffn_gate_shexp", inner, width, Presence::kRequired, bias));
  }
  VT_ASSIGN_OR_RETURN(moe.shared_up,
                      Linear(prefix + "ffn_up_shexp", inner, width, Presence::kRequired, bias));
  VT_ASSIGN_OR_RETURN(moe.shared_down,
                      Linear(prefix + "ffn_down_shexp", width, inner, Presence::kRequired, bias));
  VT_ASSIGN_OR_RETURN(moe.shared_router.weight,
                      Tensor(prefix + "ffn_gate_inp_shexp.weight", 1, width, Presence::kOptional));
  return {};
}

}  // namespace vt
