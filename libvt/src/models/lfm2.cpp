// LFM 2: gated short convolutions, with attention in some layers.
#include "models/family.h"
#include "models/mixers.h"
#include "models/spec_builder.h"

namespace vt {
namespace {

Status Mixers(const SpecBuilder& keys, ModelSpec& spec) {
  return RecurWithoutKeyHeads(keys, spec, MixerKind::kShortConv);
}

// The last norm goes by the name of one on the embedding.
Status ModelTensors(SpecBuilder& builder, ModelSpec& spec) {
  VT_ASSIGN_OR_RETURN(spec.output_norm,
                      builder.Norm("token_embd_norm", spec.width, Presence::kRequired));
  return {};
}

}  // namespace

Family Lfm2Family() {
  Family family;
  family.architecture = "lfm2";
  family.qk_norm = Presence::kRequired;
  family.window.when = WindowPattern::When::kIfKey;
  family.output_norm = false;
  family.mixers = Mixers;
  family.model_tensors = ModelTensors;
  return family;
}

}  // namespace vt
