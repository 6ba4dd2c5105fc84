// The list of ops whose CPU kernels are bodies over the 16-lane vector V: for each, one body serves
// every instruction set.
#pragma once

#include "cpu/elementwise.h"
#include "cpu/generic/kv_store.h"
#include "cpu/generic/norms.h"
#include "cpu/generic/pointwise.h"
#include "cpu/generic/reductions.h"
#include "cpu/generic/rope.h"
#include "cpu/generic/sigmoid_mul.h"
#include "ops/args.h"
#include "ops/part.h"

// X(name, Op, items, values): the body is Op<V>(const OpArgs& a, Part), which shares out so many
// items of about so many values each.
#define VT_CPU_ELEMENTWISE(X)                                       \
  X(rms_norm, RmsNorm, a.rows, a.cols)                              \
  X(rms_norm_add, RmsNormAdd, a.rows, a.cols)                       \
  X(dual_rms_norm_residual, DualRmsNormResidual, a.rows, a.cols)    \
  X(layer_norm, LayerNorm, a.rows, a.cols)                          \
  X(rope, Rope, (a.rows * a.heads), a.pairs)                        \
  X(fused_norm_rope, FusedNormRope, a.rows, a.latent + 2 * a.pairs) \
  X(kv_store, KvStore, a.rows, a.cols)                              \
  X(activate, Activate, a.count, 1)                                 \
  X(silu_mul, SiluMul, a.count, 1)                                  \
  X(gelu_mul, GeluMul, a.count, 1)                                  \
  X(sigmoid_mul, SigmoidMul, a.rows, a.cols)                        \
  X(mul, Mul, (a.rows * a.cols), 1)                                 \
  X(add, Add, a.count, 1)                                           \
  X(scale_cap, ScaleCap, a.count, 1)                                \
  X(softmax, Softmax, a.rows, a.cols)                               \
  X(arg_max, ArgMax, a.rows, a.cols)

namespace vt {

// The functions of one instruction set.
struct ElementwiseKernels {
#define VT_FUNCTION(name, Op, items, values) void (*name)(const Op##Args&, Part);
  VT_CPU_ELEMENTWISE(VT_FUNCTION)
#undef VT_FUNCTION
};

namespace {

template <class V>
constexpr ElementwiseKernels MakeElementwiseKernels() {
#define VT_BODY(name, Op, items, values) .name = Op<V>,
  return {VT_CPU_ELEMENTWISE(VT_BODY)};
#undef VT_BODY
}

}  // namespace
}  // namespace vt
