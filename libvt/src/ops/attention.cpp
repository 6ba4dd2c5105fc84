#include <utility>

#include "ops/cases/attention_rows.h"
#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cases/labels.h"
#include "ops/cells_check.h"
#include "ops/op_facts.h"
#include "ops/shape_check.h"
#include "ops/shape_names.h"

namespace vt {
namespace {

constexpr DType kCellTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0};

Support CheckShape(const AttentionArgs& a) {
  return CheckCells("key", a.k.type, "key_dim", a.key_dim)
      .And(CheckCells("value", a.v.type, "value_dim", a.value_dim))
      .AtLeast("rows", a.rows, 0)
      .AtLeast("heads", a.heads, 0)
      .AtLeast("kv_heads", a.kv_heads, 1)
      .Multiple("heads", a.heads, a.kv_heads, "kv_heads")
      .AtLeast("page_cells", a.page_cells, 1);
}

OpOutput Output(const AttentionArgs& a) { return {a.out, a.rows * a.heads * a.value_dim}; }

OpShape Shape(const AttentionArgs& a) {
  std::string type = TypeName(a.k.type);
  if (a.v.type != a.k.type) type.append("/").append(NameOf(a.v.type));
  return {.type = std::move(type),
          .sizes = {{"rows", a.rows},
                    {"heads", a.heads},
                    {"kv_heads", a.kv_heads},
                    {"key_dim", a.key_dim},
                    {"value_dim", a.value_dim}}};
}

void AddCases(CaseList& list, Sweep sweep) {
  AttentionArgs args;
  struct Heads {
    std::int64_t heads, kv_heads, key_dim, value_dim;
  };
  constexpr Heads kHeads[] = {{1, 1, 64, 64},  {9, 3, 64, 64},   {8, 1, 96, 64},
                              {5, 5, 32, 128}, {8, 2, 128, 64},  {4, 1, 192, 128},
                              {20, 1, 64, 32}, {2, 1, 256, 256}, {2, 1, 576, 512}};
  std::int64_t turn = 0;
  const auto add = [&](DType k, DType v, const Heads& h, std::int64_t positions,
                       bool refused = false, bool one_cache = false) {
    args.k.type = k;
    args.v.type = v;
    args.heads = h.heads;
    args.kv_heads = h.kv_heads;
    args.key_dim = h.key_dim;
    args.value_dim = h.value_dim;
    args.rows = sweep == Sweep::kSpeed ? 1 : Pick<std::int64_t>(turn, {1, 3, 0, 7, 2});
    args.page_cells = Pick<std::int64_t>(turn, {64, 16, 1});
    args.scale = 0.125f;
    args.softcap = turn % 4 == 3 ? 20.0f : 0.0f;
    const bool sinks = turn % 5 == 2;
    ++turn;
    list.push_back({.call = args,
                    .positions = positions,
                    .optional = sinks,
                    .one_cache = one_cache,
                    .refused = refused});
  };
  if (sweep == Sweep::kSpeed) {
    add(DType::kF16, DType::kF16, {8, 2, 128, 128}, 2048);
    return;
  }
  // Every pair of cell types, and of every other type with a plain one.
  for (const DType k : kCellTypes) {
    for (const DType v : kCellTypes) {
      for (const Heads& heads : kHeads) add(k, v, heads, Pick<std::int64_t>(turn, {70, 1, 33, 17}));
    }
  }
  for (const DTypeInfo& info : AllDTypes()) {
    add(info.type, DType::kF16, {2, 1, 256, 256}, 20);
    add(DType::kF16, info.type, {2, 1, 256, 256}, 20);
  }
  for (const std::int64_t positions : SizesOf(sweep)) {
    add(DType::kF16, DType::kF16, {6, 2, 64, 64}, positions);
    add(DType::kQ8_0, DType::kF32, {4, 4, 32, 32}, positions);
  }
  for (const std::int64_t dim : SizesOf(sweep)) {
    add(DType::kF32, DType::kBF16, {3, 1, dim, 72}, 21);
    add(DType::kBF16, DType::kF16, {4, 2, 24, dim}, 21);
    add(DType::kF16, DType::kBF16, {18, 1, dim, dim + 7}, 67);
  }
  // Latent attention: values are the first of what a key cell holds.
  for (const DType type : kCellTypes) {
    for (const Heads& heads : {Heads{20, 1, 576, 512}, {3, 1, 96, 64}, {2, 1, 64, 64}}) {
      for (int i = 0; i < 2; ++i) add(type, type, heads, 70, false, true);
    }
  }
  add(DType::kF16, DType::kF16, {6, 4, 64, 64}, 20, true);
  add(DType::kF16, DType::kF16, {6, 0, 64, 64}, 20, true);
  add(DType::kQ8_0, DType::kF16, {6, 2, 48, 64}, 20, true);
  add(DType::kF16, DType::kQ8_0, {6, 2, 64, 48}, 20, true);
  args = AttentionArgs();
  args.rows = 1;
  args.heads = 2;
  args.kv_heads = 1;
  args.key_dim = args.value_dim = 64;
  list.push_back({.call = args, .positions = 20, .refused = true});
}

void Bind(Binder& b, const OpCase& c, AttentionArgs& a) {
  a.q = b.Floats("q", a.rows * a.heads * a.key_dim);
  const auto cells = [&](const char* name, KvCells& kv, std::int64_t dim) {
    kv.cell_bytes = CellBytes(kv.type, a.kv_heads * dim);
    kv.data = b.Cells(name, kv, CellsInPages(c.positions, a.page_cells), a.kv_heads * dim);
  };
  cells("keys", a.k, a.key_dim);
  if (c.one_cache) {
    a.v = a.k;
  } else {
    cells("values", a.v, a.value_dim);
  }
  if (c.optional) a.sinks = b.Floats("sinks", a.heads, -2, 4);
  a.row = BindAttentionRows(b, c.positions, a.page_cells, a.rows);
  a.scratch_floats = a.kv_heads > 0 ? AttentionScratchFloats(a.heads, a.kv_heads, c.positions) : 0;
  a.scratch = b.Scratch(b.parts() * a.scratch_floats);
  a.out = b.Output("out", a.rows * a.heads * a.value_dim);
  b.Rounding(a.key_dim + c.positions, a.v.type == DType::kQ8_0 ? 6 : 1);
}

std::string Label(const AttentionArgs& a) {
  return "rows " + Text(a.rows) + ", heads " + Text(a.heads) + "/" + Text(a.kv_heads) + ", dims " +
         Text(a.key_dim) + "/" + Text(a.value_dim) + ", pages of " + Text(a.page_cells) +
         (a.softcap != 0 ? ", softcap" : "");
}

}  // namespace

constexpr OpFacts<AttentionArgs> kAttentionFacts = {
    .meaning = "softmax attention over cells of the KV cache",
    .check_shape = CheckShape,
    .output = Output,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
