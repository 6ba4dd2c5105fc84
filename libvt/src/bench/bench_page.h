// A record to look at: a plot, and a page that needs nothing else.
#pragma once

#include <string>

#include "bench/bench_record.h"

namespace vt {

// A bar per axis: the median rate, with marks at every sample; prefill and decode each to their own
// scale. 720 units wide.
std::string BenchSvg(const BenchRecord& record);

// The plot, the table, the reasons why it is void, the machine, and the vt.bench/1 record itself in
// a <script type="application/json">. No script runs and nothing is loaded.
std::string BenchHtml(const BenchRecord& record);

}  // namespace vt
