#include "gpu/launchers.h"
#include "gpu/pointwise.h"

namespace vt::VT_GPU_NAMESPACE {

struct RopeShape {
  std::int64_t count;  // pairs in all
  std::int64_t heads;
  std::int64_t head_dim;
  std::int64_t pairs;
  std::int64_t stride;
  bool half;
};

// A thread to a pair: neighbours take neighbouring pairs of one head, in both layouts.
VT_KERNEL RopeKernel(View<float> x, View<const float> table, RopeShape s) {
  const std::int64_t at = PointIndex();
  if (at >= s.count) return;
  const std::int64_t i = at % s.pairs;
  const std::int64_t head = at / s.pairs % s.heads;
  const std::int64_t row = at / s.pairs / s.heads;
  const float cosine = table[row * 2 * s.pairs + i];
  const float sine = table[(row * 2 + 1) * s.pairs + i];
  const std::int64_t begin = row * s.stride + head * s.head_dim;
  const std::int64_t first = begin + (s.half ? i : 2 * i);
  const std::int64_t second = begin + (s.half ? i + s.pairs : 2 * i + 1);
  const float a = x[first], b = x[second];
  x[first] = a * cosine - b * sine;
  x[second] = a * sine + b * cosine;
}

Status LaunchRope(const RopeArgs& args, GpuStream& stream) {
  const std::int64_t width = args.heads * args.head_dim;
  const RopeShape shape{.count = args.rows * args.heads * args.pairs,
                        .heads = args.heads,
                        .head_dim = args.head_dim,
                        .pairs = args.pairs,
                        .stride = args.stride == 0 ? width : args.stride,
                        .half = args.layout == RopeLayout::kHalf};
  if (shape.count == 0) return {};
  return Launch(stream, RopeArgs::kOp, PointwiseShape(shape.count), RopeKernel,
                View<float>(args.x, (args.rows - 1) * shape.stride + width),
                View<const float>(args.table, args.rows * 2 * args.pairs), shape);
}

}  // namespace vt::VT_GPU_NAMESPACE
