// Granite 3, dense and with experts: Llama's block with scales on embedding, attention, branches
// and logits.
#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

Status Adjust(const SpecBuilder& keys, ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const auto logits, keys.Number("logit_scale", 1e-6, 1e6));
  if (!logits) return CorruptError("key \"" + keys.Key("logit_scale") + "\": missing");
  VT_ASSIGN_OR_RETURN(const double embedding, keys.NumberOr("embedding_scale", 0.0, 0.0, 1e6));
  VT_ASSIGN_OR_RETURN(const double residual, keys.NumberOr("residual_scale", 0.0, 0.0, 1e6));
  VT_ASSIGN_OR_RETURN(const double attention, keys.NumberOr("attention.scale", 0.0, 0.0, 1e6));
  spec.logit_scale = 1.0f / static_cast<float>(*logits);
  // 0 means that the scale is not used.
  if (embedding != 0) spec.embedding_scale = static_cast<float>(embedding);
  if (residual != 0) spec.residual_scale = static_cast<float>(residual);
  for (LayerSpec& layer : spec.layers) {
    if (attention != 0) layer.attention_scale = static_cast<float>(attention);
  }
  return {};
}

}  // namespace

Family GraniteFamily() {
  Family family;
  family.architecture = "granite";
  family.pairing = RopePairing::kInterleaved;
  family.moe.normalize = true;
  family.adjust = Adjust;
  return family;
}

Family GraniteMoeFamily() {
  Family family = GraniteFamily();
  family.architecture = "granitemoe";
  return family;
}

}  // namespace vt
