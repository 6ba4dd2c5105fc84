// What vt-bench compare is asked and what it found, as vt.bench-compare/1 and as a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/compare.h"
#include "cli/bench_commands.h"

namespace vt::cli {

struct CompareOptions {
  std::string a, b;  // commands
  std::int64_t pairs = 8, most_pairs = 40, quiet_wait_s = 0, seed = 1;
  float noise_percent = 1.0f;
  bool different_kernels = false, strict = false;
  std::string sysroot;  // where /proc and /sys are read
  BenchOutput output;
  std::vector<std::string> files;  // two records instead of commands
  double noise() const { return noise_percent / 100.0; }
};

struct Comparison {
  std::string date;
  bool partial = true;
  std::string partial_reason = "still running";
  RatesDocument a, b;
  std::vector<Leg> legs;
  std::vector<AxisComparison> axes;
  std::optional<ArmCheck> arm_check;
  std::vector<std::string> doubts;
};

// One line without its newline.
std::string CompareDocument(const CompareOptions& options, const Comparison& comparison);
// At most 80 columns but for long names.
std::string CompareTable(const Comparison& comparison);

}  // namespace vt::cli
