#include "gpu/launchers.h"
#include "gpu/pointwise.h"

namespace vt::VT_GPU_NAMESPACE {

struct GatherShape {
  std::int64_t count;  // values in all
  std::int64_t cols;
  std::int64_t used;
};

VT_KERNEL ExpertGatherKernel(View<const float> x, View<const std::int32_t> order,
                             View<const float> weights, View<float> out, GatherShape s) {
  const std::int64_t i = PointIndex();
  if (i >= s.count) return;
  const std::int64_t p = i / s.cols;
  const std::int64_t pair = order ? order[p] : p;
  float v = x[pair / s.used * s.cols + i % s.cols];
  if (weights) v *= weights[pair];
  out[i] = v;
}

Status LaunchExpertGather(const ExpertGatherArgs& args, GpuStream& stream) {
  const GatherShape shape{.count = args.pairs * args.cols, .cols = args.cols, .used = args.used};
  if (shape.count == 0) return {};
  return Launch(stream, ExpertGatherArgs::kOp, PointwiseShape(shape.count), ExpertGatherKernel,
                View<const float>(args.x, args.pairs / args.used * args.cols),
                View<const std::int32_t>(args.order, args.pairs),
                View<const float>(args.weights, args.pairs), View<float>(args.out, shape.count),
                shape);
}

}  // namespace vt::VT_GPU_NAMESPACE
