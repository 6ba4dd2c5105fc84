// Gemma 3: Gemma 2 with query and key norms instead of soft caps; windowed layers have a base of
// their own.
#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

Status Adjust(const SpecBuilder& keys, ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const double logit_cap,
                      keys.NumberOr("final_logit_softcapping", 0.0, 0.0, 1e6));
  spec.logit_softcap = static_cast<float>(logit_cap);
  return {};
}

}  // namespace

Family Gemma3Family() {
  Family family;
  family.architecture = "gemma3";
  family.activation = FfnActivation::kGelu;
  family.scaled_embedding = true;
  family.post_norms = true;
  family.qk_norm = Presence::kRequired;
  family.window = {WindowPattern::When::kIfKey, 0, 6};
  family.window_rope = WindowRope::kOwnBase;
  family.width_scaled_layers = 62;  // 27B
  family.adjust = Adjust;
  return family;
}

}  // namespace vt
