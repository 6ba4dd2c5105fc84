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

Support CheckShape(const IndexSelectArgs& a) {
  return CheckCells("key", a.k.type, "dim", a.dim)
      .AtLeast("rows", a.rows, 0)
      .AtLeast("heads", a.heads, 1)
      .AtLeast("page_cells", a.page_cells, 1)
      .AtLeast("top", a.top, 1);
}

OpOutput Output(const IndexSelectArgs&) { return {}; }  // whole numbers

OpShape Shape(const IndexSelectArgs& a) {
  return {.type = TypeName(a.k.type),
          .sizes = {{"rows", a.rows}, {"heads", a.heads}, {"dim", a.dim}, {"top", a.top}}};
}

void AddCases(CaseList& list, Sweep sweep) {
  IndexSelectArgs args;
  std::int64_t turn = 0;
  const auto add = [&](DType type, std::int64_t heads, std::int64_t dim, std::int64_t positions,
                       std::int64_t top, bool refused = false) {
    args.k.type = type;
    args.heads = heads;
    args.dim = dim;
    args.top = top;
    args.rows = sweep == Sweep::kSpeed ? 1 : Pick<std::int64_t>(turn, {1, 3, 0, 7, 2});
    args.page_cells = Pick<std::int64_t>(turn, {64, 16, 1});
    ++turn;
    list.push_back({.call = args, .positions = positions, .refused = refused});
  };
  if (sweep == Sweep::kSpeed) return add(DType::kF16, 64, 128, 8192, 2048);
  for (const DTypeInfo& info : AllDTypes()) {
    for (const std::int64_t heads : {1, 5, 64}) {
      for (const std::int64_t top : {1, 17, 70, 100}) add(info.type, heads, 128, 70, top);
    }
  }
  for (const std::int64_t positions : SizesOf(sweep)) {
    add(DType::kF16, 1, 32, positions, (positions + 1) / 2);  // half of the scores are 0
    add(DType::kQ8_0, 16, 64, positions, positions > 1 ? positions - 1 : 1);
  }
  for (const std::int64_t dim : SizesOf(sweep)) add(DType::kBF16, 18, dim, 70, 20);
  for (int i = 0; i < 5; ++i) add(DType::kF32, 4, 32, 2000, 300);
  add(DType::kF16, 0, 64, 70, 20, true);
  add(DType::kF16, 4, 64, 70, 0, true);
  add(DType::kQ8_0, 4, 48, 70, 20, true);
  args.k.type = DType::kF16;
  args.top = 20;
  args.page_cells = 0;
  list.push_back({.call = args, .positions = 70, .refused = true});
}

void Bind(Binder& b, const OpCase& c, IndexSelectArgs& a) {
  a.q = b.Floats("q", a.rows * a.heads * a.dim);
  a.weights = b.Floats("weights", a.rows * a.heads, -0.5f, 1.0f);
  a.k.cell_bytes = CellBytes(a.k.type, a.dim);
  a.k.data = b.Cells("keys", a.k, CellsInPages(c.positions, a.page_cells), a.dim);
  a.row = BindAttentionRows(b, c.positions, a.page_cells, a.rows);
  a.scratch_floats = (c.positions + 15) / 16 * 16;
  a.scratch = b.Scratch(b.parts() * a.scratch_floats);
  a.selected = static_cast<std::int32_t*>(b.OutputBytes("selected", a.rows * a.top * 4));
  a.sparse = b.OutputRows("sparse", a.rows);
}

std::string Label(const IndexSelectArgs& a) {
  return "rows " + Text(a.rows) + ", heads " + Text(a.heads) + ", dim " + Text(a.dim) +
         ", pages of " + Text(a.page_cells) + ", top " + Text(a.top);
}

}  // namespace

constexpr OpFacts<IndexSelectArgs> kIndexSelectFacts = {
    .meaning = "the positions that sparse attention sees",
    .check_shape = CheckShape,
    .output = Output,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
    .label = Label,
};

}  // namespace vt
