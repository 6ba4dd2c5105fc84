// MiniCPM 3: latent attention with expanded keys and values, scales on embedding, branches and
// logits.
#include <cmath>

#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

constexpr float kEmbeddingScale = 12.0f;
constexpr float kDepthScale = 1.4f;
constexpr float kBaseWidth = 256.0f;

Status Mixers(const SpecBuilder&, ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) layer.mixer = MixerKind::kLatent;
  return {};
}

Status Adjust(const SpecBuilder&, ModelSpec& spec) {
  spec.embedding_scale = kEmbeddingScale;
  spec.residual_scale = kDepthScale / std::sqrt(static_cast<float>(spec.layers.size()));
  spec.logit_scale = kBaseWidth / static_cast<float>(spec.width);
  return {};
}

}  // namespace

Family MiniCpm3Family() {
  Family family;
  family.architecture = "minicpm3";
  family.mixers = Mixers;
  family.adjust = Adjust;
  return family;
}

}  // namespace vt
