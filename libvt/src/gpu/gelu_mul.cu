#include "gpu/launchers.h"
#include "gpu/math.h"
#include "gpu/pointwise.h"

namespace vt::VT_GPU_NAMESPACE {

VT_KERNEL GeluMulKernel(View<const float> gate, View<const float> up, View<float> out,
                        std::int64_t count) {
  const std::int64_t i = PointIndex();
  if (i < count) out[i] = Gelu(gate[i]) * up[i];
}

Status LaunchGeluMul(const GeluMulArgs& args, GpuStream& stream) {
  if (args.count == 0) return {};
  return Launch(stream, GeluMulArgs::kOp, PointwiseShape(args.count), GeluMulKernel,
                View<const float>(args.gate, args.count), View<const float>(args.up, args.count),
                View<float>(args.out, args.count), args.count);
}

}  // namespace vt::VT_GPU_NAMESPACE
