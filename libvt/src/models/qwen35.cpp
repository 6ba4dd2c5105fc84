// Qwen 3.5: gated delta nets and gated attention. Its rotary positions of three axes are plain ones
// for text, where the axes agree.
#include "models/family.h"
#include "models/mixers.h"

namespace vt {
namespace {

Status Mixers(const SpecBuilder& keys, ModelSpec& spec) {
  return DeltaNetsAndGatedAttention(keys, spec, true);
}

}  // namespace

Family Qwen35Family() {
  Family family;
  family.architecture = "qwen35";
  family.qk_norm = Presence::kRequired;
  family.ffn_norm_name = "post_attention_norm";
  family.mixers = Mixers;
  return family;
}

}  // namespace vt
