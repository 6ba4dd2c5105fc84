#include "gpu/launchers.h"
#include "gpu/reduce.h"

namespace vt::VT_GPU_NAMESPACE {

// As rms_norm, and then add, in one pass: the same operations, so the same bits.
VT_KERNEL RmsNormAddKernel(View<const float> x, View<const float> weight,
                           View<const float> residual, View<float> out, std::int64_t cols,
                           float eps) {
  const std::int64_t begin = BlockIndex() * cols;
  const float inverse = InverseRms(x, begin, cols, eps);
  for (std::int64_t i = ThreadIndex(); i < cols; i += ThreadCount()) {
    float v = x[begin + i] * inverse;
    if (weight) v *= weight[i];
    out[begin + i] = residual[begin + i] + v;
  }
}

Status LaunchRmsNormAdd(const RmsNormAddArgs& args, GpuStream& stream) {
  if (args.rows == 0) return {};
  const std::int64_t size = args.rows * args.cols;
  return Launch(
      stream, RmsNormAddArgs::kOp, {.blocks = args.rows, .threads = RowThreads(args.cols)},
      RmsNormAddKernel, View<const float>(args.x, size), View<const float>(args.weight, args.cols),
      View<const float>(args.residual, size), View<float>(args.out, size), args.cols, args.eps);
}

}  // namespace vt::VT_GPU_NAMESPACE
