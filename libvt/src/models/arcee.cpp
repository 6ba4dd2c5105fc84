// Arcee (AFM-4.5B): Llama's block with a plain feed-forward of squared ReLUs.
#include "models/family.h"

namespace vt {

Family ArceeFamily() {
  Family family;
  family.architecture = "arcee";
  family.pairing = RopePairing::kInterleaved;
  family.ffn = FfnKind::kPlain;
  family.activation = FfnActivation::kReluSquared;
  return family;
}

}  // namespace vt
