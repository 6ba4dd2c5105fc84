// Llama 4: attention within stretches of positions, every fourth layer over all of them without
// rotation; one routed expert whose input is weighted, and a shared one.
#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

constexpr std::int64_t kScaledBy = 8192;

Status Adjust(const SpecBuilder&, ModelSpec& spec) {
  spec.temperature_scale = 0.1;
  spec.temperature_length = kScaledBy;
  spec.temperature_offset = 1.0;
  for (LayerSpec& layer : spec.layers) {
    layer.tempered = layer.rope < 0;
    // The 128-expert model does without these norms.
    layer.unit_qk_norm = layer.rope >= 0 && layer.moe.experts != 128;
    layer.rope_before_norm = true;
    layer.moe.gating = RouterGating::kSigmoid;
  }
  return {};
}

}  // namespace

Family Llama4Family() {
  Family family;
  family.architecture = "llama4";
  family.pairing = RopePairing::kInterleaved;
  family.window = {WindowPattern::When::kUnlessZero, 8192, 4};
  family.window.fixed = 8192;
  family.window.chunked = true;
  family.rotary_only_windowed = true;
  family.moe.weigh_input = true;
  family.adjust = Adjust;
  return family;
}

}  // namespace vt
