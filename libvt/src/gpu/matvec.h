// What the products of few rows of activations with a weight share: how outputs are divided over
// groups of lanes, and how a group's sums become outputs.
#pragma once

#include "gpu/launchers.h"
#include "gpu/reduce.h"
#include "gpu/weights.h"

namespace vt::VT_GPU_NAMESPACE {

// A group to an output column n, which reads row n of the weight once for all rows of x. Four
// groups to a block: enough warps in flight, and a block ends early where rows run out.
inline constexpr int kMatvecGroups = 4;

struct MatvecShape {
  std::int64_t n;
  std::int64_t k;
  std::int64_t m;  // at most the kernel's kRows
  std::int64_t row_bytes;
  bool accumulate;
};

VT_DEVICE std::int64_t MatvecColumn() {
  return BlockIndex() * kMatvecGroups + ThreadIndex() / kGroup;
}

// sums: of each lane; the same order for every m.
template <int kRows>
VT_DEVICE void StoreSums(const float (&sums)[kRows], std::int64_t column, const MatvecShape& shape,
                         const View<const float>& bias, const View<float>& out) {
  VT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    if (r >= shape.m) continue;
    float sum = GroupSum(sums[r]);
    if (ThreadIndex() % kGroup != 0) continue;
    const std::int64_t at = r * shape.n + column;
    if (bias) sum += bias[column];
    if (shape.accumulate) sum += out[at];
    out[at] = sum;
  }
}

// Launches kernels[i], which takes up to 2^i rows of x, with the fewest that are enough.
using MatvecKernel = void (*)(Bytes w, View<const float> x, View<const float> bias, View<float> out,
                              MatvecShape shape);
inline Status LaunchMatvec(const MatmulArgs& args, const char* name,
                           const MatvecKernel (&kernels)[4], GpuStream& stream) {
  const MatvecShape shape{.n = args.w.rows,
                          .k = args.w.cols,
                          .m = args.m,
                          .row_bytes = static_cast<std::int64_t>(
                              RowBytes(args.w.type, static_cast<std::uint64_t>(args.w.cols))),
                          .accumulate = args.accumulate};
  if (shape.n == 0 || shape.m == 0) return {};
  int which = 0;
  while (1 << which < shape.m) ++which;
  return Launch(
      stream, name,
      {.blocks = (shape.n + kMatvecGroups - 1) / kMatvecGroups, .threads = kMatvecGroups * kGroup},
      kernels[which], BytesOf(args.w), View<const float>(args.x, shape.m * shape.k),
      View<const float>(args.bias, shape.n), View<float>(args.out, shape.m * shape.n), shape);
}

}  // namespace vt::VT_GPU_NAMESPACE
