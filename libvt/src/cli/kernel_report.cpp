#include "cli/kernel_report.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <set>
#include <vector>

#include "ops/resolve.h"

namespace vt::cli {
namespace {

std::string Line(const char* format, auto... values) {
  char line[512];
  const int size = std::snprintf(line, sizeof line, format, values...);
  return std::string(line, static_cast<std::size_t>(std::clamp(size, 0, 511)));
}

int HighestThatRan(std::string_view op, const Engine& engine) {
  int highest = std::numeric_limits<int>::min();
  const std::vector<KernelLaunches> launches = engine.Launches();
  BuiltinKernels().ForEach([&](std::string_view row_op, const auto& kernel) {
    const bool ran = std::any_of(launches.begin(), launches.end(), [&](const KernelLaunches& row) {
      return row.op == op && row.kernel == kernel.name;
    });
    if (row_op == op && ran) highest = std::max(highest, kernel.priority);
  });
  return highest;
}

// The first device of the run that is of this kind; null: there is none.
const DeviceInfo* DeviceOfKind(const Engine& engine, DeviceKind kind) {
  for (const DeviceInfo* device : engine.devices()) {
    if (device->kind == kind) return device;
  }
  return nullptr;
}

std::string Reason(std::string_view op, const auto& kernel, const Engine& engine,
                   const RunOptions& options) {
  ResolveOptions resolve;
  if (const Result<Tier> tier = ParseTier(options.tier); tier.ok()) resolve.lowest = *tier;
  for (const auto& [name, forced] : options.kernels) resolve.forced[name] = forced;
  const std::string why =
      JudgeRow(ViewOf(kernel), *DeviceOfKind(engine, kernel.device), resolve).reason;
  if (!why.empty()) return why;
  return kernel.priority < HighestThatRan(op, engine) ? "a kernel of higher priority ran"
                                                      : "does not take these types or shapes";
}

}  // namespace

std::string KernelReport(const Engine& engine, const RunOptions& options) {
  const std::vector<KernelLaunches> launches = engine.Launches();
  std::string out = "kernels:\n";
  std::string_view shown_op;
  BuiltinKernels().ForEach([&](std::string_view op, const auto& kernel) {
    const bool op_ran = std::any_of(launches.begin(), launches.end(),
                                    [&](const KernelLaunches& row) { return row.op == op; });
    if (!op_ran || !DeviceOfKind(engine, kernel.device)) return;
    if (op != shown_op) out += Line("  %.*s\n", static_cast<int>(op.size()), op.data());
    shown_op = op;
    bool ran = false;
    for (const KernelLaunches& row : launches) {
      if (row.op != op || row.kernel != kernel.name) continue;
      ran = true;
      out += Line("    %-24s %s, %s: %llu launches\n", kernel.name.c_str(), row.device.c_str(),
                  row.tier.c_str(), static_cast<unsigned long long>(row.launches));
    }
    if (!ran) {
      out += Line("    %-24s no: %s\n", kernel.name.c_str(),
                  Reason(op, kernel, engine, options).c_str());
    }
  });
  return out;
}

std::string ReferenceNote(const Engine& engine) {
  std::uint64_t launches = 0;
  std::set<std::string> names;
  std::set<std::string> devices;
  for (const KernelLaunches& row : engine.Launches()) {
    if (row.tier != NameOf(Tier::kReference)) continue;
    launches += row.launches;
    names.insert(row.op);
    devices.insert(row.device);
  }
  if (launches == 0) return {};
  std::string ops;
  for (const std::string& name : names) ops += (ops.empty() ? "" : ", ") + name;
  std::string where;
  for (const std::string& device : devices) where += (where.empty() ? "" : ", ") + device;
  return "reference kernels ran on " + where + " for " + ops + " (" + std::to_string(launches) +
         " launches): slow; --tier composed refuses instead";
}

std::string MemoryReport(std::span<const MemoryRow> rows, const ResidentMemory& resident) {
  std::string out =
      Line("%-8s %-20s %16s %16s\n", "device", "memory", "predicted B", "allocated B");
  for (const MemoryRow& row : rows) {
    out += Line("%-8s %-20s %16llu %16llu\n", row.device.c_str(), row.row.c_str(),
                static_cast<unsigned long long>(row.predicted_bytes),
                static_cast<unsigned long long>(row.allocated_bytes));
  }
  out += Line("process: at most %llu B resident; now %llu B of its own, %llu B of mapped files\n",
              static_cast<unsigned long long>(resident.peak_bytes),
              static_cast<unsigned long long>(resident.anonymous_bytes),
              static_cast<unsigned long long>(resident.file_bytes));
  return out;
}

}  // namespace vt::cli
