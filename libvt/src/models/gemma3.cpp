// Gemma 3: Gemma 2 with query and key norms instead of soft caps; windowed layers have a base of
// their own.
#include <cmath>

#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

// The 27B model divides by the width per head, not by the head's own size.
float AttentionScale(const ModelSpec& spec, const LayerSpec& layer) {
  const std::int64_t divisor = spec.layers.size() == 62 ? spec.width / layer.heads : layer.key_dim;
  return 1.0f / std::sqrt(static_cast<float>(divisor));
}

Status Adjust(const SpecBuilder& keys, ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const double logit_cap,
                      keys.NumberOr("final_logit_softcapping", 0.0, 0.0, 1e6));
  spec.logit_softcap = static_cast<float>(logit_cap);
  for (LayerSpec& layer : spec.layers) layer.attention_scale = AttentionScale(spec, layer);
  return {};
}

}  // namespace

Family Gemma3Family() {
  Family family;
  family.architecture = "gemma3";
  family.activation = FfnActivation::kGelu;
  family.scaled_embedding = true;
  family.post_norms = true;
  family.qk_norm = Presence::kRequired;
  family.window = {WindowPattern::When::kIfKey, 0, 6};
  family.window_rope = WindowRope::kOwnBase;
  family.adjust = Adjust;
  return family;
}

}  // namespace vt
