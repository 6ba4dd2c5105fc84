// LFM 2 with a mixture of experts behind its first layers.
#include "models/family.h"

namespace vt {

Family Lfm2Family();

Family Lfm2MoeFamily() {
  Family family = Lfm2Family();
  family.architecture = "lfm2moe";
  family.window.when = WindowPattern::When::kNever;
  family.moe.gating = RouterGating::kSigmoid;
  family.moe.normalize = true;
  return family;
}

}  // namespace vt
