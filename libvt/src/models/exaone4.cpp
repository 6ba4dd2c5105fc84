// EXAONE 4: norms after each branch only, head norms; the 32B model's windowed layers alone rotate.
#include "models/family.h"

namespace vt {

Family Exaone4Family() {
  Family family;
  family.architecture = "exaone4";
  family.pre_norms = false;
  family.post_norms = true;
  family.qk_norm = Presence::kRequired;
  family.window = {WindowPattern::When::kIfKey, 0, 4};
  family.rotary_only_windowed = true;
  return family;
}

}  // namespace vt
