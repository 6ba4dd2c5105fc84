// Qwen 2 and 2.5: Llama's block with biases on q, k, v and split rotary halves.
#include "models/family.h"

namespace vt {

Family Qwen2Family() {
  Family family;
  family.architecture = "qwen2";
  return family;
}

}  // namespace vt
