// What each instruction set's folder provides for the norms, RoPE, cache writes, attention and
// pointwise ops: the same functions, with the same results to the bit.
#pragma once

#include <cstdint>

#include "ops/args.h"
#include "ops/part.h"

namespace vt {

// A q8_0 block (gguf specification): f16 scale, 32 signed bytes.
inline constexpr std::int64_t kQ8BlockBytes = 34;

struct ElementwiseKernels {
  void (*rms_norm)(const RmsNormArgs&, Part);
  void (*layer_norm)(const LayerNormArgs&, Part);
  void (*rope)(const RopeArgs&, Part);
  void (*kv_store)(const KvStoreArgs&, Part);
  void (*activate)(const ActivateArgs&, Part);
  void (*add)(const AddArgs&, Part);
  void (*scale_cap)(const ScaleCapArgs&, Part);
};
extern const ElementwiseKernels kScalarElementwise;
extern const ElementwiseKernels kAvx2Elementwise;
extern const ElementwiseKernels kAvx512Elementwise;

void AttentionScalar(const AttentionArgs& args, Part part);
void AttentionAvx2(const AttentionArgs& args, Part part);
void AttentionAvx512(const AttentionArgs& args, Part part);

}  // namespace vt
