#include "gpu/matvec.h"

namespace vt::VT_GPU_NAMESPACE {

// Blocks of q8_0 are 34 bytes, so words of a row are aligned to 2 bytes and no more. Eight lanes
// share a block, four values to a lane: a group reads 136 bytes of weights that lie together, and
// x in full lines.
constexpr int kLaneValues = 4;
constexpr int kBlockLanes = kQ8_0Values / kLaneValues;

template <int kRows>
VT_KERNEL MatvecQ8_0Kernel(Bytes w, View<const float> x, View<const float> bias, View<float> out,
                           MatvecShape shape) {
  const std::int64_t column = MatvecColumn();
  if (column >= shape.n) return;
  const int lane = ThreadIndex() % kGroup;
  const int first = lane % kBlockLanes * kLaneValues;
  float sums[kRows] = {};
  for (std::int64_t b = lane / kBlockLanes; b < shape.k / kQ8_0Values; b += kGroup / kBlockLanes) {
    const std::int64_t at = column * shape.row_bytes + b * kQ8_0Bytes;
    const float scale = F16ToF32(w.Load<std::uint16_t>(at));
    const std::uint32_t words[2] = {w.Load<std::uint16_t>(at + 2 + first),
                                    w.Load<std::uint16_t>(at + 4 + first)};
    float values[kLaneValues];
    VT_UNROLL
    for (int i = 0; i < kLaneValues; ++i) {
      const auto byte = static_cast<std::int8_t>(words[i / 2] >> (i % 2 * 8) & 0xffu);
      values[i] = scale * static_cast<float>(byte);
    }
    VT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      if (r >= shape.m) continue;
      const std::int64_t from = r * shape.k + b * kQ8_0Values + first;
      VT_UNROLL
      for (int i = 0; i < kLaneValues; ++i) sums[r] = Fma(values[i], x[from + i], sums[r]);
    }
  }
  StoreSums(sums, column, shape, bias, out);
}

Status LaunchMatvecQ8_0(const MatmulArgs& args, GpuStream& stream) {
  constexpr MatvecKernel kKernels[] = {MatvecQ8_0Kernel<1>, MatvecQ8_0Kernel<2>,
                                       MatvecQ8_0Kernel<4>, MatvecQ8_0Kernel<8>};
  return LaunchMatvec(args, "matmul q8_0", kKernels, stream);
}

}  // namespace vt::VT_GPU_NAMESPACE
