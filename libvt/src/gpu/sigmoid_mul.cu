#include "gpu/launchers.h"
#include "gpu/math.h"
#include "gpu/pointwise.h"

namespace vt::VT_GPU_NAMESPACE {

VT_KERNEL SigmoidMulKernel(View<const float> x, View<const float> gate, View<float> out,
                           std::int64_t count, std::int64_t per_gate) {
  const std::int64_t i = PointIndex();
  if (i < count) out[i] = x[i] / (1.0f + Exp(0.0f - gate[i / per_gate]));
}

Status LaunchSigmoidMul(const SigmoidMulArgs& args, GpuStream& stream) {
  const std::int64_t count = args.rows * args.cols;
  if (count == 0) return {};
  return Launch(stream, SigmoidMulArgs::kOp, PointwiseShape(count), SigmoidMulKernel,
                View<const float>(args.x, count),
                View<const float>(args.gate, args.rows * args.gate_cols),
                View<float>(args.out, count), count, args.cols / args.gate_cols);
}

}  // namespace vt::VT_GPU_NAMESPACE
