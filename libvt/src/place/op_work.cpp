#include "place/op_work.h"

#include <algorithm>
#include <cmath>

namespace vt {
namespace {

constexpr double kFloat = sizeof(float);
constexpr double kExpOps = 16;    // a polynomial of degree 6, its range reduction, its scale
constexpr double kNormOps = 4;    // a square, a sum, two products
constexpr double kRouteOps = 32;  // of each expert: a softmax and a place among the best
// Of an attention, by measurement on a cpu: of each row, head and position beside the products, and
// of each value of a cell that is decoded for the heads that share it.
constexpr double kPairOps = 128, kDecodeOps = 4;

double Num(std::int64_t n) { return static_cast<double>(n); }
double Area(std::int64_t rows, std::int64_t cols) { return Num(rows) * Num(cols); }

// Of a row of f8_e4m3 its share of the scales.
double ScaleBytes(const Weight& w) {
  if (w.type != DType::kF8_E4M3) return 0;
  const WeightScales& s = w.scales;
  const double across = s.block_cols > 0 ? std::ceil(Num(w.cols) / Num(s.block_cols)) : 1;
  return kFloat * across / Num(s.block_rows);
}

double MatrixBytes(const Weight& w, double rows) {
  const auto row = static_cast<double>(RowBytes(w.type, static_cast<std::uint64_t>(w.cols)));
  return rows * (row + ScaleBytes(w));
}

// Of an activation in a form: q15 has two bytes a value, a scale and a sum for each 32.
double ActBytes(ActType act) { return act == ActType::kQ15 ? 2 + 8.0 / kQ15Group : kFloat; }

double CellBytes(const KvCells& cells, std::int64_t values) {
  if (cells.cell_bytes > 0) return Num(cells.cell_bytes);
  return static_cast<double>(RowBytes(cells.type, static_cast<std::uint64_t>(values)));
}

// Elementwise: so many values in, so many out.
OpWork Pointwise(double in, double out, double operations) {
  return {.activation_bytes = (in + out) * kFloat, .operations = operations};
}

OpWork Product(const Weight& w, ActType act, std::int64_t rows, bool accumulate) {
  return {.weight_bytes = MatrixBytes(w, Num(w.rows)),
          .activation_bytes = Area(rows, w.cols) * ActBytes(act) +
                              Area(rows, w.rows) * kFloat * (accumulate ? 2 : 1),
          .operations = 2 * Area(rows, w.rows) * Num(w.cols),
          .weight = w.type,
          .rows = rows,
          .cols = w.cols};
}

// Experts that `pairs` of a row and an expert read: few pairs go one by one; many are sorted by
// expert, and each expert that any row chose is read once. Choices count as independent.
double ExpertsRead(std::int64_t pairs, std::int64_t experts) {
  if (experts <= 0) return 0;
  const double all = Num(experts);
  if (pairs < kFewestGroupedRows) return std::min(Num(pairs), all);
  return all * (1 - std::pow(1 - 1 / all, Num(pairs)));
}

struct Work {
  double positions;

  OpWork operator()(const EmbedArgs& a) const {
    return {.weight_bytes = MatrixBytes(a.table, Num(a.rows)),
            .activation_bytes = Area(a.rows, a.table.cols) * kFloat,
            .operations = Area(a.rows, a.table.cols),
            .weight = a.table.type};
  }
  OpWork operator()(const RmsNormArgs& a) const {
    const double n = Area(a.rows, a.cols);
    return Pointwise(n, n, kNormOps * n);
  }
  OpWork operator()(const RmsNormAddArgs& a) const {
    const double n = Area(a.rows, a.cols);
    return Pointwise(2 * n, n, (kNormOps + 1) * n);
  }
  OpWork operator()(const DualRmsNormResidualArgs& a) const {
    const double n = Area(a.rows, a.cols);
    return Pointwise(3 * n, n, (3 * kNormOps + 2) * n);
  }
  OpWork operator()(const LayerNormArgs& a) const {
    const double n = Area(a.rows, a.cols);
    return Pointwise(n, n, 2 * kNormOps * n);
  }
  OpWork operator()(const QuantizeArgs& a) const {
    const double n = Area(a.rows, a.cols);
    return {.activation_bytes = n * (kFloat + ActBytes(ActType::kQ15)), .operations = 6 * n};
  }
  OpWork operator()(const MatmulArgs& a) const { return Product(a.w, a.act, a.m, a.accumulate); }
  OpWork operator()(const MatmulAlphaBetaArgs& a) const {
    return Product(a.b, ActType::kF32, a.m, a.beta != 0);
  }
  OpWork operator()(const DequantFp8Args& a) const {
    const double n = Area(a.w.rows, a.w.cols);
    return {.weight_bytes = MatrixBytes(a.w, Num(a.w.rows)),
            .activation_bytes = n * kFloat,
            .operations = 2 * n,
            .weight = a.w.type};
  }
  OpWork operator()(const MatmulFp8Args& a) const {
    return Product(a.w, ActType::kF32, a.m, a.accumulate);
  }
  OpWork operator()(const HeadMatmulArgs& a) const {
    OpWork work = Product(a.w, ActType::kF32, a.rows, false);
    work.activation_bytes = Num(a.rows) * (Area(a.heads, a.w.cols) + Num(a.w.rows)) * kFloat;
    return work;
  }
  OpWork operator()(const RouteArgs& a) const {
    const double n = Area(a.rows, a.experts);
    return Pointwise(n, 2 * Area(a.rows, a.used), kRouteOps * n);
  }
  OpWork operator()(const ExpertSortArgs& a) const {
    return Pointwise(Num(a.pairs), 2 * Num(a.pairs), 8 * Num(a.pairs));
  }
  OpWork operator()(const ExpertGatherArgs& a) const {
    const double n = Area(a.pairs, a.cols);
    return Pointwise(n, n, a.weights ? n : 0);
  }
  OpWork operator()(const ExpertMatmulArgs& a) const {
    const std::int64_t n = ExpertOutputs(a);
    const double experts = ExpertsRead(a.rows, a.experts);
    return {.weight_bytes = MatrixBytes(a.w, experts * Num(n)),
            .activation_bytes =
                Area(a.rows / std::max<std::int64_t>(1, a.x_repeat), a.w.cols) * ActBytes(a.act) +
                Area(a.rows, n) * kFloat,
            .operations = 2 * Area(a.rows, n) * Num(a.w.cols),
            .weight = a.w.type,
            .rows = Share(a.rows, experts),
            .cols = a.w.cols};
  }
  OpWork operator()(const ExpertGegluArgs& a) const {
    const double n = a.experts > 0 ? Num(a.gate.rows / a.experts) : 0;
    const double experts = ExpertsRead(a.rows, a.experts);
    return {.weight_bytes = 2 * MatrixBytes(a.gate, experts * n),
            .activation_bytes = Num(a.rows) * (Num(a.gate.cols) + n) * kFloat,
            .operations = 4 * Num(a.rows) * n * Num(a.gate.cols),
            .weight = a.gate.type,
            .rows = Share(a.rows, experts),
            .cols = a.gate.cols};
  }
  OpWork operator()(const ApplyExpertScaleArgs& a) const {
    const double n = Area(a.rows, a.cols);
    return Pointwise(n, n, n);
  }
  OpWork operator()(const ExpertCombineArgs& a) const {
    const double n = Area(a.rows, a.cols);
    return Pointwise(n * Num(a.used), n, 2 * n * Num(a.used));
  }
  OpWork operator()(const RopeTableArgs& a) const {
    const double n = Area(a.rows, a.pairs);
    return Pointwise(0, 2 * n, 2 * kExpOps * n);
  }
  OpWork operator()(const RopeArgs& a) const {
    const double n = Area(a.rows, a.heads) * 2 * Num(a.pairs);
    return Pointwise(n, n, 3 * n);
  }
  OpWork operator()(const FusedNormRopeArgs& a) const {
    const double n = Area(a.rows, a.latent + 2 * a.pairs);
    return Pointwise(n, n, kNormOps * n);
  }
  OpWork operator()(const KvStoreArgs& a) const {
    const double n = Area(a.rows, a.cols);
    return {.cell_bytes = Num(a.rows) * CellBytes(a.cells, a.cols),
            .activation_bytes = n * kFloat,
            .operations = n};
  }
  OpWork operator()(const IndexSelectArgs& a) const {
    // Scores, and a place among the best of them. The rows are of one sequence: what one has read
    // the others find in a cache.
    const double scores = Num(a.rows) * positions;
    return {.cell_bytes = positions * CellBytes(a.k, a.dim),
            .activation_bytes = Num(a.rows) * (Area(a.heads, a.dim) + Num(a.top)) * kFloat,
            .operations = 2 * scores * Area(a.heads, a.dim) + kExpOps * scores};
  }
  OpWork operator()(const AttentionArgs& a) const {
    const double pairs = Num(a.rows) * positions, dims = Num(a.key_dim + a.value_dim);
    const double keys = CellBytes(a.k, a.kv_heads * a.key_dim);
    // Values that are the first part of wider cells are those of the keys, and read with them.
    const double alone = static_cast<double>(
        RowBytes(a.v.type, static_cast<std::uint64_t>(a.kv_heads * a.value_dim)));
    const double values = Num(a.v.cell_bytes) > alone ? 0 : alone;
    const bool chosen = a.page_cells == 1;  // each row has cells of its own
    return {.cell_bytes = (chosen ? pairs : positions) * (keys + values),
            .activation_bytes = Area(a.rows, a.heads) * Num(a.key_dim + a.value_dim) * kFloat,
            .operations = pairs * (Num(a.heads) * (2 * dims + kPairOps) +
                                   Num(a.kv_heads) * kDecodeOps * dims)};
  }
  OpWork operator()(const ShortConvArgs& a) const {
    const double n = Area(a.rows, a.channels);
    return {.cell_bytes = 2 * Area(a.taps - 1, a.channels) * kFloat,
            .activation_bytes = 2 * n * kFloat,
            .operations = n * (2 * Num(a.taps) + (a.silu ? kExpOps : 0))};
  }
  OpWork operator()(const SsmScanArgs& a) const {
    const double state = Area(a.heads, a.head_dim) * Num(a.state_size);
    const double n = Area(a.rows, a.heads) * Num(a.head_dim);
    return {.cell_bytes = 2 * state * kFloat,
            .activation_bytes = (2 * n + 2 * Area(a.rows, a.groups) * Num(a.state_size)) * kFloat,
            .operations = 5 * Num(a.rows) * state};
  }
  OpWork operator()(const DeltaRuleArgs& a) const {
    const double state = Area(a.heads, a.value_dim) * Num(a.key_dim);
    const double n =
        Num(a.rows) * (2 * Area(a.key_heads, a.key_dim) + 2 * Area(a.heads, a.value_dim));
    return {.cell_bytes = 2 * state * kFloat,
            .activation_bytes = n * kFloat,
            .operations = 7 * Num(a.rows) * state};
  }
  OpWork operator()(const ActivateArgs& a) const {
    return Pointwise(Num(a.count), Num(a.count), kExpOps * Num(a.count));
  }
  OpWork operator()(const SiluMulArgs& a) const { return Gated(a.count); }
  OpWork operator()(const GeluMulArgs& a) const { return Gated(a.count); }
  OpWork operator()(const GatedActArgs& a) const { return Gated(a.count); }
  OpWork operator()(const SigmoidMulArgs& a) const {
    const double n = Area(a.rows, a.cols), gates = Area(a.rows, a.gate_cols);
    return Pointwise(n + gates, n, n + kExpOps * gates);
  }
  OpWork operator()(const MulArgs& a) const {
    const double n = Area(a.rows, a.cols);
    return Pointwise(n + Area(a.rows, a.b_cols), n, n);
  }
  OpWork operator()(const AddArgs& a) const {
    return Pointwise(2 * Num(a.count), Num(a.count), Num(a.count));
  }
  OpWork operator()(const ScaleCapArgs& a) const {
    return Pointwise(Num(a.count), Num(a.count), (a.cap > 0 ? kExpOps : 1) * Num(a.count));
  }
  OpWork operator()(const CopyColumnsArgs& a) const {
    const double n = Area(a.rows, a.cols);
    return Pointwise(n, n, 0);
  }
  OpWork operator()(const SoftmaxArgs& a) const {
    const double n = Area(a.rows, a.cols);
    return Pointwise(n, n, (kExpOps + 3) * n);
  }
  OpWork operator()(const ArgMaxArgs& a) const {
    const double n = Area(a.rows, a.cols);
    return Pointwise(n, Num(a.rows), n);
  }

 private:
  static OpWork Gated(std::int64_t count) {
    const double n = Num(count);
    return Pointwise(2 * n, n, (kExpOps + 2) * n);
  }
  static std::int64_t Share(std::int64_t rows, double experts) {
    return std::max<std::int64_t>(1, std::llround(Num(rows) / std::max(1.0, experts)));
  }
};

}  // namespace

OperandBytes OperandsOf(const AnyArgs& call) {
  const auto bytes = [](std::int64_t rows, std::int64_t cols) { return Area(rows, cols) * kFloat; };
  if (const auto* a = std::get_if<MatmulArgs>(&call)) {
    const double out = bytes(a->m, a->w.rows);
    return {bytes(a->m, a->w.cols) + (a->accumulate ? out : 0), out};
  }
  if (const auto* a = std::get_if<MatmulFp8Args>(&call)) {
    const double out = bytes(a->m, a->w.rows);
    return {bytes(a->m, a->w.cols) + (a->accumulate ? out : 0), out};
  }
  if (const auto* a = std::get_if<ExpertMatmulArgs>(&call)) {
    const std::int64_t inputs = a->rows / std::max<std::int64_t>(1, a->x_repeat);
    return {bytes(inputs, a->w.cols) + bytes(a->rows, 1), bytes(a->rows, ExpertOutputs(*a))};
  }
  if (const auto* a = std::get_if<HeadMatmulArgs>(&call)) {
    return {bytes(a->rows * a->heads, a->w.cols), bytes(a->rows, a->w.rows)};
  }
  if (const auto* a = std::get_if<EmbedArgs>(&call)) return {0, bytes(a->rows, a->table.cols)};
  return {};
}

OpWork WorkOf(const AnyArgs& call, double positions) { return std::visit(Work{positions}, call); }

}  // namespace vt
