// Rows of the op table for expert_matmul: a matmul for each run of rows with the same expert.
#include "cpu/matmul.h"
#include "cpu/register.h"
#include "cpu/weights.h"

namespace vt {
namespace {

ShapeCheck CheckExperts(const ExpertMatmulArgs& args) {
  return ShapeCheck()
      .AtLeast("rows", args.rows, 0)
      .AtLeast("experts", args.experts, 1)
      .Multiple("rows of the weight", args.w.rows, args.experts, "experts");
}

Support SupportsF32(const ExpertMatmulArgs& args) {
  return ShapeCheck()
      .And(CheckAct(ActType::kF32, args.act))
      .And(args.w.type == DType::kF8_E4M3 ? CheckF8Weight(args.w) : CheckWeight(args.w))
      .And(CheckExperts(args));
}

Support SupportsQ15(const ExpertMatmulArgs& args) {
  return ShapeCheck()
      .And(CheckAct(ActType::kQ15, args.act))
      .And(CheckQ15Weight(args.w))
      .And(CheckExperts(args));
}

// The matmul of rows [begin, end), which share an expert.
MatmulArgs ProductOf(const ExpertMatmulArgs& args, std::int64_t row_bytes, std::int64_t begin,
                     std::int64_t end) {
  const std::int64_t n = args.w.rows / args.experts;
  const std::int64_t first = args.ids[begin] * n;
  MatmulArgs one{.w = args.w, .act = args.act, .m = end - begin, .out = args.out + begin * n};
  one.w.rows = n;
  one.w.data = static_cast<const std::uint8_t*>(args.w.data) + first * row_bytes;
  if (args.w.row_scales) one.w.row_scales = args.w.row_scales + first;
  if (args.act == ActType::kF32) {
    one.x = args.x + begin * args.w.cols;
  } else {
    const std::int64_t group = begin * (args.w.cols / kQ15Group);
    one.q = {.high = args.q.high + group * kQ15Group,
             .low = args.q.low + group * kQ15Group,
             .scales = args.q.scales + group,
             .sums = args.q.sums + group};
  }
  return one;
}

template <MatmulFn kMatmul>
void Run(const ExpertMatmulArgs& args, Part part) {
  const Range share = Share(args.w.rows / args.experts, part, kRowGrain);
  if (share.begin >= share.end) return;
  const MatmulShare rows = ShareOf(args.w, share);
  for (std::int64_t r = 0; r < args.rows;) {
    std::int64_t end = r + 1;
    while (end < args.rows && args.ids[end] == args.ids[r]) ++end;
    kMatmul(ProductOf(args, rows.row_bytes, r, end), rows);
    r = end;
  }
}

int Parts(const ExpertMatmulArgs& args) {
  const std::int64_t n = args.w.rows / args.experts;
  return ProductParts(n, n * args.w.cols * args.rows);
}

}  // namespace

void RegisterCpuExperts(Registry& registry) {
  using Args = ExpertMatmulArgs;
  AddRow<Args>(registry, kScalarF32Row, SupportsF32, Run<MatmulF32Scalar>, Parts);
  AddRow<Args>(registry, kAvx2F32Row, SupportsF32, Run<MatmulF32Avx2>, Parts);
  AddRow<Args>(registry, kAvx512F32Row, SupportsF32, Run<MatmulF32Avx512>, Parts);
  AddRow<Args>(registry, kScalarQ15Row, SupportsQ15, Run<MatmulQ15Scalar>, Parts);
  AddRow<Args>(registry, kAvx2Q15Row, SupportsQ15, Run<MatmulQ15Avx2>, Parts);
  AddRow<Args>(registry, kAvx512VnniQ15Row, SupportsQ15, Run<MatmulQ15Avx512Vnni>, Parts);
}

}  // namespace vt
