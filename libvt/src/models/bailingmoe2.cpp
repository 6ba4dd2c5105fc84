// Ling 2 (BailingMoE 2): experts with a selection bias, query and key norms.
#include "models/family.h"

namespace vt {

Family BailingMoe2Family() {
  Family family;
  family.architecture = "bailingmoe2";
  family.qk_norm = Presence::kRequired;
  return family;
}

}  // namespace vt
