#include "gpu/matvec.h"

namespace vt::VT_GPU_NAMESPACE {

// A group takes one block of 256 values at a time: its 128 bytes of nibbles are one word to a lane,
// read as one line. A lane's word holds four values of a run of 32 and four of the next.
constexpr int kWordBytes = 4;

template <int kRows>
VT_KERNEL MatvecQ4_KKernel(Bytes w, View<const float> x, View<const float> bias, View<float> out,
                           MatvecShape shape) {
  const std::int64_t column = MatvecColumn();
  if (column >= shape.n) return;
  const int lane = ThreadIndex() % kGroup;
  const int low_run = lane / 8 * 2;
  const int within = lane % 8 * kWordBytes;
  float sums[kRows] = {};
  for (std::int64_t b = 0; b < shape.k / kQ4_KValues; ++b) {
    const std::int64_t at = column * shape.row_bytes + b * kQ4_KBytes;
    const auto word = w.Load<std::uint32_t>(at + kQ4_KNibbles + lane * kWordBytes);
    const ScaleAndMin low = ReadQ4_KScale(w, at, low_run);
    const ScaleAndMin high = ReadQ4_KScale(w, at, low_run + 1);
    float values[2 * kWordBytes];
    VT_UNROLL
    for (int i = 0; i < kWordBytes; ++i) {
      const std::uint32_t byte = word >> (8 * i);
      values[i] = low.scale * static_cast<float>(byte & 15u) - low.min;
      values[kWordBytes + i] = high.scale * static_cast<float>(byte >> 4 & 15u) - high.min;
    }
    VT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      if (r >= shape.m) continue;
      const std::int64_t from = r * shape.k + b * kQ4_KValues + low_run * 32 + within;
      VT_UNROLL
      for (int i = 0; i < kWordBytes; ++i) {
        sums[r] = Fma(values[i], x[from + i], sums[r]);
        sums[r] = Fma(values[kWordBytes + i], x[from + 32 + i], sums[r]);
      }
    }
  }
  StoreSums(sums, column, shape, bias, out);
}

Status LaunchMatvecQ4_K(const MatmulArgs& args, GpuStream& stream) {
  constexpr MatvecKernel kKernels[] = {MatvecQ4_KKernel<1>, MatvecQ4_KKernel<2>,
                                       MatvecQ4_KKernel<4>, MatvecQ4_KKernel<8>};
  return LaunchMatvec(args, "matmul q4_k", kKernels, stream);
}

}  // namespace vt::VT_GPU_NAMESPACE
