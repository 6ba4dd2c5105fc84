#include "bench/host_state.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/test_files.h"

namespace vt {
namespace {

void Put(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(path.substr(0, path.rfind('/')));
  std::ofstream(path) << text;
}

// A machine at one moment; ticks of 10 ms.
std::string Root(long user_ticks, long steal_ticks, int throttled) {
  const std::string root = test::TempDir();
  Put(root + "/proc/stat", "cpu  " + std::to_string(user_ticks) + " 10 20 5000 7 1 2 " +
                               std::to_string(steal_ticks) + " 3 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n");
  Put(root + "/proc/loadavg", "1.50 0.9 0.8 2/300 999\n");
  Put(root + "/proc/self/cgroup", "0::/jobs/one\n");
  Put(root + "/sys/fs/cgroup/jobs/one/cpu.stat", "usage_usec 1\nnr_periods 100\nnr_throttled " +
                                                     std::to_string(throttled) +
                                                     "\nthrottled_usec 2500000\n");
  Put(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  Put(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3400000\n");
  Put(root + "/sys/devices/system/cpu/cpu10/cpufreq/scaling_cur_freq", "800000\n");
  Put(root + "/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
  Put(root + "/sys/class/thermal/thermal_zone0/temp", "61500\n");
  return root;
}

TEST(HostState, ReadsWhatTheKernelWrites) {
  const HostReading reading = ReadHost(Root(1000, 40, 3));
  // user, nice, system, irq, softirq; guest time is inside user time, idle and iowait are not busy.
  EXPECT_DOUBLE_EQ(reading.busy_s.value(), 10.33);
  EXPECT_DOUBLE_EQ(reading.steal_s.value(), 0.4);
  EXPECT_DOUBLE_EQ(reading.load_1m.value(), 1.5);
  EXPECT_EQ(reading.throttled_periods, 3u);
  EXPECT_DOUBLE_EQ(reading.throttled_s.value(), 2.5);
  EXPECT_EQ(reading.governor, "powersave");
  EXPECT_EQ(reading.clocks_mhz, (std::vector<double>{3400, 800}));
  ASSERT_EQ(reading.temperatures.size(), 1u);
  EXPECT_EQ(reading.temperatures[0].sensor, "x86_pkg_temp");
  EXPECT_DOUBLE_EQ(reading.temperatures[0].celsius, 61.5);
}

TEST(HostState, ReadsTheOldCgroupTree) {
  const std::string root = test::TempDir();
  Put(root + "/proc/self/cgroup", "3:cpuset:/\n2:cpu,cpuacct:/box\n");
  Put(root + "/sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_throttled 9\nthrottled_time 5000000000\n");
  const HostReading reading = ReadHost(root);
  EXPECT_EQ(reading.throttled_periods, 9u);
  EXPECT_DOUBLE_EQ(reading.throttled_s.value(), 5);
}

TEST(HostState, AnEmptyRootGivesNoNumbers) {
  const HostReading reading = ReadHost(test::TempDir());
  EXPECT_FALSE(reading.busy_s);
  EXPECT_FALSE(reading.steal_s);
  EXPECT_FALSE(reading.load_1m);
  EXPECT_FALSE(reading.throttled_periods);
  EXPECT_TRUE(reading.governor.empty());
  EXPECT_TRUE(reading.clocks_mhz.empty());
  HostReading later = reading;
  later.at_s += 1;
  EXPECT_TRUE(JudgeHost(reading, later, 2).quiet);
}

HostReading At(double at, double busy, double own, double steal, std::uint64_t throttled) {
  HostReading reading;
  reading.at_s = at;
  reading.busy_s = busy;
  reading.own_s = own;
  reading.steal_s = steal;
  reading.throttled_periods = throttled;
  return reading;
}

TEST(HostState, OwnWorkIsNoDisturbance) {
  const HostChange change = JudgeHost(At(0, 100, 5, 1, 2), At(10, 120.5, 25, 1, 2), 4);
  EXPECT_TRUE(change.quiet) << change.reason;
  EXPECT_NEAR(change.other_load_cpus.value(), 0.05, 1e-12);
}

TEST(HostState, WhatOneTickExplainsIsNoLoad) {
  // 40 ms of four processors, whose counters move by 10 ms: 0.04 s are one tick of each.
  EXPECT_TRUE(JudgeHost(At(0, 100, 5, 1, 0), At(0.04, 100.04, 5, 1.01, 0), 4).quiet);
  EXPECT_FALSE(JudgeHost(At(0, 100, 5, 1, 0), At(0.04, 100.1, 5, 1, 0), 4).quiet);
}

TEST(HostState, EveryDisturbanceIsNamedWithItsNumbers) {
  const HostChange load = JudgeHost(At(0, 0, 0, 0, 0), At(10, 15, 5, 0, 0), 4);
  EXPECT_FALSE(load.quiet);
  EXPECT_EQ(load.reason, "other processes kept 1.00 processors busy (at most 0.20)");
  const HostChange steal = JudgeHost(At(0, 0, 0, 0, 0), At(10, 5, 5, 2, 0), 4);
  EXPECT_EQ(steal.reason, "the hypervisor took 5.0 % of the processors' time (at most 1.0 %)");
  const HostChange quota = JudgeHost(At(0, 0, 0, 0, 7), At(10, 5, 5, 0, 9), 4);
  EXPECT_EQ(quota.reason, "the cgroup's CPU quota stopped it in 2 periods (at most 0)");
  EXPECT_EQ(quota.throttled_periods, 2u);
}

TEST(HostState, QuietGateWaitsForAQuietSecondAndNoLonger) {
  // Busy for the first two windows.
  double now = 0, busy = 0;
  const auto read = [&] { return At(now, busy, 0, 0, 0); };
  const auto sleep = [&](double seconds) {
    now += seconds;
    if (now <= 2) busy += 1;
    return true;
  };
  const QuietGate found = AwaitQuiet(10, 2, read, sleep);
  EXPECT_TRUE(found.found);
  EXPECT_DOUBLE_EQ(found.waited_s, 3);
  now = busy = 0;
  const QuietGate none = AwaitQuiet(2, 2, read, sleep);
  EXPECT_FALSE(none.found);
  EXPECT_DOUBLE_EQ(none.waited_s, 2);
  EXPECT_FALSE(none.last.reason.empty());
  EXPECT_FALSE(AwaitQuiet(10, 2, read, [](double) { return false; }).found);
}

TEST(EnergyMeter, AddsPackagesAndUnderstandsAWrap) {
  const std::string root = test::TempDir();
  const std::string folder = root + "/sys/class/powercap/intel-rapl:";
  for (const char* zone : {"0", "1", "0:0"}) {
    Put(folder + zone + "/energy_uj", "900000\n");
    Put(folder + zone + "/max_energy_range_uj", "999999\n");
  }
  EnergyMeter meter(root);
  EXPECT_EQ(meter.reason(), "");
  Put(folder + "0/energy_uj", "950000\n");
  Put(folder + "1/energy_uj", "100000\n");
  EXPECT_NEAR(meter.Lap().value(), 0.05 + 0.2, 1e-9);
  EXPECT_NEAR(meter.Lap().value(), 0, 1e-9);
  EnergyMeter none(test::TempDir());
  EXPECT_FALSE(none.Lap());
  EXPECT_NE(none.reason().find("no intel-rapl"), std::string::npos);
}

}  // namespace
}  // namespace vt
