#include "gpu/launchers.h"
#include "gpu/reduce.h"

namespace vt::VT_GPU_NAMESPACE {

// A block to a row. A thread writes only values that it alone reads, so out may be x.
VT_KERNEL RmsNormKernel(View<const float> x, View<const float> weight, View<const float> bias,
                        View<float> out, std::int64_t cols, std::int64_t stride,
                        std::int64_t weight_rows, float eps) {
  const std::int64_t row = BlockIndex();
  const std::int64_t weight_begin = row % weight_rows * cols;
  const float inverse = InverseRms(x, row * stride, cols, eps);
  for (std::int64_t i = ThreadIndex(); i < cols; i += ThreadCount()) {
    float v = x[row * stride + i] * inverse;
    if (weight) v *= weight[weight_begin + i];
    if (bias) v += bias[weight_begin + i];
    out[row * stride + i] = v;
  }
}

Status LaunchRmsNorm(const RmsNormArgs& args, GpuStream& stream) {
  if (args.rows == 0) return {};
  const std::int64_t stride = args.stride == 0 ? args.cols : args.stride;
  const std::int64_t size = (args.rows - 1) * stride + args.cols;
  return Launch(stream, RmsNormArgs::kOp, {.blocks = args.rows, .threads = RowThreads(args.cols)},
                RmsNormKernel, View<const float>(args.x, size),
                View<const float>(args.weight, args.weight_rows * args.cols),
                View<const float>(args.bias, args.weight_rows * args.cols),
                View<float>(args.out, size), args.cols, stride, args.weight_rows, args.eps);
}

}  // namespace vt::VT_GPU_NAMESPACE
