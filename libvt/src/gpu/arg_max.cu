#include "gpu/launchers.h"
#include "gpu/reduce.h"

namespace vt::VT_GPU_NAMESPACE {

struct Candidate {
  float value;
  std::int32_t index;
};
// The larger value; of equals, the lower index.
VT_DEVICE Candidate Better(Candidate a, Candidate b) {
  const bool second = b.value > a.value || (b.value == a.value && b.index < a.index);
  return second ? b : a;
}

// A block to a row: a vocabulary is read once, and 256 threads keep that many loads in flight.
VT_KERNEL ArgMaxKernel(View<const float> x, View<std::int32_t> out, std::int64_t cols) {
  VT_SHARED(float, values, kMostGroups);
  VT_SHARED(std::int32_t, indices, kMostGroups);
  const std::int64_t begin = BlockIndex() * cols;
  // Loses against every value of the row, and against -infinity by its index.
  Candidate best{-Infinity(), 0x7fffffff};
  for (std::int64_t i = ThreadIndex(); i < cols; i += ThreadCount()) {
    const float v = x[begin + i];
    best = Better(best, {v == v ? v : -Infinity(), static_cast<std::int32_t>(i)});
  }
  for (int mask = kGroup / 2; mask > 0; mask /= 2) {
    best = Better(best, {ShuffleXor(best.value, mask), ShuffleXor(best.index, mask)});
  }
  if (ThreadIndex() % kGroup == 0) {
    values[ThreadIndex() / kGroup] = best.value;
    indices[ThreadIndex() / kGroup] = best.index;
  }
  Barrier();
  if (ThreadIndex() != 0) return;
  for (int g = 1; g < ThreadCount() / kGroup; ++g) {
    best = Better(best, {values[g], indices[g]});
  }
  out[BlockIndex()] = best.index;
}

Status LaunchArgMax(const ArgMaxArgs& args, GpuStream& stream) {
  if (args.rows == 0) return {};
  return Launch(stream, ArgMaxArgs::kOp, {.blocks = args.rows, .threads = RowThreads(args.cols)},
                ArgMaxKernel, View<const float>(args.x, args.rows * args.cols),
                View<std::int32_t>(args.out, args.rows), args.cols);
}

}  // namespace vt::VT_GPU_NAMESPACE
