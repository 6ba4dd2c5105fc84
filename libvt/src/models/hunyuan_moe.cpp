// Hunyuan with experts: the dense model's attention.
#include "models/family.h"

namespace vt {

Family HunyuanMoeFamily() {
  Family family;
  family.architecture = "hunyuan-moe";
  family.qk_norm = Presence::kRequired;
  family.rope_before_norm = true;
  family.moe.normalize = true;
  return family;
}

}  // namespace vt
