// Qwen 3 with experts.
#include "models/family.h"

namespace vt {

Family Qwen3MoeFamily() {
  Family family;
  family.architecture = "qwen3moe";
  family.qk_norm = Presence::kRequired;
  family.moe.normalize = true;
  return family;
}

}  // namespace vt
