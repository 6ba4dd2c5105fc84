// ERNIE 4.5, dense: Llama's block; a bias of attention's output is in some files, and not added.
#include "models/family.h"

namespace vt {

Family Ernie45Family() {
  Family family;
  family.architecture = "ernie4_5";
  family.pairing = RopePairing::kInterleaved;
  family.output_bias = Presence::kNone;
  return family;
}

}  // namespace vt
