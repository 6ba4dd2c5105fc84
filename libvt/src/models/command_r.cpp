// Command R: attention and feed-forward in parallel from one layer norm without bias.
#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

Status Adjust(const SpecBuilder& keys, ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const double scale, keys.NumberOr("logit_scale", 0.0, 0.0, 1e6));
  if (scale != 0) spec.logit_scale = static_cast<float>(scale);  // 0: not used
  return {};
}

}  // namespace

Family CommandRFamily() {
  Family family;
  family.architecture = "command-r";
  family.norm = NormKind::kLayer;
  family.pairing = RopePairing::kInterleaved;
  family.parallel_residual = true;
  family.qk_norm = Presence::kOptional;
  family.qk_norm_kind = NormKind::kLayer;
  family.qk_norm_per_head = true;
  family.adjust = Adjust;
  return family;
}

}  // namespace vt
