// StableLM: layer norms with bias, partial rotation; the 12B model has head norms and parallel
// branches.
#include "models/family.h"

namespace vt {

Family StableLmFamily() {
  Family family;
  family.architecture = "stablelm";
  family.norm = NormKind::kLayer;
  family.norm_bias = Presence::kRequired;
  family.ffn_norm_optional = true;
  family.qk_norm = Presence::kOptional;
  family.qk_norm_kind = NormKind::kLayer;
  family.qk_norm_per_head = true;
  return family;
}

}  // namespace vt
