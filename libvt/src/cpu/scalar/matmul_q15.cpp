#include "cpu/generic/q15_group.h"
#include "cpu/matmul.h"

namespace vt {
namespace {

constexpr int kBlockCols = 32;  // rows of x that share an unpacked group
constexpr int kSums = 8;

float FoldSums(const float* s) {
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

void OneRow(const MatmulArgs& args, const MatmulShare& share, std::int64_t r, std::int64_t x0,
            int count) {
  const std::int64_t groups = args.w.cols / kQ15Group;
  const std::int64_t padded = (groups + kSums - 1) / kSums * kSums;
  const auto* row = static_cast<const std::uint8_t*>(args.w.data) + r * share.row_bytes;
  const Q15Form form = FormOf(args.w.type);
  float sums[kBlockCols][kSums] = {};
  for (std::int64_t g = 0; g < groups; ++g) {
    const Q15Group group = UnpackGroup(args.w.type, row, g);
    for (int c = 0; c < count; ++c) {
      const std::int64_t at = (x0 + c) * groups + g;
      float& sum = sums[c][g % kSums];
      const float t =
          GroupProduct(form, group, args.q.high + at * kQ15Group, args.q.low + at * kQ15Group);
      sum = __builtin_fmaf(t, args.q.scales[at], sum);
    }
  }
  for (int c = 0; c < count; ++c) {
    // Turns a -0 into 0, as the vector kernels' empty groups do.
    for (std::int64_t g = groups; g < padded; ++g) sums[c][g % kSums] += 0.0f;
    float value = FoldSums(sums[c]);
    if (args.bias) value += args.bias[r];
    float& out = args.out[(x0 + c) * args.w.rows + r];
    out = args.accumulate ? value + out : value;
  }
}

}  // namespace

void MatmulQ15Scalar(const MatmulArgs& args, const MatmulShare& share) {
  for (std::int64_t x0 = 0; x0 < args.m; x0 += kBlockCols) {
    const int count = args.m - x0 < kBlockCols ? static_cast<int>(args.m - x0) : kBlockCols;
    for (std::int64_t r = share.rows.begin; r < share.rows.end; ++r) {
      OneRow(args, share, r, x0, count);
    }
  }
}

}  // namespace vt
