// Rows of the op table for expert_matmul: a matmul for each run of rows with the same expert.
#include "cpu/matmul.h"
#include "cpu/register.h"
#include "cpu/weights.h"

namespace vt {
namespace {

ShapeCheck CheckExpertRows(const ExpertMatmulArgs& args) {
  const std::int64_t rows = args.experts > 0 ? args.w.rows / args.experts : 0;
  return ShapeCheck()
      .AtLeast("first", args.first, 0)
      .AtLeast("n", args.n, 0)
      .True(args.n > 0 || args.first == 0,
            [&] {
              return "first (" + std::to_string(args.first) + ") must be 0 where n is 0, all rows";
            })
      .AtMost("n", args.n, "rows of an expert from first on", rows - args.first);
}

ShapeCheck CheckExperts(const ExpertMatmulArgs& args) {
  return ShapeCheck()
      .AtLeast("rows", args.rows, 0)
      .AtLeast("experts", args.experts, 1)
      .Multiple("rows of the weight", args.w.rows, args.experts, "experts")
      .And(CheckExpertRows(args))
      .AtLeast("x_repeat", args.x_repeat, 1)
      .Multiple("rows", args.rows, args.x_repeat, "x_repeat");
}

Support SupportsF32(const ExpertMatmulArgs& args) {
  return ShapeCheck()
      .And(CheckAct(ActType::kF32, args.act))
      .And(CheckAnyWeight(args.w))
      .And(CheckExperts(args));
}

Support SupportsQ15(const ExpertMatmulArgs& args) {
  return ShapeCheck()
      .And(CheckAct(ActType::kQ15, args.act))
      .And(CheckQ15Weight(args.w))
      .And(CheckExperts(args));
}

// The matmul of rows [begin, end), which share an expert and, where there are several, have a row
// of x each.
MatmulArgs ProductOf(const ExpertMatmulArgs& args, std::int64_t row_bytes, std::int64_t begin,
                     std::int64_t end) {
  const std::int64_t n = ExpertOutputs(args);
  const std::int64_t first = args.ids[begin] * (args.w.rows / args.experts) + args.first;
  const std::int64_t x_row = begin / args.x_repeat;
  MatmulArgs one{.w = args.w, .act = args.act, .m = end - begin, .out = args.out + begin * n};
  one.w.rows = n;
  one.w.data = static_cast<const std::uint8_t*>(args.w.data) + first * row_bytes;
  if (args.bias) one.bias = args.bias + first;
  one.w.scales.first_row += first;
  if (args.act == ActType::kF32) {
    one.x = args.x + x_row * args.w.cols;
  } else {
    const std::int64_t group = x_row * (args.w.cols / kQ15Group);
    one.q = {.high = args.q.high + group * kQ15Group,
             .low = args.q.low + group * kQ15Group,
             .scales = args.q.scales + group,
             .sums = args.q.sums + group};
  }
  return one;
}

template <MatmulFn kMatmul>
void Run(const ExpertMatmulArgs& args, Part part) {
  const Range share = Share(ExpertOutputs(args), part, kRowGrain);
  if (share.begin >= share.end) return;
  const MatmulShare rows = ShareOf(args.w, share);
  for (std::int64_t r = 0; r < args.rows;) {
    std::int64_t end = r + 1;
    if (args.x_repeat == 1) {
      while (end < args.rows && args.ids[end] == args.ids[r]) ++end;
    }
    kMatmul(ProductOf(args, rows.row_bytes, r, end), rows);
    r = end;
  }
}

int Parts(const ExpertMatmulArgs& args) {
  const std::int64_t n = ExpertOutputs(args);
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
