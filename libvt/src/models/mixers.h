// Which layers of a hybrid model recur: rules that several families share.
#pragma once

#include "vt/model_spec.h"
#include "vt/status.h"

namespace vt {

class SpecBuilder;

// Layers without key heads, by attention.head_count_kv or else attention.head_count.
Status RecurWithoutKeyHeads(const SpecBuilder& keys, ModelSpec& spec, MixerKind kind);

// Gated delta nets where attention.recurrent_layers says so, else all but every
// full_attention_interval-th layer (4). The attention of the others takes gates with its queries.
Status DeltaNetsAndGatedAttention(const SpecBuilder& keys, ModelSpec& spec, bool interleaved_keys);

}  // namespace vt
