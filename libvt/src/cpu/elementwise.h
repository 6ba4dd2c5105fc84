// What each instruction set's folder provides for the norms, RoPE, cache writes, attention,
// pointwise ops and reductions of rows: the same functions, with the same results to the bit. A
// fused op gives the bits of the ops that it stands for.
#pragma once

#include <cstdint>

#include "ops/args.h"
#include "ops/part.h"

namespace vt {

// A q8_0 block (gguf specification): f16 scale, 32 signed bytes.
inline constexpr std::int64_t kQ8BlockBytes = 34;

struct ElementwiseKernels;  // cpu/generic/elementwise.h
extern const ElementwiseKernels kScalarElementwise;
extern const ElementwiseKernels kAvx2Elementwise;
extern const ElementwiseKernels kAvx512Elementwise;

void AttentionScalar(const AttentionArgs& args, Part part);
void AttentionAvx2(const AttentionArgs& args, Part part);
void AttentionAvx512(const AttentionArgs& args, Part part);

void IndexSelectScalar(const IndexSelectArgs& args, Part part);
void IndexSelectAvx2(const IndexSelectArgs& args, Part part);
void IndexSelectAvx512(const IndexSelectArgs& args, Part part);

}  // namespace vt
