#include "gpu/launchers.h"
#include "gpu/pointwise.h"

namespace vt::VT_GPU_NAMESPACE {

VT_KERNEL CopyColumnsKernel(View<const float> x, View<float> out, std::int64_t count,
                            std::int64_t cols, std::int64_t x_stride, std::int64_t out_stride) {
  const std::int64_t i = PointIndex();
  if (i >= count) return;
  const std::int64_t row = i / cols, col = i % cols;
  out[row * out_stride + col] = x[row * x_stride + col];
}

Status LaunchCopyColumns(const CopyColumnsArgs& args, GpuStream& stream) {
  const std::int64_t count = args.rows * args.cols;
  if (count == 0) return {};
  const std::int64_t x_stride = args.x_stride == 0 ? args.cols : args.x_stride;
  const std::int64_t out_stride = args.out_stride == 0 ? args.cols : args.out_stride;
  return Launch(stream, CopyColumnsArgs::kOp, PointwiseShape(count), CopyColumnsKernel,
                View<const float>(args.x, (args.rows - 1) * x_stride + args.cols),
                View<float>(args.out, (args.rows - 1) * out_stride + args.cols), count, args.cols,
                x_stride, out_stride);
}

}  // namespace vt::VT_GPU_NAMESPACE
