#include "gpu/launchers.h"
#include "gpu/pointwise.h"

namespace vt::VT_GPU_NAMESPACE {

VT_KERNEL AddKernel(View<const float> a, View<const float> b, View<float> out, std::int64_t count,
                    float scale) {
  const std::int64_t i = PointIndex();
  if (i < count) out[i] = Fma(b[i], scale, a[i]);
}

Status LaunchAdd(const AddArgs& args, GpuStream& stream) {
  if (args.count == 0) return {};
  return Launch(stream, AddArgs::kOp, PointwiseShape(args.count), AddKernel,
                View<const float>(args.a, args.count), View<const float>(args.b, args.count),
                View<float>(args.out, args.count), args.count, args.scale);
}

}  // namespace vt::VT_GPU_NAMESPACE
