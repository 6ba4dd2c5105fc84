// Body of expert_sort: whole numbers, so one body without vectors.
#pragma once

#include <cstdint>

#include "ops/args.h"
#include "ops/part.h"

namespace vt {
namespace {

// A counting sort, in one part: so many pairs are moved in less time than a thread takes to wake.
template <class V>
void ExpertSort(const ExpertSortArgs& args, Part part) {
  if (part.index != 0) return;
  std::int32_t next[kMostExperts + 1] = {};  // where each expert's next pair goes
  for (std::int64_t p = 0; p < args.pairs; ++p) ++next[args.ids[p] + 1];
  for (std::int64_t e = 0; e < args.experts; ++e) next[e + 1] += next[e];
  for (std::int64_t p = 0; p < args.pairs; ++p) {
    const std::int32_t id = args.ids[p];
    const std::int32_t at = next[id]++;
    args.order[at] = static_cast<std::int32_t>(p);
    args.sorted_ids[at] = id;
  }
}

}  // namespace
}  // namespace vt
