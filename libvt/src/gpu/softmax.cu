#include "gpu/launchers.h"
#include "gpu/math.h"
#include "gpu/reduce.h"

namespace vt::VT_GPU_NAMESPACE {

// A block to a row, three passes over it: the maximum, the exponentials and their sum, the
// quotients. A NaN is passed over by the maximum and reaches the sum; so does infinity less
// infinity. A thread reads and writes its own values alone, so out may be x.
VT_KERNEL SoftmaxKernel(View<const float> x, View<float> out, std::int64_t cols, float scale) {
  const std::int64_t begin = BlockIndex() * cols;
  float most = -Infinity();
  for (std::int64_t i = ThreadIndex(); i < cols; i += ThreadCount()) {
    const float s = x[begin + i] * scale;
    most = s > most ? s : most;
  }
  most = BlockMax(most);
  float sum = 0.0f;
  for (std::int64_t i = ThreadIndex(); i < cols; i += ThreadCount()) {
    const float e = Exp(x[begin + i] * scale - most);
    out[begin + i] = e;
    sum += e;
  }
  sum = BlockSum(sum);
  for (std::int64_t i = ThreadIndex(); i < cols; i += ThreadCount()) {
    out[begin + i] = out[begin + i] / sum;
  }
}

Status LaunchSoftmax(const SoftmaxArgs& args, GpuStream& stream) {
  if (args.rows == 0) return {};
  const std::int64_t size = args.rows * args.cols;
  return Launch(stream, SoftmaxArgs::kOp, {.blocks = args.rows, .threads = RowThreads(args.cols)},
                SoftmaxKernel, View<const float>(args.x, size), View<float>(args.out, size),
                args.cols, args.scale);
}

}  // namespace vt::VT_GPU_NAMESPACE
