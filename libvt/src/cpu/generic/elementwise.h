// The list of ops whose CPU kernels are bodies over the 16-lane vector V: for each, one body serves
// every instruction set.
#pragma once

#include "cpu/elementwise.h"
#include "cpu/generic/copy_columns.h"
#include "cpu/generic/delta_rule.h"
#include "cpu/generic/expert_combine.h"
#include "cpu/generic/expert_gather.h"
#include "cpu/generic/expert_sort.h"
#include "cpu/generic/gated_act.h"
#include "cpu/generic/kv_store.h"
#include "cpu/generic/norms.h"
#include "cpu/generic/pointwise.h"
#include "cpu/generic/reductions.h"
#include "cpu/generic/rope.h"
#include "cpu/generic/route.h"
#include "cpu/generic/short_conv.h"
#include "cpu/generic/sigmoid_mul.h"
#include "cpu/generic/ssm_scan.h"
#include "ops/args.h"
#include "ops/part.h"

// X(name, Op, items, values): the body is Op<V>(const OpArgs& a, Part), which shares out so many
// items of about so many values each.
#define VT_CPU_ELEMENTWISE(X)                                             \
  X(rms_norm, RmsNorm, a.rows, a.cols)                                    \
  X(rms_norm_add, RmsNormAdd, a.rows, a.cols)                             \
  X(dual_rms_norm_residual, DualRmsNormResidual, a.rows, a.cols)          \
  X(layer_norm, LayerNorm, a.rows, a.cols)                                \
  X(route, Route, a.rows, 4 * a.experts)                                  \
  X(expert_sort, ExpertSort, 1, a.pairs)                                  \
  X(expert_gather, ExpertGather, a.pairs, a.cols)                         \
  X(expert_combine, ExpertCombine, a.rows, a.used* a.cols)                \
  X(rope, Rope, (a.rows * a.heads), a.pairs)                              \
  X(fused_norm_rope, FusedNormRope, a.rows, a.latent + 2 * a.pairs)       \
  X(kv_store, KvStore, a.rows, a.cols)                                    \
  X(short_conv, ShortConv, a.channels, (a.rows * a.taps))                 \
  X(ssm_scan, SsmScan, (a.heads * a.head_dim), (a.rows * a.state_size))   \
  X(delta_rule, DeltaRule, (a.heads * a.value_dim), (a.rows * a.key_dim)) \
  X(activate, Activate, a.count, 1)                                       \
  X(silu_mul, SiluMul, a.count, 1)                                        \
  X(gelu_mul, GeluMul, a.count, 1)                                        \
  X(gated_act, GatedAct, a.count, 1)                                      \
  X(sigmoid_mul, SigmoidMul, a.rows, a.cols)                              \
  X(mul, Mul, (a.rows * a.cols), 1)                                       \
  X(add, Add, a.count, 1)                                                 \
  X(scale_cap, ScaleCap, a.count, 1)                                      \
  X(copy_columns, CopyColumns, a.rows, a.cols)                            \
  X(softmax, Softmax, a.rows, a.cols)                                     \
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
