// GPT-2: learned positions, fused q, k, v, layer norms, a plain GELU feed-forward.
#include "models/family.h"

namespace vt {

Family Gpt2Family() {
  Family family;
  family.architecture = "gpt2";
  family.norm = NormKind::kLayer;
  family.norm_bias = Presence::kRequired;
  family.linear_bias = Presence::kRequired;
  family.rotary = false;
  family.position_embedding = true;
  family.ffn = FfnKind::kPlain;
  family.activation = FfnActivation::kGelu;
  return family;
}

}  // namespace vt
