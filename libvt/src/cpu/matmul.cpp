#include "cpu/matmul.h"

#include <algorithm>
#include <string>

#include "cpu/register.h"
#include "ops/matmul_policy.h"
#include "ops/registry.h"

namespace vt {
namespace {

// Below this many multiply-adds a second thread costs more than it saves.
constexpr std::int64_t kPartProducts = 64 * 1024;
constexpr std::int64_t kPartQuantized = 8 * 1024;
constexpr std::int64_t kRowGrain = 16;  // 64 bytes of out

Support No(std::string reason) { return {false, std::move(reason)}; }

int PartsFor(std::int64_t work, std::int64_t per_part) {
  return static_cast<int>(std::clamp<std::int64_t>(work / per_part, 1, 1024));
}

// Whether rows of w can be read at all.
Support CheckWeight(const Weight& w) {
  const DTypeInfo& info = InfoOf(w.type);
  if (!FindDequantize(w.type)) {
    return No("weights of type " + std::string(info.name) + " are not taken, only f32, f16, bf16 " +
              "and the block formats");
  }
  if (w.layout != WeightLayout::kRowMajor) return No("only row-major weights are taken");
  if (w.cols % info.block != 0) {
    return No("rows must be whole blocks: " + std::to_string(w.cols) + " columns, a block of " +
              std::string(info.name) + " has " + std::to_string(info.block));
  }
  return {};
}

Support SupportsEmbed(const EmbedArgs& args) { return CheckWeight(args.table); }

Support SupportsQuantize(const QuantizeArgs& args) {
  if (args.cols % kQ15Group != 0) {
    return No("columns must be a multiple of 32, seen " + std::to_string(args.cols));
  }
  return {};
}

Support SupportsF32(const MatmulArgs& args) {
  if (args.act != ActType::kF32) return No("takes f32 activations, seen q15");
  return CheckWeight(args.w);
}

Support SupportsQ15(const MatmulArgs& args) {
  if (args.act != ActType::kQ15) return No("takes q15 activations, seen f32");
  if (!HasQ15Form(args.w.type)) {
    std::string names;
    for (const DType type : kQ15WeightTypes) {
      names += (names.empty() ? "" : ", ") + std::string(NameOf(type));
    }
    return No("q15 activations are taken for " + names + "; seen " +
              std::string(NameOf(args.w.type)));
  }
  return CheckWeight(args.w);
}

MatmulShare ShareOf(const Weight& w, Range rows) {
  return {
      .rows = rows,
      .row_bytes = static_cast<std::int64_t>(RowBytes(w.type, static_cast<std::uint64_t>(w.cols))),
      .decode = FindDequantize(w.type)};
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
  const std::int64_t rows = (args.w.rows + kRowGrain - 1) / kRowGrain;
  return static_cast<int>(std::clamp<std::int64_t>(
      rows, 1, PartsFor(args.w.rows * args.w.cols * args.m, kPartProducts)));
}

template <EmbedFn kEmbed>
Kernel<EmbedArgs> EmbedRow(const char* name, Tier tier, int priority, std::uint32_t needs) {
  return {.name = name,
          .tier = tier,
          .priority = priority,
          .needs = needs,
          .supports = SupportsEmbed,
          .run = RunEmbed<kEmbed>};
}

template <QuantizeGroupsFn kGroups>
Kernel<QuantizeArgs> QuantizeRow(const char* name, Tier tier, int priority, std::uint32_t needs) {
  return {.name = name,
          .tier = tier,
          .priority = priority,
          .needs = needs,
          .supports = SupportsQuantize,
          .run = RunQuantize<kGroups>,
          .max_parts = QuantizeParts};
}

template <MatmulFn kMatmul>
Kernel<MatmulArgs> MatmulRow(const char* name, Tier tier, int priority, std::uint32_t needs,
                             Support (*supports)(const MatmulArgs&)) {
  return {.name = name,
          .tier = tier,
          .priority = priority,
          .needs = needs,
          .supports = supports,
          .run = RunMatmul<kMatmul>,
          .max_parts = MatmulParts};
}

}  // namespace

void RegisterCpuMatmul(Registry& registry) {
  constexpr Tier kRef = Tier::kReference;
  constexpr Tier kNat = Tier::kNative;
  registry.Add(EmbedRow<EmbedScalar>("cpu.scalar.f32", kRef, 0, 0));
  registry.Add(EmbedRow<EmbedAvx2>("cpu.avx2.f32", kNat, 10, kFeatureAvx2));
  registry.Add(EmbedRow<EmbedAvx512>("cpu.avx512.f32", kNat, 20, kFeatureAvx512));

  registry.Add(QuantizeRow<QuantizeScalar>("cpu.scalar.q15", kRef, 0, 0));
  registry.Add(QuantizeRow<QuantizeAvx2>("cpu.avx2.q15", kNat, 10, kFeatureAvx2));
  registry.Add(QuantizeRow<QuantizeAvx512>("cpu.avx512.q15", kNat, 20, kFeatureAvx512));

  registry.Add(MatmulRow<MatmulF32Scalar>("cpu.scalar.f32", kRef, 0, 0, SupportsF32));
  registry.Add(MatmulRow<MatmulF32Avx2>("cpu.avx2.f32", kNat, 10, kFeatureAvx2, SupportsF32));
  registry.Add(MatmulRow<MatmulF32Avx512>("cpu.avx512.f32", kNat, 20, kFeatureAvx512, SupportsF32));
  registry.Add(MatmulRow<MatmulQ15Scalar>("cpu.scalar.q15", kRef, 0, 0, SupportsQ15));
  registry.Add(MatmulRow<MatmulQ15Avx2>("cpu.avx2.q15", kNat, 10, kFeatureAvx2, SupportsQ15));
  registry.Add(MatmulRow<MatmulQ15Avx512Vnni>("cpu.avx512vnni.q15", kNat, 30, kFeatureAvx512Vnni,
                                              SupportsQ15));
}

}  // namespace vt
