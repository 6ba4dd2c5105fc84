#include "ops/cases/case_lists.h"

namespace vt {
namespace {

constexpr std::int64_t kSizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,   10,  11, 12, 13,
                                   14, 15, 16, 17, 18, 19, 20, 21, 22,  23,  24, 25, 26,
                                   27, 28, 29, 30, 31, 32, 33, 63, 100, 256, 576};
constexpr std::int64_t kLargeSize[] = {2048};
constexpr std::int64_t kRowCounts[] = {0, 1, 3, 7};
constexpr std::int64_t kLargeRowCount[] = {256};

}  // namespace

std::span<const std::int64_t> SizesOf(Sweep sweep) {
  if (sweep == Sweep::kSpeed) return kLargeSize;
  return kSizes;
}

std::span<const std::int64_t> RowCountsOf(Sweep sweep) {
  if (sweep == Sweep::kSpeed) return kLargeRowCount;
  return kRowCounts;
}

std::vector<std::int64_t> ColumnsOf(DType type, Sweep sweep) {
  const std::int64_t block = InfoOf(type).block;
  std::vector<std::int64_t> columns;
  if (block == 1 || sweep == Sweep::kSpeed) {
    columns.assign(SizesOf(sweep).begin(), SizesOf(sweep).end());
    return columns;
  }
  for (const std::int64_t blocks : {1, 2, 3, 5}) columns.push_back(blocks * block);
  for (const std::int64_t blocks : {8, 9, 18}) {
    if (block <= 64) columns.push_back(blocks * block);
  }
  return columns;
}

}  // namespace vt
