#include "cpu/matmul.h"

#include "cpu/register.h"
#include "cpu/weights.h"

namespace vt {
namespace {

constexpr std::int64_t kPartQuantized = 8 * 1024;

Support SupportsEmbed(const EmbedArgs& args) {
  return ShapeCheck().AtLeast("rows", args.rows, 0).And(CheckAnyWeight(args.table));
}

Support SupportsQuantize(const QuantizeArgs& args) {
  return ShapeCheck()
      .AtLeast("rows", args.rows, 0)
      .AtLeast("columns", args.cols, 0)
      .Multiple("columns", args.cols, kQ15Group, "the group of q15");
}

Support SupportsF32(const MatmulArgs& args) {
  return ShapeCheck()
      .And(CheckAct(ActType::kF32, args.act))
      .And(CheckWeight(args.w))
      .AtLeast("m", args.m, 0);
}

Support SupportsQ15(const MatmulArgs& args) {
  return ShapeCheck()
      .And(CheckAct(ActType::kQ15, args.act))
      .And(CheckQ15Weight(args.w))
      .AtLeast("m", args.m, 0);
}

template <EmbedFn kEmbed>
void RunEmbed(const EmbedArgs& args, Part part) {
  const Range rows = Share(args.rows, part);
  if (rows.begin < rows.end) kEmbed(args, ShareOf(args.table, rows));
}

template <QuantizeGroupsFn kGroups>
void RunQuantize(const QuantizeArgs& args, Part part) {
  const Range groups = Share(args.rows * (args.cols / kQ15Group), part);
  if (groups.begin < groups.end) kGroups(args, groups);
}

template <MatmulFn kMatmul>
void RunMatmul(const MatmulArgs& args, Part part) {
  const Range rows = Share(args.w.rows, part, kRowGrain);
  if (rows.begin < rows.end && args.m > 0) kMatmul(args, ShareOf(args.w, rows));
}

int QuantizeParts(const QuantizeArgs& args) {
  return PartsFor(args.rows * args.cols, kPartQuantized);
}

int MatmulParts(const MatmulArgs& args) {
  return ProductParts(args.w.rows, args.w.rows * args.w.cols * args.m);
}

template <EmbedFn kEmbed>
void AddEmbed(Registry& registry, const CpuRow& row) {
  AddRow<EmbedArgs>(registry, row, SupportsEmbed, RunEmbed<kEmbed>, nullptr);
}

template <QuantizeGroupsFn kGroups>
void AddQuantize(Registry& registry, const CpuRow& row) {
  AddRow<QuantizeArgs>(registry, row, SupportsQuantize, RunQuantize<kGroups>, QuantizeParts);
}

template <MatmulFn kMatmul>
void AddMatmul(Registry& registry, const CpuRow& row, Support (*supports)(const MatmulArgs&)) {
  AddRow<MatmulArgs>(registry, row, supports, RunMatmul<kMatmul>, MatmulParts);
}

}  // namespace

void RegisterCpuMatmul(Registry& registry) {
  AddEmbed<EmbedScalar>(registry, kScalarF32Row);
  AddEmbed<EmbedAvx2>(registry, kAvx2F32Row);
  AddEmbed<EmbedAvx512>(registry, kAvx512F32Row);

  AddQuantize<QuantizeScalar>(registry, kScalarQ15Row);
  AddQuantize<QuantizeAvx2>(registry, kAvx2Q15Row);
  AddQuantize<QuantizeAvx512>(registry, kAvx512Q15Row);

  AddMatmul<MatmulF32Scalar>(registry, kScalarF32Row, SupportsF32);
  AddMatmul<MatmulF32Avx2>(registry, kAvx2F32Row, SupportsF32);
  AddMatmul<MatmulF32Avx512>(registry, kAvx512F32Row, SupportsF32);
  AddMatmul<MatmulQ15Scalar>(registry, kScalarQ15Row, SupportsQ15);
  AddMatmul<MatmulQ15Avx2>(registry, kAvx2Q15Row, SupportsQ15);
  AddMatmul<MatmulQ15Avx512Vnni>(registry, kAvx512VnniQ15Row, SupportsQ15);
}

}  // namespace vt
