// Mistral 3: Llama's block with queries scaled up with their position.
#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

Status Adjust(const SpecBuilder& keys, ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(spec.temperature_scale,
                      keys.NumberOr("attention.temperature_scale", 0.0, 0.0, 1e6));
  spec.temperature_length = spec.ropes[0].original_context;
  for (LayerSpec& layer : spec.layers) layer.tempered = true;
  return {};
}

}  // namespace

Family Mistral3Family() {
  Family family;
  family.architecture = "mistral3";
  family.pairing = RopePairing::kInterleaved;
  family.adjust = Adjust;
  family.moe.normalize = true;
  return family;
}

}  // namespace vt
