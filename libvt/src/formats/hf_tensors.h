// Gives the tensors of a Hugging Face folder their GGUF names, shapes and order.
#pragma once

#include <span>
#include <string>

#include "formats/gguf_contents.h"
#include "formats/hf_architecture.h"
#include "formats/safetensors.h"
#include "vt/status.h"

namespace vt {

// Fills contents.tensors (by layer, then in the order of the architecture's table, each with its
// scales after it) and, where something is computed, appends the shard that holds it. `stored`: of
// all files, names differ, `shard` an index into contents.shards.
//
// kCorrupt or kUnsupported names the tensors that have no place, are missing among experts, differ
// where they must be alike, lack their scale, or are a scale of nothing.
Status MapHfTensors(const HfArchitecture& architecture, const HfModel& model,
                    std::span<const SafetensorsTensor> stored, GgufContents& contents);

}  // namespace vt
