#include "gpu/launchers.h"
#include "gpu/reduce.h"

namespace vt::VT_GPU_NAMESPACE {

struct CombineShape {
  std::int64_t pairs;
  std::int64_t used;
  std::int64_t cols;
};

// A block to a row. Where the pairs are sorted, its threads first look for the row's own.
VT_KERNEL ExpertCombineKernel(View<const float> x, View<const std::int32_t> order,
                              View<const float> weights, View<float> out, CombineShape s) {
  VT_SHARED(std::int32_t, places, static_cast<int>(kMostExperts));
  const std::int64_t first = BlockIndex() * s.used;
  if (order) {
    for (std::int64_t p = ThreadIndex(); p < s.pairs; p += ThreadCount()) {
      const std::int64_t j = order[p] - first;
      if (j >= 0 && j < s.used) places[j] = static_cast<std::int32_t>(p);
    }
    Barrier();
  }
  for (std::int64_t i = ThreadIndex(); i < s.cols; i += ThreadCount()) {
    float sum = 0.0f;
    for (std::int64_t j = 0; j < s.used; ++j) {
      const std::int64_t at = order ? places[j] : first + j;
      const float v = x[at * s.cols + i];
      const float weight = weights ? weights[first + j] : 1.0f;
      sum = j == 0 ? weight * v : Fma(weight, v, sum);
    }
    out[BlockIndex() * s.cols + i] = sum;
  }
}

Status LaunchExpertCombine(const ExpertCombineArgs& args, GpuStream& stream) {
  if (args.rows == 0) return {};
  const CombineShape shape{.pairs = args.rows * args.used, .used = args.used, .cols = args.cols};
  return Launch(stream, ExpertCombineArgs::kOp,
                {.blocks = args.rows, .threads = RowThreads(args.cols)}, ExpertCombineKernel,
                View<const float>(args.x, shape.pairs * args.cols),
                View<const std::int32_t>(args.order, shape.pairs),
                View<const float>(args.weights, shape.pairs),
                View<float>(args.out, args.rows * args.cols), shape);
}

}  // namespace vt::VT_GPU_NAMESPACE
