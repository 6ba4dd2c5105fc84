// GLM-4: norms before and after each branch, gate and up in one matrix.
#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

// Files for pictures too have their rotation in sections, which pairs halves; for text alone the
// sections turn alike.
Status Adjust(const SpecBuilder& keys, ModelSpec& spec) {
  if (!keys.file().Find(keys.Key("rope.dimension_sections"))) return {};
  for (RopeSpec& rope : spec.ropes) rope.pairing = RopePairing::kHalf;
  return {};
}

}  // namespace

Family Glm4Family() {
  Family family;
  family.architecture = "glm4";
  family.pairing = RopePairing::kInterleaved;
  family.post_norms = true;
  family.fused_gate_up = true;
  family.adjust = Adjust;
  return family;
}

}  // namespace vt
