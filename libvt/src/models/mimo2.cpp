// MiMo-V2: windowed layers with sinks and a rotary base of their own, sigmoid routing.
#include "models/family.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

Status Adjust(const SpecBuilder& keys, ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(const double scale, keys.NumberOr("attention.value_scale", 0.0, 0.0, 1e6));
  for (LayerSpec& layer : spec.layers) {
    if (scale != 0.0) layer.value_scale = static_cast<float>(scale);  // 0 means none
    layer.moe.gating = RouterGating::kSigmoid;
  }
  return {};
}

}  // namespace

Family MiMo2Family() {
  Family family;
  family.architecture = "mimo2";
  family.linear_bias = Presence::kNone;
  family.sinks = Presence::kOptional;
  family.window = {WindowPattern::When::kAlways, 0, 0};
  family.window_rope = WindowRope::kOwnBase;
  family.moe.by_presence = true;
  family.moe.normalize = true;
  family.adjust = Adjust;
  return family;
}

}  // namespace vt
