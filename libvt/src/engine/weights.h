// The weights of a model as ops take them: views of the mapped file, and f32 copies of the few that
// kernels read as f32.
#pragma once

#include <vector>

#include "device/device_memory.h"
#include "models/rope.h"
#include "ops/args.h"
#include "plan/memory_plan.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"

namespace vt {

struct LinearWeights {
  Weight weight;
  const float* bias = nullptr;  // [weight.rows]
};

struct NormWeights {
  const float* weight = nullptr;
  const float* bias = nullptr;
  std::int64_t rows = 1;
  bool present = false;
};

struct LayerWeights {
  NormWeights attn_norm, q_norm, k_norm, attn_post_norm, ffn_norm, ffn_post_norm;
  LinearWeights q, k, v, o, gate, up, down;
};

struct ModelWeights {
  Weight embedding;
  Weight position_embedding;
  NormWeights output_norm;
  LinearWeights output;
  std::vector<LayerWeights> layers;
  std::vector<RopeFrequencies> ropes;
  Arena uploaded;
  Arena expanded;
};

// Views and copies as the plan says, in `memory`, which must outlive them. Reads the tensors it
// expands or uploads, and the rope factors. kInterrupted when `cancel` is set meanwhile.
Result<ModelWeights> MakeWeights(const GgufFile& file, const ModelSpec& spec,
                                 const EnginePlan& plan, DeviceMemory& memory,
                                 const std::atomic<bool>* cancel);

// The same shapes and types over no memory, for the guard.
ModelWeights ShapesOnly(const GgufFile& file, const ModelSpec& spec);

}  // namespace vt
