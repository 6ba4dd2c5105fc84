// Memory facts and limits, from made-up /proc and cgroup trees.
#include <gtest/gtest.h>

#include "device/cgroup.h"
#include "device/fake_root.h"
#include "device/probe.h"
#include "vt/device.h"

namespace vt {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

std::string Text(std::uint64_t bytes) { return std::to_string(bytes) + "\n"; }

class MemoryTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) { tree_.Write(path, text); }
  test::FakeRoot tree_;
  const std::string& root_ = tree_.path();
};

TEST_F(MemoryTest, MeminfoIsReadByWholeKey) {
  tree_.WriteMeminfo();
  EXPECT_EQ(MemoryTotal(root_).bytes, 32 * kGib);
  EXPECT_EQ(MemoryTotal(root_).source, "/proc/meminfo MemTotal");
  EXPECT_EQ(MemAvailable(root_).bytes, 20 * kGib);
  EXPECT_EQ(AvailableMemory(root_).bytes, 20 * kGib);
  EXPECT_EQ(AvailableMemory(root_).source, "/proc/meminfo MemAvailable");
}

TEST_F(MemoryTest, UnknownIsNotZero) {
  for (const char* text : {"", "MemTotal: lots\nMemAvailable:\n", "MemTotal\nMemAvailableX: 1 kB\n",
                           "MemTotal: 18446744073709551615 kB\nMemAvailable: -1 kB\n"}) {
    Write("/proc/meminfo", text);
    EXPECT_FALSE(MemoryTotal(root_).bytes.has_value()) << text;
    EXPECT_TRUE(MemoryTotal(root_).source.empty()) << text;
    EXPECT_FALSE(MemAvailable(root_).bytes.has_value()) << text;
  }
  EXPECT_FALSE(CgroupLimit(root_).bytes.has_value());
  EXPECT_FALSE(CgroupRoom(root_).bytes.has_value());
  EXPECT_FALSE(AvailableMemory(root_).bytes.has_value());
}

TEST_F(MemoryTest, LimitAloneIsKnownWhereMeminfoIsNot) {
  Write("/proc/self/cgroup", "0::/job\n");
  Write("/sys/fs/cgroup/job/memory.max", Text(4 * kGib));
  EXPECT_EQ(AvailableMemory(root_).bytes, 4 * kGib);
}

TEST_F(MemoryTest, CgroupV2SmallestAncestor) {
  tree_.WriteMeminfo();
  Write("/proc/self/cgroup", "0::/user.slice/session.scope/job\n");
  Write("/sys/fs/cgroup/user.slice/memory.max", Text(8 * kGib));
  Write("/sys/fs/cgroup/user.slice/session.scope/memory.max", "max\n");
  Write("/sys/fs/cgroup/user.slice/session.scope/job/memory.max", Text(16 * kGib));
  EXPECT_EQ(CgroupLimit(root_).bytes, 8 * kGib);
  EXPECT_EQ(AvailableMemory(root_).bytes, 8 * kGib);
  EXPECT_EQ(AvailableMemory(root_).source, "/sys/fs/cgroup/user.slice/memory.max");
}

TEST_F(MemoryTest, CgroupV2MaxLeavesMemAvailable) {
  tree_.WriteMeminfo();
  Write("/proc/self/cgroup", "0::/job\n");
  Write("/sys/fs/cgroup/job/memory.max", "max\n");
  Write("/sys/fs/cgroup/job/memory.current", Text(28 * kGib));  // mapped models in the page cache
  EXPECT_FALSE(CgroupLimit(root_).bytes.has_value());
  EXPECT_EQ(AvailableMemory(root_).bytes, 20 * kGib);
}

TEST_F(MemoryTest, CgroupLimitAboveAvailableDoesNotMatter) {
  tree_.WriteMeminfo();
  Write("/proc/self/cgroup", "0::/job\n");
  Write("/sys/fs/cgroup/job/memory.max", Text(26 * kGib));
  EXPECT_EQ(CgroupLimit(root_).bytes, 26 * kGib);
  EXPECT_EQ(AvailableMemory(root_).bytes, 20 * kGib);
  EXPECT_EQ(AvailableMemory(root_).source, "/proc/meminfo MemAvailable");
}

// 10 GiB allowed, 9 used, of which 5 are file cache that the kernel gives back.
TEST_F(MemoryTest, WhatTheGroupUsesIsTakenOffButNotItsFileCache) {
  tree_.WriteMeminfo();
  Write("/proc/self/cgroup", "0::/job\n");
  Write("/sys/fs/cgroup/job/memory.max", Text(10 * kGib));
  Write("/sys/fs/cgroup/job/memory.current", Text(9 * kGib));
  EXPECT_EQ(CgroupRoom(root_).bytes, 1 * kGib);
  Write("/sys/fs/cgroup/job/memory.stat", "anon " + Text(4 * kGib) + "file " + Text(5 * kGib) +
                                              "inactive_anon 77\ninactive_file " + Text(3 * kGib) +
                                              "active_file " + Text(2 * kGib));
  EXPECT_EQ(CgroupRoom(root_).bytes, 6 * kGib);
  EXPECT_EQ(AvailableMemory(root_).bytes, 6 * kGib);
  EXPECT_EQ(AvailableMemory(root_).source,
            "/sys/fs/cgroup/job/memory.max less memory.current without its file cache");
  EXPECT_EQ(CgroupLimit(root_).bytes, 10 * kGib);
  EXPECT_EQ(CgroupLimit(root_).source, "/sys/fs/cgroup/job/memory.max");
  // More used than allowed, and more cache than use (the two are not read at one moment).
  Write("/sys/fs/cgroup/job/memory.current", Text(30 * kGib));
  EXPECT_EQ(CgroupRoom(root_).bytes, 0u);
  Write("/sys/fs/cgroup/job/memory.current", Text(1 * kGib));
  EXPECT_EQ(CgroupRoom(root_).bytes, 10 * kGib);
}

// The group itself may have 12 GiB, but its neighbours left 2 of the parent's 16.
TEST_F(MemoryTest, NeighboursUseCountsInTheGroupAbove) {
  tree_.WriteMeminfo();
  Write("/proc/self/cgroup", "0::/slice/job\n");
  Write("/sys/fs/cgroup/slice/job/memory.max", Text(12 * kGib));
  Write("/sys/fs/cgroup/slice/job/memory.current", Text(1 * kGib));
  Write("/sys/fs/cgroup/slice/memory.max", Text(16 * kGib));
  Write("/sys/fs/cgroup/slice/memory.current", Text(14 * kGib));
  EXPECT_EQ(CgroupLimit(root_).bytes, 12 * kGib);
  EXPECT_EQ(AvailableMemory(root_).bytes, 2 * kGib);
  EXPECT_TRUE(AvailableMemory(root_).source.starts_with("/sys/fs/cgroup/slice/memory.max"));
}

// In a container the group is named from outside and only its own files are mounted, at the top.
TEST_F(MemoryTest, CgroupOfAContainer) {
  tree_.WriteMeminfo();
  Write("/proc/self/cgroup", "0::/system.slice/docker-0123.scope\n");
  Write("/sys/fs/cgroup/memory.max", Text(4 * kGib));
  EXPECT_EQ(AvailableMemory(root_).bytes, 4 * kGib);
  Write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(AvailableMemory(root_).bytes, 4 * kGib);
}

constexpr const char* kV1Mount =
    "41 31 0:35 /docker/0123 /sys/fs/cgroup/memory rw,nosuid master:11 - cgroup cgroup rw,memory\n";

// The mount shows the container's group at its top, and the process is in a group below that.
TEST_F(MemoryTest, MountInfoTellsWhereTheGroupIs) {
  tree_.WriteMeminfo();
  Write("/proc/self/mountinfo", kV1Mount);
  Write("/proc/self/cgroup", "4:memory:/docker/0123/job\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", Text(9 * kGib));
  Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", Text(7 * kGib));
  Write("/sys/fs/cgroup/memory/docker/0123/job/memory.limit_in_bytes", Text(1 * kGib));
  EXPECT_EQ(CgroupLimit(root_).bytes, 7 * kGib);
  EXPECT_EQ(CgroupLimit(root_).source, "/sys/fs/cgroup/memory/job/memory.limit_in_bytes");
  // A group that the mount does not hold, with a name that only begins like one: the top is ours.
  Write("/proc/self/cgroup", "4:memory:/docker/01234/job\n");
  EXPECT_EQ(CgroupLimit(root_).bytes, 9 * kGib);
}

TEST_F(MemoryTest, MountInfoAtAnUnusualPlace) {
  tree_.WriteMeminfo();
  Write("/proc/self/mountinfo",
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "30 22 0:26 / /run/my\\040\\134groups rw - cgroup2 none rw,nsdelegate\n");
  Write("/proc/self/cgroup", "0::/job\n");
  Write("/run/my \\groups/job/memory.max", Text(3 * kGib));
  Write("/sys/fs/cgroup/job/memory.max", Text(1 * kGib));  // not a mount of cgroups
  EXPECT_EQ(CgroupLimit(root_).bytes, 3 * kGib);
  EXPECT_EQ(CgroupLimit(root_).source, "/run/my \\groups/job/memory.max");
}

// Seen from a namespace that this process's group is not in, no visible group is ours.
TEST_F(MemoryTest, GroupOutsideTheNamespace) {
  Write("/proc/self/cgroup", "0::/../other\n");
  Write("/sys/fs/cgroup/memory.max", Text(1 * kGib));
  Write("/sys/fs/other/memory.max", Text(1 * kGib));
  EXPECT_FALSE(CgroupLimit(root_).bytes.has_value());
}

TEST_F(MemoryTest, CgroupV1) {
  tree_.WriteMeminfo();
  Write("/proc/self/cgroup", "12:cpu,cpuacct:/other\n5:memory:/batch/job\n0::/\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(CgroupLimit(root_).bytes.has_value());  // v1 writes no limit so
  Write("/sys/fs/cgroup/memory/batch/memory.limit_in_bytes", Text(6 * kGib));
  Write("/sys/fs/cgroup/memory/batch/job/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/other/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(AvailableMemory(root_).bytes, 6 * kGib);
  EXPECT_EQ(AvailableMemory(root_).source, "/sys/fs/cgroup/memory/batch/memory.limit_in_bytes");
  Write("/sys/fs/cgroup/memory/batch/memory.usage_in_bytes", Text(5 * kGib));
  Write("/sys/fs/cgroup/memory/batch/memory.stat",
        "inactive_file 5\nactive_file 5\ntotal_inactive_file " + Text(1 * kGib) +
            "total_active_file " + Text(2 * kGib));
  EXPECT_EQ(AvailableMemory(root_).bytes, 4 * kGib);
}

TEST_F(MemoryTest, CgroupV1AmongOtherControllersAndV2Beside) {
  tree_.WriteMeminfo();
  Write("/proc/self/cgroup", "3:cpuset,memory,blkio:/job\n0::/unified\n");
  Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", Text(6 * kGib));
  EXPECT_EQ(CgroupLimit(root_).bytes, 6 * kGib);
  Write("/sys/fs/cgroup/unified/unified/memory.max", Text(5 * kGib));
  EXPECT_EQ(CgroupLimit(root_).bytes, 5 * kGib);
}

TEST_F(MemoryTest, QuotaV2IsTheSmallestAncestor) {
  Write("/proc/self/cgroup", "0::/slice/job\n");
  EXPECT_FALSE(CpuQuota(root_).value.has_value());
  Write("/sys/fs/cgroup/slice/job/cpu.max", "max 100000\n");
  EXPECT_FALSE(CpuQuota(root_).value.has_value());
  Write("/sys/fs/cgroup/slice/cpu.max", "250000 100000\n");
  EXPECT_EQ(CpuQuota(root_).value, 2.5);
  EXPECT_EQ(CpuQuota(root_).source, "/sys/fs/cgroup/slice/cpu.max");
  Write("/sys/fs/cgroup/slice/job/cpu.max", "75000 50000\n");
  EXPECT_EQ(CpuQuota(root_).value, 1.5);
  EXPECT_EQ(CpuQuota(root_).source, "/sys/fs/cgroup/slice/job/cpu.max");
  for (const char* damaged : {"", "75000", "75000 0", "x 100000", "0 100000"}) {
    Write("/sys/fs/cgroup/slice/job/cpu.max", damaged);
    EXPECT_EQ(CpuQuota(root_).value, 2.5) << damaged;
  }
}

TEST_F(MemoryTest, QuotaV1) {
  Write("/proc/self/cgroup", "7:cpu,cpuacct:/batch/job\n4:memory:/\n");
  const std::string job = "/sys/fs/cgroup/cpu,cpuacct/batch/job";
  Write(job + "/cpu.cfs_quota_us", "-1\n");
  Write(job + "/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(CpuQuota(root_).value.has_value());
  Write(job + "/cpu.cfs_quota_us", "400000\n");
  EXPECT_EQ(CpuQuota(root_).value, 4.0);
  EXPECT_EQ(CpuQuota(root_).source, job + "/cpu.cfs_quota_us");
  Write("/sys/fs/cgroup/cpu/batch/cpu.cfs_quota_us", "50000\n");
  Write("/sys/fs/cgroup/cpu/batch/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CpuQuota(root_).value, 0.5);
}

TEST_F(MemoryTest, ReserveIsAFiftiethButNotLittle) {
  const MemoryFact total = {100 * kGib, "total"};
  EXPECT_EQ(MemoryReserve(total, {}).bytes, 2 * kGib);
  EXPECT_EQ(MemoryReserve(total, {}).source, "vt: left to the rest of the machine");
  EXPECT_EQ(MemoryReserve(total, {50 * kGib, "limit"}).bytes, 1 * kGib);
  EXPECT_EQ(MemoryReserve(total, {200 * kGib, "limit"}).bytes, 2 * kGib);
  EXPECT_EQ(MemoryReserve(total, {1 * kGib, "limit"}).bytes, 256 * kMib);
  EXPECT_EQ(MemoryReserve({}, {50 * kGib, "limit"}).bytes, 1 * kGib);
  EXPECT_FALSE(MemoryReserve({}, {}).bytes.has_value());
}

TEST(UsableMemoryTest, SmallestKnownLessTheReserve) {
  DeviceInfo info;
  EXPECT_FALSE(info.memory_usable().bytes.has_value());
  info.memory_reserve = {1 * kGib, "reserve"};
  info.memory_limit = {3 * kGib, "limit"};  // is in `available` where it binds
  EXPECT_FALSE(info.memory_usable().bytes.has_value());
  // Reported whole, but no more than the ceiling can be allocated.
  info.memory_total = {64 * kGib, "reported"};
  EXPECT_EQ(info.memory_usable().bytes, 63 * kGib);
  EXPECT_EQ(info.memory_usable().source, "reported less the reserve");
  info.memory_ceiling = {58 * kGib, "ceiling"};
  EXPECT_EQ(info.memory_usable().bytes, 57 * kGib);
  EXPECT_EQ(info.memory_usable().source, "ceiling less the reserve");
  info.memory_available = {20 * kGib, "available"};
  EXPECT_EQ(info.memory_usable().bytes, 19 * kGib);
  info.memory_reserve = {};
  EXPECT_EQ(info.memory_usable().bytes, 20 * kGib);
  EXPECT_EQ(info.memory_usable().source, "available");
  info.memory_reserve = {30 * kGib, "reserve"};
  EXPECT_EQ(info.memory_usable().bytes, 0u);
  info.memory_reserve = {};
  info.memory_available = {};
  EXPECT_EQ(info.memory_usable().bytes, 58 * kGib);
}

}  // namespace
}  // namespace vt
