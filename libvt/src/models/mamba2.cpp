// Mamba 2: layers of selective state spaces and nothing else.
#include "models/family.h"

namespace vt {
namespace {

Status Mixers(const SpecBuilder&, ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) layer.mixer = MixerKind::kMamba2;
  return {};
}

}  // namespace

Family Mamba2Family() {
  Family family;
  family.architecture = "mamba2";
  family.rotary = false;
  family.mixers = Mixers;
  return family;
}

}  // namespace vt
