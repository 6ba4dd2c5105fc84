// gpt-oss: attention sinks, every other layer windowed, clamped SwiGLU experts with biases.
#include "models/family.h"

namespace vt {

Family GptOssFamily() {
  Family family;
  family.architecture = "gpt-oss";
  family.activation = FfnActivation::kClampedSilu;
  family.ffn_norm_name = "post_attention_norm";
  family.linear_bias = Presence::kRequired;
  family.sinks = Presence::kRequired;
  family.window = {WindowPattern::When::kAlways, 0, 2};
  family.moe.gating = RouterGating::kSoftmaxOfChosen;
  family.moe.linear_bias = Presence::kRequired;
  return family;
}

}  // namespace vt
