// Llama 1-3 and the many models that share its block: pre-norm, SwiGLU, adjacent rotary pairs.
#include "models/family.h"

namespace vt {

Family LlamaFamily() {
  Family family;
  family.architecture = "llama";
  family.pairing = RopePairing::kInterleaved;
  family.moe.normalize = true;
  return family;
}

}  // namespace vt
