// Qwen 2 with experts, and a shared one behind a gate.
#include "models/family.h"

namespace vt {

Family Qwen2MoeFamily() {
  Family family;
  family.architecture = "qwen2moe";
  return family;
}

}  // namespace vt
