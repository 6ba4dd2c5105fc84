// Hunyuan, dense: queries and keys are rotated before their norms.
#include "models/family.h"

namespace vt {

Family HunyuanDenseFamily() {
  Family family;
  family.architecture = "hunyuan-dense";
  family.qk_norm = Presence::kRequired;
  family.rope_before_norm = true;
  return family;
}

}  // namespace vt
