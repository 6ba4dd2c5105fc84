// SmallThinker: the router reads the stream before attention; ReLU-gated experts; every fourth
// layer sees all positions, without rotation.
#include "models/family.h"

namespace vt {

Family SmallThinkerFamily() {
  Family family;
  family.architecture = "smallthinker";
  family.activation = FfnActivation::kRelu;
  family.rotary_only_windowed = true;
  family.window = {WindowPattern::When::kIfKey, 0, 4};
  family.window.full_first = true;
  family.window.fixed = 4096;
  family.moe.normalize = true;
  family.moe.router_input = RouterInput::kLayer;
  return family;
}

}  // namespace vt
