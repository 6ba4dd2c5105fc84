// The list of ops: each has its arguments in ops/<op>.h and all that the table knows about it in
// ops/<op>.cpp.
#pragma once

#include "ops/activate.h"
#include "ops/add.h"
#include "ops/apply_expert_scale.h"
#include "ops/arg_max.h"
#include "ops/attention.h"
#include "ops/dequant_fp8_channel.h"
#include "ops/dual_rms_norm_residual.h"
#include "ops/embed.h"
#include "ops/expert_geglu.h"
#include "ops/expert_matmul.h"
#include "ops/fused_norm_rope.h"
#include "ops/gelu_mul.h"
#include "ops/kv_store.h"
#include "ops/layer_norm.h"
#include "ops/matmul.h"
#include "ops/matmul_alpha_beta.h"
#include "ops/matmul_fp8_channel.h"
#include "ops/mul.h"
#include "ops/quantize.h"
#include "ops/rms_norm.h"
#include "ops/rms_norm_add.h"
#include "ops/rope.h"
#include "ops/rope_table.h"
#include "ops/scale_cap.h"
#include "ops/sigmoid_mul.h"
#include "ops/silu_mul.h"
#include "ops/softmax.h"

// X(Op) for each op, whose arguments are OpArgs, in the order of reports.
#define VT_OPS(X)        \
  X(Embed)               \
  X(RmsNorm)             \
  X(RmsNormAdd)          \
  X(DualRmsNormResidual) \
  X(LayerNorm)           \
  X(Quantize)            \
  X(Matmul)              \
  X(MatmulAlphaBeta)     \
  X(DequantFp8Channel)   \
  X(MatmulFp8Channel)    \
  X(ExpertMatmul)        \
  X(ExpertGeglu)         \
  X(ApplyExpertScale)    \
  X(RopeTable)           \
  X(Rope)                \
  X(FusedNormRope)       \
  X(KvStore)             \
  X(Attention)           \
  X(Activate)            \
  X(SiluMul)             \
  X(GeluMul)             \
  X(SigmoidMul)          \
  X(Mul)                 \
  X(Add)                 \
  X(ScaleCap)            \
  X(Softmax)             \
  X(ArgMax)
