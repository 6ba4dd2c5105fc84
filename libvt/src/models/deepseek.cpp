// DeepSeek (v1): routed and shared experts after leading dense layers.
#include "models/family.h"

namespace vt {

Family DeepSeekFamily() {
  Family family;
  family.architecture = "deepseek";
  family.pairing = RopePairing::kInterleaved;
  return family;
}

}  // namespace vt
