// OLMo 2 and 3: norms after each branch only, and over whole query and key rows.
#include "models/family.h"

namespace vt {

Family Olmo2Family() {
  Family family;
  family.architecture = "olmo2";
  family.pre_norms = false;
  family.post_norms = true;
  family.qk_norm = Presence::kRequired;
  family.qk_norm_span = NormSpan::kRow;
  family.window = {WindowPattern::When::kIfKey, 0, 4};
  family.window_rope = WindowRope::kUnscaled;
  return family;
}

}  // namespace vt
