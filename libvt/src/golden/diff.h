// Two goldens, case by case.
#pragma once

#include <vector>

#include "golden/compare.h"
#include "golden/golden.h"

namespace vt {

// Distances of `b` from `a`, over the ids that both rows name; all others are one outcome.
RowDistance CompareRows(const GoldenRow& a, const GoldenRow& b);

// Every case of `a` against the case of `b` with its name, then the cases that only `b` has
// (kSkipped, as are those of `a` that `b` lacks). Tokens and rows after the first token that
// differs belong to two texts and are not compared.
std::vector<CaseReport> DiffGoldens(const Golden& a, const Golden& b, const CheckLimits& limits);

}  // namespace vt
