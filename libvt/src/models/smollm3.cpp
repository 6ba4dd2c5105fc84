// SmolLM 3: Llama's block; every fourth layer has no rotation.
#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

Status Adjust(const SpecBuilder&, ModelSpec& spec) {
  for (std::size_t i = 3; i < spec.layers.size(); i += 4) spec.layers[i].rope = -1;
  return {};
}

}  // namespace

Family SmolLm3Family() {
  Family family;
  family.architecture = "smollm3";
  family.pairing = RopePairing::kInterleaved;
  family.adjust = Adjust;
  return family;
}

}  // namespace vt
