// Qwen 3.5 with a mixture of experts in every layer.
#include "models/family.h"

namespace vt {

Family Qwen35Family();

Family Qwen35MoeFamily() {
  Family family = Qwen35Family();
  family.architecture = "qwen35moe";
  family.moe.normalize = true;
  return family;
}

}  // namespace vt
