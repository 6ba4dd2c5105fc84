// StarCoder 2: layer norms, biases everywhere, a plain GELU feed-forward.
#include "models/family.h"

namespace vt {

Family StarCoder2Family() {
  Family family;
  family.architecture = "starcoder2";
  family.norm = NormKind::kLayer;
  family.norm_bias = Presence::kRequired;
  family.linear_bias = Presence::kRequired;
  family.ffn = FfnKind::kPlain;
  family.activation = FfnActivation::kGelu;
  return family;
}

}  // namespace vt
