// Rows of attention over one sequence whose pages lie in reverse order.
#pragma once

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "ops/args.h"
#include "ops/cases/binder.h"

namespace vt {

// Cells of the pages that hold so many positions.
inline std::int64_t CellsInPages(std::int64_t positions, std::int64_t page_cells) {
  const std::int64_t unit = page_cells > 0 ? page_cells : 1;
  return (positions + unit - 1) / unit * unit;
}

// Rows that see all positions, one, a window and a beginning, by turns.
inline const AttentionRow* BindAttentionRows(Binder& b, std::int64_t positions,
                                             std::int64_t page_cells, std::int64_t rows) {
  const std::int64_t unit = page_cells > 0 ? page_cells : 1;
  std::vector<std::int32_t> pages(SizeOf(CellsInPages(positions, unit) / unit));
  for (std::size_t i = 0; i < pages.size(); ++i) {
    pages[i] = static_cast<std::int32_t>(pages.size() - 1 - i);
  }
  const std::int32_t* page_table = b.Values<std::int32_t>("pages", pages);
  const auto last = static_cast<std::int32_t>(positions - 1);
  const std::pair<int, int> spans[] = {
      {0, last}, {0, 0}, {last / 2, last}, {last, last}, {0, last / 3}};
  std::vector<AttentionRow> seen(SizeOf(rows));
  for (std::size_t r = 0; r < seen.size(); ++r) {
    const auto& [first, end] = spans[r % std::size(spans)];
    seen[r] = {page_table, first, end};
  }
  return b.Values<AttentionRow>("rows", seen);
}

}  // namespace vt
