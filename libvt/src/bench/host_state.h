// What else the machine was doing: readings of /proc, /sys and the cgroup, and the judgement of two
// of them around a measurement.
//
// Sources: Linux man proc_stat(5), Documentation/admin-guide/cgroup-v2.rst (cpu.stat),
// admin-guide/pm/cpufreq.rst, power/powercap/powercap.rst, driver-api/thermal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vt/status.h"

namespace vt {

struct Temperature {
  std::string sensor;  // "x86_pkg_temp"
  double celsius = 0;
};

// One moment. What cannot be read is absent.
struct HostReading {
  std::optional<double> busy_s;   // CPU time of everything on the machine, all processors together
  std::optional<double> steal_s;  // that the hypervisor gave to others
  double own_s = 0;               // CPU time of this process and its ended children
  double at_s = 0;                // a steady clock
  std::optional<double> load_1m;  // load average
  std::optional<std::uint64_t> throttled_periods;  // of the cgroup
  std::optional<double> throttled_s;
  std::string governor;            // of the first processor; empty: none
  std::vector<double> clocks_mhz;  // of each processor
  std::vector<Temperature> temperatures;
};

// `root` is put before every path ("" is the machine itself).
HostReading ReadHost(const std::string& root);

// Logical processors of the machine, those that /proc/stat counts.
int HostProcessors();

// Above these a measurement does not count. The counters of /proc/stat move in ticks: a load that
// one tick of each processor explains is none.
struct HostLimits {
  double other_load_cpus = 0.2;  // processors that others kept busy
  double steal_share = 0.01;     // of the time of all processors
};

// What happened between two readings.
struct HostChange {
  double wall_s = 0;
  std::optional<double> other_load_cpus;
  std::optional<double> steal_share;
  std::optional<std::uint64_t> throttled_periods;
  bool quiet = true;
  std::string reason;  // why not, with numbers and limits
};
HostChange JudgeHost(const HostReading& before, const HostReading& after, int processors,
                     const HostLimits& limits = {});

// Waits for one window of a second that is quiet, at most `wait_s`; the last window that was seen.
// `read` and `sleep` (seconds) are the machine's or a test's; false from `sleep` ends the wait.
struct QuietGate {
  bool found = false;
  double waited_s = 0;
  HostChange last;
};
QuietGate AwaitQuiet(double wait_s, int processors, const std::function<HostReading()>& read,
                     const std::function<bool(double)>& sleep, const HostLimits& limits = {});

// Energy counters of the processor packages (RAPL), in joules since some moment.
class EnergyMeter {
 public:
  explicit EnergyMeter(const std::string& root);
  // Why there is none; empty when there is.
  const std::string& reason() const { return reason_; }
  // Joules since the previous call; a counter that wrapped is understood. Absent: not readable.
  std::optional<double> Lap();

 private:
  struct Zone {
    std::string file;
    std::uint64_t range_uj = 0;
    std::uint64_t last_uj = 0;
  };
  std::vector<Zone> zones_;
  std::string reason_;
};

}  // namespace vt
