// ERNIE 4.5 with experts in every n-th layer.
#include "models/family.h"

namespace vt {

Family Ernie45MoeFamily() {
  Family family;
  family.architecture = "ernie4_5-moe";
  family.pairing = RopePairing::kInterleaved;
  family.output_bias = Presence::kNone;
  family.moe.normalize = true;
  return family;
}

}  // namespace vt
