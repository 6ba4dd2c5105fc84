// dots.llm1: DeepSeek's experts with query and key norms.
#include "models/family.h"

namespace vt {

Family Dots1Family() {
  Family family;
  family.architecture = "dots1";
  family.qk_norm = Presence::kRequired;
  return family;
}

}  // namespace vt
