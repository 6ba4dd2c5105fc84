// Granite 4: Granite's blocks, of which most mix by Mamba 2 instead of attention.
#include "models/family.h"
#include "models/mixers.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

Status Mixers(const SpecBuilder& keys, ModelSpec& spec) {
  return RecurWithoutKeyHeads(keys, spec, MixerKind::kMamba2);
}

Status Adjust(const SpecBuilder& keys, ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const double logits, keys.NumberOr("logit_scale", 0.0, 0.0, 1e6));
  VT_ASSIGN_OR_RETURN(const double embedding, keys.NumberOr("embedding_scale", 0.0, 0.0, 1e6));
  VT_ASSIGN_OR_RETURN(const double residual, keys.NumberOr("residual_scale", 0.0, 0.0, 1e6));
  VT_ASSIGN_OR_RETURN(const double attention, keys.NumberOr("attention.scale", 0.0, 0.0, 1e6));
  VT_ASSIGN_OR_RETURN(const auto rotates, keys.Flag("rope.scaling.finetuned"));
  // 0 means that the scale is not used.
  if (logits != 0) spec.logit_scale = 1.0f / static_cast<float>(logits);
  if (embedding != 0) spec.embedding_scale = static_cast<float>(embedding);
  if (residual != 0) spec.residual_scale = static_cast<float>(residual);
  for (LayerSpec& layer : spec.layers) {
    if (attention != 0) layer.attention_scale = static_cast<float>(attention);
    if (!rotates.value_or(true)) layer.rope = -1;
  }
  return {};
}

}  // namespace

Family GraniteHybridFamily() {
  Family family;
  family.architecture = "granitehybrid";
  family.pairing = RopePairing::kInterleaved;
  family.moe.normalize = true;
  family.mixers = Mixers;
  family.adjust = Adjust;
  return family;
}

}  // namespace vt
