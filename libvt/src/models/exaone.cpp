// EXAONE 3 and 3.5: Llama's block with split rotary halves.
#include "models/family.h"

namespace vt {

Family ExaoneFamily() {
  Family family;
  family.architecture = "exaone";
  return family;
}

}  // namespace vt
