// What a benchmark measured and under which circumstances: the content of vt.bench/1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/host_state.h"
#include "bench/program_digest.h"
#include "bench/statistics.h"
#include "vt/engine.h"

namespace vt {

class JsonWriter;

enum class BenchKind { kPrefill, kDecode };
std::string_view NameOf(BenchKind kind);  // "prefill", "decode"

// One thing that is measured: a prompt of n_prompt tokens, or n_gen steps of `batch` sequences,
// after `depth` tokens that are not timed.
struct BenchTest {
  BenchKind kind = BenchKind::kPrefill;
  std::int64_t n_prompt = 0;
  std::int64_t n_gen = 0;
  std::int64_t depth = 0;
  std::int64_t batch = 1;
  std::int64_t tokens() const { return kind == BenchKind::kPrefill ? n_prompt : n_gen * batch; }
};
// "pp512", "tg128", "tg128x4", "pp512@d4096": the name of what is compared between records.
std::string AxisOf(const BenchTest& test);

// Times in nanoseconds, in the order they were taken; each of warmup and samples is a whole test.
struct BenchResult {
  BenchTest test;
  std::vector<std::uint64_t> warmup_ns;
  std::vector<std::uint64_t> samples_ns;
  // Prefill: from the request to its first token chosen (sampling included), one a sample.
  std::vector<std::uint64_t> first_token_ns;
  // Decode: every step of every sample.
  std::vector<std::uint64_t> step_ns;
  std::optional<double> joules;  // of the processor packages, over all samples
};
// Tokens a second of each sample.
std::vector<double> RatesOf(const BenchResult& result);

// Why a record does not count. Codes: slowed_down, reference_launch, fallback, golden_failed,
// disturbed_host, no_quiet_window, unstable, falling_trend.
struct BenchVoid {
  std::string code;
  std::string axis;  // empty: of the whole record
  std::string message;
};

struct BenchModel {
  std::string file, digest, architecture, name;
  std::uint64_t bytes = 0;
  std::uint64_t parameters = 0;
  std::vector<std::string> types;  // of its tensors, most bytes first
};

struct BenchSettings {
  std::int64_t prompt = 512;  // 0: no prefill
  std::int64_t gen = 128;     // 0: no decode
  std::vector<std::int64_t> depths = {0};
  std::vector<std::int64_t> batches = {1};
  std::int64_t repetitions = 5;
  std::int64_t warmups = 1;
  std::int64_t slow_down_percent = 0;  // every step is held back so much of its time; void
  std::uint64_t seed = 1;
  std::string tier;  // that every launch is meant to have; empty: none in particular
  std::string prompt_file;
  std::string plan_hash;  // of the plan that the engine's settings come from; empty: none
  double quiet_wait_s = 0;
  EngineOptions engine;
};
// The tests of the settings, prefill first, by depth, then batch.
std::vector<BenchTest> TestsOf(const BenchSettings& settings);

struct BenchRecord {
  std::string tool_version, tool_commit;
  std::string date;  // UTC, "2026-01-31T12:00:00Z"
  bool partial = true;
  std::string partial_reason = "still running";
  BenchModel model;
  BenchSettings settings;  // engine.threads and context as they were
  std::string prompt_source;
  std::string golden_file;     // that was checked first; empty: none
  std::string golden_failure;  // what differs from it; empty: nothing
  BuildFacts build;
  std::vector<ProgramFile> program;
  DeviceInfo device;
  std::string kernel_release;  // of the operating system
  int processors = 0;
  HostReading before, after;
  std::optional<HostChange> change;
  std::optional<QuietGate> gate;  // when a wait was asked for
  std::uint64_t load_ns = 0;
  std::uint64_t peak_resident_bytes = 0;
  std::string energy_reason;  // why there are no joules; empty when there are
  std::vector<MemoryRow> memory;
  std::vector<KernelLaunches> launches;
  std::vector<BenchResult> results;
  std::vector<BenchVoid> voids;
};

// As all documents tell it: wall_s, other_load_cpus, steal_share, throttled_periods, quiet, reason.
void WriteHostChange(JsonWriter& json, const HostChange& change);

// The vt.bench/1 document, one line without its newline.
std::string BenchJson(const BenchRecord& record);

// The time as records give it, in UTC: "2026-11-30T10:40:00Z".
std::string BenchDate();

}  // namespace vt
