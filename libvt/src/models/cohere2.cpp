// Command R7B and A: Command R with windowed layers, which alone rotate.
#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

Status Adjust(const SpecBuilder& keys, ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const auto scale, keys.Number("logit_scale", 0.0, 1e6));
  if (!scale) return CorruptError("key \"" + keys.Key("logit_scale") + "\": missing");
  if (*scale != 0) spec.logit_scale = static_cast<float>(*scale);  // 0: not used
  return {};
}

}  // namespace

Family Cohere2Family() {
  Family family;
  family.architecture = "cohere2";
  family.norm = NormKind::kLayer;
  family.pairing = RopePairing::kInterleaved;
  family.parallel_residual = true;
  family.window = {WindowPattern::When::kAlways, 0, 4};
  family.rotary_only_windowed = true;
  family.adjust = Adjust;
  return family;
}

}  // namespace vt
