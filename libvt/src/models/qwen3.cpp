// Qwen 3: Qwen 2 with a norm on each query and key head.
#include "models/family.h"

namespace vt {

Family Qwen3Family() {
  Family family;
  family.architecture = "qwen3";
  family.qk_norm = Presence::kRequired;
  return family;
}

}  // namespace vt
