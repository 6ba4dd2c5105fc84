#include "cpu/weights.h"

#include <algorithm>
#include <string>

#include "ops/matmul_policy.h"

namespace vt {
namespace {

// Below this many multiply-adds a second thread costs more than it saves.
constexpr std::int64_t kPartProducts = 64 * 1024;

ShapeCheck CheckShape(const Weight& w) {
  const DTypeInfo& info = InfoOf(w.type);
  return ShapeCheck()
      .True(w.layout == WeightLayout::kRowMajor, [] { return "only row-major weights are taken"; })
      .AtLeast("rows of the weight", w.rows, 0)
      .AtLeast("columns of the weight", w.cols, 0)
      .Multiple("columns of the weight", w.cols, info.block, info.name);
}

}  // namespace

Support CheckWeight(const Weight& w) {
  return ShapeCheck()
      .True(
          w.type != DType::kF8_E4M3,
          [] {
            return "f8_e4m3 weights are taken by matmul_fp8, embed, head_matmul and the expert ops";
          })
      .True(FindDequantize(w.type) != nullptr,
            [&] {
              return "weights of type " + std::string(NameOf(w.type)) +
                     " are not taken, only f32, f16, bf16 and the block formats";
            })
      .And(CheckShape(w));
}

Support CheckF8Weight(const Weight& w) {
  return ShapeCheck()
      .True(w.type == DType::kF8_E4M3,
            [&] { return "takes weights of type f8_e4m3, seen " + std::string(NameOf(w.type)); })
      .And(CheckShape(w))
      .AtLeast("rows of a block of scales", w.scales.block_rows, 1)
      .AtLeast("columns of a block of scales", w.scales.block_cols, 0)
      .AtLeast("rows between matrices of scales", w.scales.matrix_rows, 0)
      .AtLeast("first row of scales", w.scales.first_row, 0);
}

Support CheckAnyWeight(const Weight& w) {
  return w.type == DType::kF8_E4M3 ? CheckF8Weight(w) : CheckWeight(w);
}

Support CheckQ15Weight(const Weight& w) {
  return ShapeCheck()
      .True(HasQ15Form(w.type),
            [&] {
              std::string names;
              for (const DType type : kQ15WeightTypes) {
                names += (names.empty() ? "" : ", ") + std::string(NameOf(type));
              }
              return "q15 activations are taken for " + names + "; seen " +
                     std::string(NameOf(w.type));
            })
      .And(CheckShape(w));
}

Support CheckAct(ActType taken, ActType seen) {
  return ShapeCheck().True(taken == seen, [&] {
    return taken == ActType::kF32 ? "takes f32 activations, seen q15"
                                  : "takes q15 activations, seen f32";
  });
}

MatmulShare ShareOf(const Weight& w, Range rows) {
  return {
      .rows = rows,
      .row_bytes = static_cast<std::int64_t>(RowBytes(w.type, static_cast<std::uint64_t>(w.cols))),
      .decode = FindDequantize(w.type)};
}

int ProductParts(std::int64_t rows, std::int64_t products) {
  const std::int64_t groups = (rows + kRowGrain - 1) / kRowGrain;
  return static_cast<int>(std::clamp<std::int64_t>(groups, 1, PartsFor(products, kPartProducts)));
}

int PartsFor(std::int64_t work, std::int64_t per_part) {
  return static_cast<int>(std::clamp<std::int64_t>(work / per_part, 1, 1024));
}

}  // namespace vt
