// GLM-4.5: sigmoid routing with a selection bias; its last block predicts the token after next.
#include "models/family.h"

namespace vt {

Family Glm4MoeFamily() {
  Family family;
  family.architecture = "glm4moe";
  family.qk_norm = Presence::kOptional;
  family.ffn_norm_name = "post_attention_norm";
  family.moe.gating = RouterGating::kSigmoid;
  return family;
}

}  // namespace vt
