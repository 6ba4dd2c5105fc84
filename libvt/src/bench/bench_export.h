// A record in other forms: for people, for tables, and with the field names of llama-bench.
#pragma once

#include <string>

#include "bench/bench_record.h"

namespace vt {

// At most 80 columns: what was measured.
std::string BenchRates(const BenchRecord& record);
// The same and below it, if any, the voids and why it is partial.
std::string BenchTable(const BenchRecord& record);
// A row per axis: | model | axis | tok/s | spread | min | max | joules/token |.
std::string BenchMarkdown(const BenchRecord& record);
// A header and a row per axis; RFC 4180 quotes, rates and times as plain numbers.
std::string BenchCsv(const BenchRecord& record);
// The array that llama-bench -o json prints, with its field names (tools/llama-bench/README.md):
// test_time, avg_ns, stddev_ns, avg_ts, stddev_ts, samples_ns, samples_ts and those of its settings
// that have a meaning here. A decode of several sequences has n_gen times its batch.
std::string LlamaBenchJson(const BenchRecord& record);

}  // namespace vt
