#include "bench/void_rules.h"

#include <cstdio>

#include "ops/registry.h"

namespace vt {
namespace {

std::string Kernels(const BenchRecord& record, auto wanted) {
  std::string text;
  for (const KernelLaunches& row : record.launches) {
    if (row.launches == 0 || !wanted(row)) continue;
    text.append(text.empty() ? "" : ", ").append(row.op).append(" ").append(row.kernel);
    text.append(" (").append(row.tier).append(", ").append(std::to_string(row.launches));
    text.append(" launches)");
  }
  return text;
}

void JudgeLaunches(const BenchRecord& record, std::vector<BenchVoid>& voids) {
  const std::string reference =
      Kernels(record, [](const KernelLaunches& row) { return row.tier == "reference"; });
  if (!reference.empty()) {
    voids.push_back({"reference_launch", "",
                     "plain scalar code ran: " + reference +
                         "; measure a build and a machine that have better kernels"});
  }
  const Result<Tier> asked = ParseTier(record.settings.tier);
  if (!asked.ok()) return;
  const std::string below = Kernels(record, [&](const KernelLaunches& row) {
    const Result<Tier> tier = ParseTier(row.tier);
    return tier.ok() && *tier < *asked;
  });
  if (!below.empty()) {
    voids.push_back(
        {"fallback", "",
         "--tier " + record.settings.tier + " was asked for, and these are below: " + below});
  }
}

void JudgePeaks(const DevicePeaks& device, std::vector<BenchVoid>& voids) {
  for (const BenchPhase phase : kBenchPhases) {
    if (!device.Over(phase)) continue;
    std::string parts = "rows " + std::to_string(device.rows_bytes);
    const auto add = [&](const char* name, std::uint64_t bytes) {
      if (bytes > 0) parts.append(", ").append(name).append(" ").append(std::to_string(bytes));
    };
    add("simulated devices", device.simulated_bytes);
    add("runtime", device.runtime_bytes.value_or(0));
    add("margin", device.margin_bytes.value_or(0));
    voids.push_back({"memory_over_plan", "",
                     std::string(NameOf(phase)) + ": " + device.device + " held " +
                         std::to_string(*device.At(phase).bytes) +
                         " bytes at most, predicted were " +
                         std::to_string(device.predicted_bytes()) + " (" + parts +
                         "): " + std::to_string(*device.Residual(phase)) + " more, of which " +
                         std::to_string(device.allowance_bytes) + " are allowed"});
  }
}

void JudgeRates(const BenchResult& result, std::vector<BenchVoid>& voids) {
  const std::string axis = AxisOf(result.test);
  const std::vector<double> rates = RatesOf(result);
  char text[192];
  const Summary summary = Summarise(rates);
  if (summary.spread && *summary.spread > kMostSpread) {
    std::snprintf(text, sizeof text,
                  "the samples' spread is %.1f %% (at most %.0f %%; from %.2f to %.2f tok/s)",
                  100 * *summary.spread, 100 * kMostSpread, summary.min, summary.max);
    voids.push_back({"unstable", axis, text});
  }
  const Trend trend = FallingTrend(rates);
  if (trend.falls) {
    std::snprintf(text, sizeof text,
                  "the rates fall steadily, by %.1f %% over %lld samples (Mann-Kendall p = %.3f)",
                  -100 * trend.change, static_cast<long long>(summary.count), trend.p);
    voids.push_back({"falling_trend", axis, text});
  }
}

}  // namespace

std::vector<BenchVoid> JudgeRecord(const BenchRecord& record) {
  std::vector<BenchVoid> voids;
  if (const std::int64_t percent = record.settings.slow_down_percent; percent > 0) {
    voids.push_back({"slowed_down", "",
                     "--slow-down held every step back by " + std::to_string(percent) +
                         " % of its time: it shows what a comparison finds, not a speed"});
  }
  JudgeLaunches(record, voids);
  if (!record.golden_failure.empty()) {
    voids.push_back(
        {"golden_failed", "", "differs from " + record.golden_file + ": " + record.golden_failure});
  }
  for (const DevicePeaks& device : record.peaks) JudgePeaks(device, voids);
  if (record.gate && !record.gate->found) {
    char waited[64];
    std::snprintf(waited, sizeof waited, "no quiet second in %.0f s: ", record.gate->waited_s);
    voids.push_back({"no_quiet_window", "", waited + record.gate->last.reason});
  }
  if (record.change && !record.change->quiet) {
    voids.push_back({"disturbed_host", "", "while measuring, " + record.change->reason});
  }
  for (const BenchResult& result : record.results) JudgeRates(result, voids);
  return voids;
}

}  // namespace vt
