// Rows of the op table for f8_e4m3 weights and their scales.
#include "cpu/matmul.h"
#include "cpu/register.h"
#include "cpu/weights.h"

namespace vt {
namespace {

constexpr std::int64_t kPartDecoded = 8 * 1024;

Support SupportsDequant(const DequantFp8Args& args) { return CheckF8Weight(args.w); }

Support SupportsMatmul(const MatmulFp8Args& args) {
  return ShapeCheck().And(CheckF8Weight(args.w)).AtLeast("m", args.m, 0);
}

template <DequantF8Fn kDequant>
void RunDequant(const DequantFp8Args& args, Part part) {
  kDequant(args, Share(args.w.rows, part));
}

int DequantParts(const DequantFp8Args& args) {
  return PartsFor(args.w.rows * args.w.cols, kPartDecoded);
}

template <MatmulFn kMatmul>
void RunMatmul(const MatmulFp8Args& args, Part part) {
  const Range rows = Share(args.w.rows, part, kRowGrain);
  if (rows.begin >= rows.end || args.m == 0) return;
  kMatmul(MatmulArgs{.w = args.w,
                     .x = args.x,
                     .m = args.m,
                     .bias = args.bias,
                     .accumulate = args.accumulate,
                     .out = args.out},
          ShareOf(args.w, rows));
}

int MatmulParts(const MatmulFp8Args& args) {
  return ProductParts(args.w.rows, args.w.rows * args.w.cols * args.m);
}

template <DequantF8Fn kDequant, MatmulFn kMatmul>
void AddRows(Registry& registry, const CpuRow& row) {
  AddRow<DequantFp8Args>(registry, row, SupportsDequant, RunDequant<kDequant>, DequantParts);
  AddRow<MatmulFp8Args>(registry, row, SupportsMatmul, RunMatmul<kMatmul>, MatmulParts);
}

}  // namespace

void RegisterCpuFp8(Registry& registry) {
  AddRows<DequantF8Scalar, MatmulF32Scalar>(registry, kScalarF32Row);
  AddRows<DequantF8Avx2, MatmulF32Avx2>(registry, kAvx2F32Row);
  AddRows<DequantF8Avx512, MatmulF32Avx512>(registry, kAvx512F32Row);
}

}  // namespace vt
