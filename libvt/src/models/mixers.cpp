#include "models/mixers.h"

#include "models/spec_builder.h"

namespace vt {
namespace {

constexpr std::uint64_t kMostHeads = 1u << 16;

}  // namespace

Status RecurWithoutKeyHeads(const SpecBuilder& keys, ModelSpec& spec, MixerKind kind) {
  VT_ASSIGN_OR_RETURN(auto heads, keys.CountPerLayer("attention.head_count_kv", 0, kMostHeads));
  if (!heads) {
    VT_ASSIGN_OR_RETURN(heads, keys.CountPerLayer("attention.head_count", 0, kMostHeads));
  }
  if (!heads) return CorruptError("key \"" + keys.Key("attention.head_count") + "\": missing");
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if ((*heads)[i] == 0) spec.layers[i].mixer = kind;
  }
  return {};
}

Status DeltaNetsAndGatedAttention(const SpecBuilder& keys, ModelSpec& spec, bool interleaved_keys) {
  VT_ASSIGN_OR_RETURN(const auto flags, keys.CountPerLayer("attention.recurrent_layers", 0, 1));
  VT_ASSIGN_OR_RETURN(const auto interval, keys.Count("full_attention_interval", 1, kMostHeads));
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    LayerSpec& layer = spec.layers[i];
    if (flags ? (*flags)[i] != 0 : (i + 1) % interval.value_or(4) != 0) {
      layer.mixer = MixerKind::kDeltaNet;
      layer.recurrent.interleaved_keys = interleaved_keys;
    } else {
      layer.gated_q = true;
    }
  }
  return {};
}

}  // namespace vt
