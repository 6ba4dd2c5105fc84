#include "gpu/launchers.h"
#include "gpu/math.h"
#include "gpu/pointwise.h"

namespace vt::VT_GPU_NAMESPACE {

VT_KERNEL SiluMulKernel(View<const float> gate, View<const float> up, View<float> out,
                        std::int64_t count) {
  const std::int64_t i = PointIndex();
  if (i < count) out[i] = Silu(gate[i]) * up[i];
}

Status LaunchSiluMul(const SiluMulArgs& args, GpuStream& stream) {
  if (args.count == 0) return {};
  return Launch(stream, SiluMulArgs::kOp, PointwiseShape(args.count), SiluMulKernel,
                View<const float>(args.gate, args.count), View<const float>(args.up, args.count),
                View<float>(args.out, args.count), args.count);
}

}  // namespace vt::VT_GPU_NAMESPACE
