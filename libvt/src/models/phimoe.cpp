// Phi 3.5 MoE: norms with a bias, LongRoPE.
#include "models/family.h"

namespace vt {

Family PhiMoeFamily() {
  Family family;
  family.architecture = "phimoe";
  family.norm_bias = Presence::kRequired;
  family.moe.normalize = true;
  return family;
}

}  // namespace vt
