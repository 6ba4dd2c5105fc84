// The list of GPU kernels.
#pragma once

// X(name, row, Op, Takes, Launcher): a row "<device>.<row>" of the op on each kind of GPU and on
// the simulated one, for arguments that Takes (gpu/register.cpp; CheckedShape: all whose sizes fit
// each other). The kernel and its launcher are in <name>.cu.
#define VT_GPU_KERNELS(X)                                                     \
  X(embed, "f32", Embed, TakesTable, LaunchEmbed)                             \
  X(rms_norm, "f32", RmsNorm, CheckedShape, LaunchRmsNorm)                    \
  X(rms_norm_add, "f32", RmsNormAdd, CheckedShape, LaunchRmsNormAdd)          \
  X(route, "f32", Route, CheckedShape, LaunchRoute)                           \
  X(expert_gather, "f32", ExpertGather, CheckedShape, LaunchExpertGather)     \
  X(expert_combine, "f32", ExpertCombine, CheckedShape, LaunchExpertCombine)  \
  X(rope, "f32", Rope, CheckedShape, LaunchRope)                              \
  X(add, "f32", Add, CheckedShape, LaunchAdd)                                 \
  X(silu_mul, "f32", SiluMul, CheckedShape, LaunchSiluMul)                    \
  X(gelu_mul, "f32", GeluMul, CheckedShape, LaunchGeluMul)                    \
  X(gated_act, "f32", GatedAct, CheckedShape, LaunchGatedAct)                 \
  X(sigmoid_mul, "f32", SigmoidMul, CheckedShape, LaunchSigmoidMul)           \
  X(copy_columns, "f32", CopyColumns, CheckedShape, LaunchCopyColumns)        \
  X(softmax, "f32", Softmax, CheckedShape, LaunchSoftmax)                     \
  X(matvec_q8_0, "q8_0", Matmul, TakesMatvec<DType::kQ8_0>, LaunchMatvecQ8_0) \
  X(matvec_q4_k, "q4_k", Matmul, TakesMatvec<DType::kQ4_K>, LaunchMatvecQ4_K) \
  X(arg_max, "f32", ArgMax, CheckedShape, LaunchArgMax)
