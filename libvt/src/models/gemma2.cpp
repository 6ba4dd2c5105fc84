// Gemma 2: Gemma with norms after each branch, every other layer windowed, soft caps.
#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

Status Adjust(const SpecBuilder& keys, ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const double attention_cap,
                      keys.NumberOr("attn_logit_softcapping", 50.0, 0.0, 1e6));
  VT_ASSIGN_OR_RETURN(const double logit_cap,
                      keys.NumberOr("final_logit_softcapping", 30.0, 0.0, 1e6));
  spec.logit_softcap = static_cast<float>(logit_cap);
  for (LayerSpec& layer : spec.layers) {
    layer.attention_softcap = static_cast<float>(attention_cap);
  }
  return {};
}

}  // namespace

Family Gemma2Family() {
  Family family;
  family.architecture = "gemma2";
  family.activation = FfnActivation::kGelu;
  family.scaled_embedding = true;
  family.post_norms = true;
  family.window = {WindowPattern::When::kAlways, 4096, 2};
  family.width_scaled_layers = 46;  // 27B
  family.adjust = Adjust;
  return family;
}

}  // namespace vt
