// OLMoE: experts, and query and key norms over all heads as one row.
#include "models/family.h"

namespace vt {

Family OlmoeFamily() {
  Family family;
  family.architecture = "olmoe";
  family.qk_norm = Presence::kRequired;
  family.qk_norm_span = NormSpan::kRow;
  return family;
}

}  // namespace vt
