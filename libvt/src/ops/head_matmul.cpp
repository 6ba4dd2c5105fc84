#include <utility>

#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/cases/weight_cases.h"
#include "ops/op_facts.h"
#include "ops/shape_check.h"
#include "ops/shape_names.h"

namespace vt {
namespace {

std::int64_t OutputsOf(const HeadMatmulArgs& a) {
  return a.heads > 0 ? a.w.rows / a.heads : a.w.rows;
}

Support CheckShape(const HeadMatmulArgs& a) {
  return ShapeCheck()
      .AtLeast("rows", a.rows, 0)
      .AtLeast("heads", a.heads, 1)
      .Multiple("rows of the weight", a.w.rows, a.heads, "heads")
      .True(a.x_stride == 0 || a.x_stride >= a.w.cols,
            [&] {
              return "x_stride (" + Text(a.x_stride) + ") must be 0 or at least the columns (" +
                     Text(a.w.cols) + ")";
            })
      .True(a.out_stride == 0 || a.out_stride >= OutputsOf(a), [&] {
        return "out_stride (" + Text(a.out_stride) + ") must be 0 or at least a head's rows (" +
               Text(OutputsOf(a)) + ")";
      });
}

std::int64_t OutputFloats(const HeadMatmulArgs& a) {
  return Extent(a.rows * a.heads, OutputsOf(a), a.out_stride);
}

// Values between the heads are not the op's: with a stride its result is no run of floats.
OpOutput Output(const HeadMatmulArgs& a) {
  if (a.out_stride != 0 && a.out_stride != OutputsOf(a)) return {};
  return {a.out, a.rows * a.w.rows};
}

DType WeightType(const HeadMatmulArgs& a) { return a.w.type; }

OpShape Shape(const HeadMatmulArgs& a) {
  return {.type = TypeName(a.w.type),
          .form = "f32",
          .sizes = {{"rows", a.rows}, {"heads", a.heads}, {"n", OutputsOf(a)}, {"k", a.w.cols}}};
}

void AddCases(CaseList& list, Sweep sweep) {
  const auto add = [&](DType type, std::int64_t heads, std::int64_t n, std::int64_t k,
                       std::int64_t rows, std::int64_t turn) {
    HeadMatmulArgs args{.w = Shaped(type, heads * n, k), .heads = heads, .rows = rows};
    args.x_stride = Pick<std::int64_t>(turn, {0, k + 3, k});
    args.out_stride = Pick<std::int64_t>(turn, {0, n, n + 5, n + 1});
    list.push_back({.call = args});
  };
  ForEachType(sweep, [&](DType type, std::int64_t cols, std::int64_t turn) {
    const std::int64_t heads = sweep == Sweep::kSpeed ? 8 : Pick<std::int64_t>(turn, {1, 3, 2, 5});
    add(type, heads, OutputsAt(sweep, turn) / (sweep == Sweep::kSpeed ? 8 : 1), cols,
        FewRowsAt(sweep, turn), sweep == Sweep::kSpeed ? 0 : turn);
  });
  if (sweep == Sweep::kSpeed) return;
  ForEachBrokenBlock(sweep, [&](DType type, std::int64_t cols) {
    list.push_back({.call = HeadMatmulArgs{.w = Shaped(type, 6, cols), .heads = 2, .rows = 2},
                    .refused = true});
  });
  // More rows than a pass takes, and weights that do not fit the room for decoded ones at once.
  std::int64_t turn = 0;
  for (const DType type :
       {DType::kF32, DType::kBF16, DType::kQ8_0, DType::kIQ4_NL, DType::kIQ2_XS, DType::kF8_E4M3}) {
    for (const std::int64_t rows : {16, 33, 70}) add(type, 3, 17, 256, rows, turn++);
    add(type, 2, 33, 1024, 40, turn++);
  }
  // Heads that begin within a block of scales, decoded anew for each pass or once.
  for (const std::int64_t rows : {1, 5, 40}) {
    list.push_back(
        {.call = HeadMatmulArgs{.w = ScaledBlocks(1, 3 * 70, 200), .heads = 3, .rows = rows}});
    list.push_back(
        {.call = HeadMatmulArgs{.w = ScaledBlocks(1, 2 * 192, 300), .heads = 2, .rows = rows}});
    list.push_back(
        {.call = HeadMatmulArgs{.w = ScaledBlocks(3, 130, 129), .heads = 3, .rows = rows}});
  }
  // The two products of a latent attention of 128 + 64 values in 512.
  add(DType::kQ8_0, 2, 512, 128, 3, 1);
  add(DType::kQ8_0, 2, 128, 512, 3, 2);
  const Weight w = Shaped(DType::kQ8_0, 12, 64);
  const auto refuse = [&](const HeadMatmulArgs& args) {
    list.push_back({.call = args, .refused = true});
  };
  refuse({.w = w, .heads = 2, .rows = -1});
  for (const std::int64_t heads : {0, -2, 5}) refuse({.w = w, .heads = heads, .rows = 3});
  refuse({.w = w, .heads = 2, .x_stride = 63, .rows = 3});
  refuse({.w = w, .heads = 2, .x_stride = -64, .rows = 3});
  refuse({.w = w, .heads = 2, .rows = 3, .out_stride = 5});
}

void Bind(Binder& b, const OpCase&, HeadMatmulArgs& a) {
  b.FillWeight("weight", a.w);
  a.x = b.Floats("x", Extent(a.rows * a.heads, a.w.cols, a.x_stride));
  a.out = b.Output("out", OutputFloats(a));
  b.Rounding(a.w.cols, SumScale(a.w.cols, b.largest_weight()));
}

std::string Label(const HeadMatmulArgs& a) {
  std::string label = Named(a.w) + ", heads " + Text(a.heads) + ", rows " + Text(a.rows);
  if (a.x_stride != 0) label += ", x " + Text(a.x_stride) + " apart";
  if (a.out_stride != 0) label += ", out " + Text(a.out_stride) + " apart";
  return label;
}

}  // namespace

constexpr OpFacts<HeadMatmulArgs> kHeadMatmulFacts = {
    .meaning = "each head times a matrix of its own",
    .check_shape = CheckShape,
    .output = Output,
    .weight_type = WeightType,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
