// Phi 3: Llama's block with fused gate and up, and frequency factors for short and long contexts.
// Its files' sliding_window key is not used: published models attend to everything in it.
#include "models/family.h"

namespace vt {

Family Phi3Family() {
  Family family;
  family.architecture = "phi3";
  family.fused_gate_up = true;
  return family;
}

}  // namespace vt
