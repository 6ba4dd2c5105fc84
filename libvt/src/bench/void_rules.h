// When a measurement does not count.
#pragma once

#include <vector>

#include "bench/bench_record.h"

namespace vt {

inline constexpr double kMostSpread = 0.05;

// All reasons that the record itself holds, in a fixed order: slowed_down, reference_launch,
// fallback, golden_failed, memory_over_plan (by device and phase), no_quiet_window, disturbed_host,
// then per axis unstable and falling_trend. A pure function.
std::vector<BenchVoid> JudgeRecord(const BenchRecord& record);

}  // namespace vt
