#include <numeric>
#include <utility>

#include "ops/cases/binder.h"
#include "ops/cases/case_lists.h"
#include "ops/cells_check.h"
#include "ops/op_facts.h"
#include "ops/shape_check.h"
#include "ops/shape_names.h"

namespace vt {
namespace {

Support CheckShape(const KvStoreArgs& a) {
  return CheckCells("cell", a.cells.type, "cols", a.cols).AtLeast("rows", a.rows, 0);
}

OpOutput Output(const KvStoreArgs& a) { return {a.x, a.rows * a.cols}; }

OpShape Shape(const KvStoreArgs& a) {
  return {.type = TypeName(a.cells.type), .sizes = {{"rows", a.rows}, {"cols", a.cols}}};
}

void AddCases(CaseList& list, Sweep sweep) {
  KvStoreArgs args;
  std::int64_t turn = 0;
  for (const DTypeInfo& info : AllDTypes()) {
    args.cells.type = info.type;
    for (const std::int64_t cols : ColumnsOf(info.type, sweep)) {
      args.cols = cols;
      args.rows = RowCountsOf(sweep)[static_cast<std::size_t>(turn) % RowCountsOf(sweep).size()];
      list.push_back({.call = args, .positions = args.rows + turn++ % 9 + 1});
    }
  }
  for (const std::int64_t cols : {1, 16, 31, 33}) {
    args.cells.type = DType::kQ8_0;
    args.cols = cols;
    args.rows = 2;
    AddRefused(list, sweep, args);
  }
}

void Bind(Binder& b, const OpCase& c, KvStoreArgs& a) {
  a.x = b.Floats("x", a.rows * a.cols);
  // Cells in an order of their own, each taken once.
  std::vector<std::int32_t> slots(SizeOf(c.positions));
  std::iota(slots.begin(), slots.end(), 0);
  for (std::size_t i = slots.size(); i > 1; --i) {
    std::swap(slots[i - 1], slots[b.random().Below(i)]);
  }
  slots.resize(SizeOf(a.rows));
  a.slots = b.Values<std::int32_t>("slots", slots);
  a.cells.cell_bytes = CellBytes(a.cells.type, a.cols) + 32;
  a.cells.data = b.OutputBytes("cells", c.positions * a.cells.cell_bytes);
}

}  // namespace

constexpr OpFacts<KvStoreArgs> kKvStoreFacts = {
    .meaning = "rows converted into cells of the KV cache",
    .check_shape = CheckShape,
    .output = Output,
    .shape = Shape,
    .add_cases = AddCases,
    .bind = Bind,
};

}  // namespace vt
