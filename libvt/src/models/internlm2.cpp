// InternLM 2: Llama's block.
#include "models/family.h"

namespace vt {

Family InternLm2Family() {
  Family family;
  family.architecture = "internlm2";
  family.pairing = RopePairing::kInterleaved;
  return family;
}

}  // namespace vt
