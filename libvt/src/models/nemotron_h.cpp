// Nemotron-H: a block is one thing, Mamba 2, attention without positions, or a feed-forward of
// squared ReLUs.
#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

constexpr std::uint64_t kMostHeads = 1u << 16;
constexpr std::uint64_t kMostWidth = 1u << 24;

Status Mixers(const SpecBuilder& keys, ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const auto ffn, keys.CountPerLayer("feed_forward_length", 0, kMostWidth));
  VT_ASSIGN_OR_RETURN(auto heads, keys.CountPerLayer("attention.head_count_kv", 0, kMostHeads));
  if (!heads) {
    VT_ASSIGN_OR_RETURN(heads, keys.CountPerLayer("attention.head_count", 0, kMostHeads));
  }
  if (!ffn || !heads) {
    return CorruptError("key \"" + keys.Key(ffn ? "attention.head_count" : "feed_forward_length") +
                        "\": missing (it says what each layer is)");
  }
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const bool feeds = (*ffn)[i] > 0;
    spec.layers[i].mixer = feeds              ? MixerKind::kNone
                           : (*heads)[i] == 0 ? MixerKind::kMamba2
                                              : MixerKind::kAttention;
  }
  return {};
}

Status Adjust(const SpecBuilder& keys, ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const auto latent, keys.Count("moe_latent_size", 0, kMostWidth));
  if (latent.value_or(0) > 0) {
    return UnsupportedError("key \"" + keys.Key("moe_latent_size") +
                            "\": " + std::to_string(*latent) +
                            "; experts that read a projection of the stream cannot be run");
  }
  VT_ASSIGN_OR_RETURN(const double attention, keys.NumberOr("attention.scale", 0.0, 0.0, 1e6));
  for (LayerSpec& layer : spec.layers) {
    if (attention != 0) layer.attention_scale = static_cast<float>(attention);
  }
  return {};
}

}  // namespace

Family NemotronHFamily() {
  Family family;
  family.architecture = "nemotron_h";
  family.rotary = false;
  family.layer_norm_eps = true;
  family.ffn = FfnKind::kPlain;
  family.activation = FfnActivation::kReluSquared;
  family.ffn_norm_name = "attn_norm";  // the block's one norm
  family.moe.gating = RouterGating::kSigmoid;
  family.moe.by_presence = true;
  family.mixers = Mixers;
  family.adjust = Adjust;
  return family;
}

Family NemotronHMoeFamily() {
  Family family = NemotronHFamily();
  family.architecture = "nemotron_h_moe";
  return family;
}

}  // namespace vt
