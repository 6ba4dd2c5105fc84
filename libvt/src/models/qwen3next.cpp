// Qwen3-Next: gated delta nets and gated attention, with a mixture of experts in every layer.
#include "models/family.h"
#include "models/mixers.h"

namespace vt {
namespace {

Status Mixers(const SpecBuilder& keys, ModelSpec& spec) {
  return DeltaNetsAndGatedAttention(keys, spec, false);
}

}  // namespace

Family Qwen3NextFamily() {
  Family family;
  family.architecture = "qwen3next";
  family.qk_norm = Presence::kRequired;
  family.ffn_norm_name = "post_attention_norm";
  family.moe.normalize = true;
  family.mixers = Mixers;
  return family;
}

}  // namespace vt
