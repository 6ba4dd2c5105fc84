// Keys and tensors of mixers with a recurrent state.
#include "models/spec_builder.h"

namespace vt {
namespace {

constexpr std::uint64_t kMostInner = 1u << 24;
constexpr std::uint64_t kMostHeads = 1u << 16;
constexpr std::uint64_t kMostTaps = 16;

std::int64_t Signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

Status SpecBuilder::ReadRecurrentSizes(ModelSpec& spec) {
  RecurrentSpec scan, conv;
  for (const LayerSpec& layer : spec.layers) {
    if (layer.mixer == MixerKind::kShortConv && conv.taps == 0) {
      VT_ASSIGN_OR_RETURN(const auto taps, RequiredCount("shortconv.l_cache", 2, kMostTaps));
      conv.taps = Signed(taps);
      conv.channels = spec.width;
    }
    if ((layer.mixer == MixerKind::kMamba2 || layer.mixer == MixerKind::kDeltaNet) &&
        scan.taps == 0) {
      VT_RETURN_IF_ERROR(ReadScanSizes(scan));
    }
  }
  for (LayerSpec& layer : spec.layers) {
    if (!layer.recurs()) continue;
    const bool interleaved = layer.recurrent.interleaved_keys;
    layer.recurrent = layer.mixer == MixerKind::kShortConv ? conv : scan;
    layer.recurrent.interleaved_keys = interleaved;
  }
  return {};
}

Status SpecBuilder::ReadScanSizes(RecurrentSpec& r) {
  VT_ASSIGN_OR_RETURN(const auto taps, RequiredCount("ssm.conv_kernel", 2, kMostTaps));
  VT_ASSIGN_OR_RETURN(const auto inner, RequiredCount("ssm.inner_size", 1, kMostInner));
  VT_ASSIGN_OR_RETURN(const auto state, RequiredCount("ssm.state_size", 1, kMostInner));
  VT_ASSIGN_OR_RETURN(const auto heads, RequiredCount("ssm.time_step_rank", 1, kMostHeads));
  VT_ASSIGN_OR_RETURN(const auto groups, RequiredCount("ssm.group_count", 1, kMostHeads));
  const auto divides = [&](const char* part, std::uint64_t count, const char* whole,
                           std::uint64_t of) -> Status {
    if (of % count == 0) return {};
    return CorruptError("key \"" + Key(part) + "\": " + std::to_string(count) +
                        " does not divide the " + std::to_string(of) + " of " + Key(whole));
  };
  VT_RETURN_IF_ERROR(divides("ssm.time_step_rank", heads, "ssm.inner_size", inner));
  VT_RETURN_IF_ERROR(divides("ssm.group_count", groups, "ssm.time_step_rank", heads));
  r.taps = Signed(taps);
  r.heads = Signed(heads);
  r.head_dim = Signed(inner / heads);
  r.groups = Signed(groups);
  r.state_size = Signed(state);
  r.channels = Signed(inner + 2 * groups * state);
  return {};
}

Status SpecBuilder::ReadRecurrent(LayerSpec& layer, const std::string& prefix, std::int64_t width) {
  switch (layer.mixer) {
    case MixerKind::kMamba2:
      return ReadMamba2(layer.recurrent, prefix, width);
    case MixerKind::kDeltaNet:
      return ReadDeltaNet(layer.recurrent, prefix, width);
    default:
      return ReadShortConv(layer.recurrent, prefix, width);
  }
}

Status SpecBuilder::ReadMamba2(RecurrentSpec& r, const std::string& prefix, std::int64_t width) {
  constexpr Presence kRequired = Presence::kRequired, kNone = Presence::kNone;
  const std::int64_t inner = r.heads * r.head_dim;
  VT_ASSIGN_OR_RETURN(
      r.in, Linear(prefix + "ssm_in", inner + r.channels + r.heads, width, kRequired, kNone));
  VT_ASSIGN_OR_RETURN(r.conv.weight,
                      Tensor(prefix + "ssm_conv1d.weight", r.channels, r.taps, kRequired));
  VT_ASSIGN_OR_RETURN(r.conv.bias,
                      Tensor(prefix + "ssm_conv1d.bias", 1, r.channels, Presence::kOptional));
  VT_ASSIGN_OR_RETURN(r.dt_bias, Tensor(prefix + "ssm_dt.bias", 1, r.heads, kRequired));
  VT_ASSIGN_OR_RETURN(r.a, Tensor(prefix + "ssm_a", r.heads, 1, kRequired));
  VT_ASSIGN_OR_RETURN(r.d, Tensor(prefix + "ssm_d", r.heads, 1, kRequired));
  VT_ASSIGN_OR_RETURN(r.norm.weight,
                      Tensor(prefix + "ssm_norm.weight", r.groups, inner / r.groups, kRequired));
  VT_ASSIGN_OR_RETURN(r.out, Linear(prefix + "ssm_out", width, inner, kRequired, kNone));
  return {};
}

Status SpecBuilder::ReadDeltaNet(RecurrentSpec& r, const std::string& prefix, std::int64_t width) {
  constexpr Presence kRequired = Presence::kRequired, kNone = Presence::kNone;
  const std::int64_t inner = r.heads * r.head_dim;
  if (!Has(prefix + "attn_qkv.weight") && Has(prefix + "ssm_in.weight")) {
    return UnsupportedError("tensor \"" + prefix +
                            "ssm_in.weight\": q, k, v and z lie in one tensor, head by head, as in "
                            "the first files of this family; use a file with attn_qkv and "
                            "attn_gate");
  }
  VT_ASSIGN_OR_RETURN(r.in, Linear(prefix + "attn_qkv", r.channels, width, kRequired, kNone));
  VT_ASSIGN_OR_RETURN(r.gate, Linear(prefix + "attn_gate", inner, width, kRequired, kNone));
  VT_ASSIGN_OR_RETURN(r.alpha_beta,
                      Linear(prefix + "ssm_ba", 2 * r.heads, width, Presence::kOptional, kNone));
  if (!r.alpha_beta) {
    VT_ASSIGN_OR_RETURN(r.alpha, Linear(prefix + "ssm_alpha", r.heads, width, kRequired, kNone));
    VT_ASSIGN_OR_RETURN(r.beta, Linear(prefix + "ssm_beta", r.heads, width, kRequired, kNone));
  }
  VT_ASSIGN_OR_RETURN(r.conv.weight,
                      Tensor(prefix + "ssm_conv1d.weight", r.channels, r.taps, kRequired));
  VT_ASSIGN_OR_RETURN(r.dt_bias, Tensor(prefix + "ssm_dt.bias", 1, r.heads, kRequired));
  VT_ASSIGN_OR_RETURN(r.a, Tensor(prefix + "ssm_a", 1, r.heads, kRequired));
  VT_ASSIGN_OR_RETURN(r.norm.weight, Tensor(prefix + "ssm_norm.weight", 1, r.head_dim, kRequired));
  VT_ASSIGN_OR_RETURN(r.out, Linear(prefix + "ssm_out", width, inner, kRequired, kNone));
  return {};
}

Status SpecBuilder::ReadShortConv(RecurrentSpec& r, const std::string& prefix, std::int64_t width) {
  constexpr Presence kRequired = Presence::kRequired, kNone = Presence::kNone;
  VT_ASSIGN_OR_RETURN(
      r.in, Linear(prefix + "shortconv.in_proj", 3 * r.channels, width, kRequired, kNone));
  VT_ASSIGN_OR_RETURN(r.conv.weight,
                      Tensor(prefix + "shortconv.conv.weight", r.channels, r.taps, kRequired));
  VT_ASSIGN_OR_RETURN(r.out,
                      Linear(prefix + "shortconv.out_proj", width, r.channels, kRequired, kNone));
  return {};
}

}  // namespace vt
