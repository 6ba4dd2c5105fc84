#include "bench/host_state.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "device/sysfs.h"

namespace vt {
namespace {

namespace fs = std::filesystem;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double TickSeconds() {
  const long per_s = sysconf(_SC_CLK_TCK);
  return 1.0 / static_cast<double>(per_s > 0 ? per_s : 100);
}

double OwnSeconds() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage = {};
    if (getrusage(who, &usage) == 0) sum += Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  }
  return sum;
}

std::optional<double> ParseReal(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str()) return std::nullopt;
  return value;
}

// Names in a folder that begin with `prefix`, in name order; none when it cannot be read.
std::vector<std::string> Entries(const std::string& folder, std::string_view prefix) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.starts_with(prefix)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// "cpu  user nice system idle iowait irq softirq steal guest guest_nice", in ticks; guest time is
// part of user time.
void ReadStat(const std::string& root, HostReading& reading) {
  const auto lines = ReadLines(root + "/proc/stat");
  if (lines.empty()) return;
  const auto words = Words(lines.front());
  if (words.size() < 9 || words[0] != "cpu") return;
  const double tick = TickSeconds();
  double busy = 0;
  for (const std::size_t field : {1, 2, 3, 6, 7}) {
    busy += static_cast<double>(ParseNumber(words[field]).value_or(0)) * tick;
  }
  reading.busy_s = busy;
  if (const auto steal = ParseNumber(words[8])) {
    reading.steal_s = static_cast<double>(*steal) * tick;
  }
}

// The cgroup's cpu.stat: v2 in the unified tree (throttled_usec), v1 in that of the cpu controller
// (throttled_time, nanoseconds). The place is the group's own path, or, where a container mounts
// its group as the root, the root.
void ReadThrottling(const std::string& root, HostReading& reading) {
  std::vector<std::string> files;
  for (const std::string& line : ReadLines(root + "/proc/self/cgroup")) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      for (const char* place : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
        files.push_back(root + place + path + "/cpu.stat");
        files.push_back(root + place + "/cpu.stat");
      }
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      for (const char* place : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
        files.push_back(root + place + path + "/cpu.stat");
        files.push_back(root + place + "/cpu.stat");
      }
    }
  }
  for (const std::string& file : files) {
    for (const std::string& line : ReadLines(file)) {
      const auto words = Words(line);
      if (words.size() != 2) continue;
      const auto value = ParseNumber(words[1]);
      if (!value) continue;
      if (words[0] == "nr_throttled") reading.throttled_periods = *value;
      if (words[0] == "throttled_usec") reading.throttled_s = static_cast<double>(*value) * 1e-6;
      if (words[0] == "throttled_time") reading.throttled_s = static_cast<double>(*value) * 1e-9;
    }
    if (reading.throttled_periods) return;
  }
}

void ReadClocks(const std::string& root, HostReading& reading) {
  const std::string folder = root + "/sys/devices/system/cpu";
  reading.governor = ReadText(folder + "/cpu0/cpufreq/scaling_governor").value_or("");
  std::vector<int> numbers;
  for (const std::string& name : Entries(folder, "cpu")) {
    if (const auto number = ParseNumber(std::string_view(name).substr(3))) {
      numbers.push_back(static_cast<int>(*number));
    }
  }
  std::sort(numbers.begin(), numbers.end());
  for (const int number : numbers) {
    const auto text =
        ReadText(folder + "/cpu" + std::to_string(number) + "/cpufreq/scaling_cur_freq");
    const auto khz = text ? ParseNumber(*text) : std::nullopt;
    if (khz) reading.clocks_mhz.push_back(static_cast<double>(*khz) * 1e-3);
  }
  if (!reading.clocks_mhz.empty()) return;
  for (const std::string& line : ReadLines(root + "/proc/cpuinfo")) {
    if (!line.starts_with("cpu MHz")) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    if (const auto mhz = ParseReal(std::string_view(line).substr(colon + 1))) {
      reading.clocks_mhz.push_back(*mhz);
    }
  }
}

void ReadTemperatures(const std::string& root, HostReading& reading) {
  const auto add = [&](const std::string& sensor, const std::string& file) {
    const auto text = ReadText(file);
    const auto milli = text ? ParseReal(*text) : std::nullopt;
    if (milli) reading.temperatures.push_back({sensor, *milli * 1e-3});
  };
  const std::string zones = root + "/sys/class/thermal";
  for (const std::string& name : Entries(zones, "thermal_zone")) {
    add(ReadText(zones + "/" + name + "/type").value_or(name), zones + "/" + name + "/temp");
  }
  const std::string monitors = root + "/sys/class/hwmon";
  for (const std::string& name : Entries(monitors, "hwmon")) {
    const std::string sensor = ReadText(monitors + "/" + name + "/name").value_or(name);
    if (sensor != "coretemp" && sensor != "k10temp" && sensor != "zenpower") continue;
    add(sensor, monitors + "/" + name + "/temp1_input");
  }
}

}  // namespace

HostReading ReadHost(const std::string& root) {
  HostReading reading;
  ReadStat(root, reading);
  reading.own_s = OwnSeconds();
  reading.at_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  if (const auto text = ReadText(root + "/proc/loadavg")) {
    const auto words = Words(*text);
    if (!words.empty()) reading.load_1m = ParseReal(words[0]);
  }
  ReadThrottling(root, reading);
  ReadClocks(root, reading);
  ReadTemperatures(root, reading);
  return reading;
}

int HostProcessors() { return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))); }

HostChange JudgeHost(const HostReading& before, const HostReading& after, int processors,
                     const HostLimits& limits) {
  HostChange change;
  change.wall_s = after.at_s - before.at_s;
  if (change.wall_s <= 0) return change;
  const double tick_cpus = TickSeconds() * std::max(processors, 1) / change.wall_s;
  const auto complain = [&](const char* format, auto... values) {
    char text[160];
    std::snprintf(text, sizeof text, format, values...);
    change.quiet = false;
    change.reason.append(change.reason.empty() ? "" : "; ").append(text);
  };
  if (before.busy_s && after.busy_s) {
    const double others = *after.busy_s - *before.busy_s - (after.own_s - before.own_s);
    change.other_load_cpus = std::max(0.0, others / change.wall_s);
    if (*change.other_load_cpus > limits.other_load_cpus + tick_cpus) {
      complain("other processes kept %.2f processors busy (at most %.2f)", *change.other_load_cpus,
               limits.other_load_cpus);
    }
  }
  if (before.steal_s && after.steal_s) {
    change.steal_share =
        std::max(0.0, (*after.steal_s - *before.steal_s) / change.wall_s / std::max(processors, 1));
    if (*change.steal_share > limits.steal_share + tick_cpus / std::max(processors, 1)) {
      complain("the hypervisor took %.1f %% of the processors' time (at most %.1f %%)",
               100 * *change.steal_share, 100 * limits.steal_share);
    }
  }
  if (before.throttled_periods && after.throttled_periods &&
      *after.throttled_periods >= *before.throttled_periods) {
    change.throttled_periods = *after.throttled_periods - *before.throttled_periods;
    if (*change.throttled_periods > 0) {
      complain("the cgroup's CPU quota stopped it in %llu periods (at most 0)",
               static_cast<unsigned long long>(*change.throttled_periods));
    }
  }
  return change;
}

QuietGate AwaitQuiet(double wait_s, int processors, const std::function<HostReading()>& read,
                     const std::function<bool(double)>& sleep, const HostLimits& limits) {
  constexpr double kWindow = 1;
  QuietGate gate;
  while (true) {
    const HostReading before = read();
    if (!sleep(kWindow)) return gate;
    gate.last = JudgeHost(before, read(), processors, limits);
    gate.waited_s += kWindow;
    gate.found = gate.last.quiet;
    if (gate.found || gate.waited_s + kWindow > wait_s) return gate;
  }
}

EnergyMeter::EnergyMeter(const std::string& root) {
  const std::string folder = root + "/sys/class/powercap";
  // "intel-rapl:0" is a package; "intel-rapl:0:0" a part of one.
  for (const std::string& name : Entries(folder, "intel-rapl:")) {
    if (std::count(name.begin(), name.end(), ':') != 1) continue;
    Zone zone;
    zone.file = folder + "/" + name + "/energy_uj";
    const auto now = ReadText(zone.file);
    const auto range = ReadText(folder + "/" + name + "/max_energy_range_uj");
    const auto value = now ? ParseNumber(*now) : std::nullopt;
    if (!value) {
      reason_ = "/sys/class/powercap/" + name + "/energy_uj: not readable by this user";
      zones_.clear();
      return;
    }
    zone.last_uj = *value;
    zone.range_uj = range ? ParseNumber(*range).value_or(0) : 0;
    zones_.push_back(std::move(zone));
  }
  if (zones_.empty()) reason_ = "/sys/class/powercap: no intel-rapl package here";
}

std::optional<double> EnergyMeter::Lap() {
  if (zones_.empty()) return std::nullopt;
  double joules = 0;
  for (Zone& zone : zones_) {
    const auto text = ReadText(zone.file);
    const auto now = text ? ParseNumber(*text) : std::nullopt;
    if (!now) return std::nullopt;
    std::uint64_t spent = *now - zone.last_uj;
    if (*now < zone.last_uj)
      spent = zone.range_uj > zone.last_uj ? spent + zone.range_uj + 1 : *now;
    zone.last_uj = *now;
    joules += static_cast<double>(spent) * 1e-6;
  }
  return joules;
}

}  // namespace vt
