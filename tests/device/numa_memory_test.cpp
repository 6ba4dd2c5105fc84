// The memory of the nodes that a process is bound to, from made-up trees.
#include "device/numa_memory.h"

#include <gtest/gtest.h>

#include "device/fake_root.h"
#include "device/probe.h"

namespace vt {
namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
constexpr std::uint64_t kNodeKib = 32u << 20;

class NumaMemory : public testing::Test {
 protected:
  void SetUp() override { tree_.WriteNumaNodes(4, kNodeKib); }
  void Allow(const std::string& list) {
    tree_.Write("/proc/self/status",
                "Cpus_allowed_list:\t0-3\nMems_allowed:\tf\nMems_allowed_list:\t" + list + "\n");
  }
  void Policy(const std::string& policy) {
    tree_.Write("/proc/self/numa_maps", "55728553f000 " + policy +
                                            " file=/usr/bin/vt-fit mapped=2 N0=2\n"
                                            "557285544000 bind:0 anon=1\n");
  }
  test::FakeRoot tree_;
  const std::string& root_ = tree_.path();
};

TEST_F(NumaMemory, IsNoFactWhereNothingBinds) {
  EXPECT_FALSE(BoundNodesTotal(root_).bytes.has_value());
  Allow("0-3");
  Policy("default");
  EXPECT_FALSE(BoundNodesTotal(root_).bytes.has_value());
  EXPECT_FALSE(BoundNodesRoom(root_).bytes.has_value());
  // Nodes that are switched off, or have processors alone, are no loss.
  tree_.Write("/sys/devices/system/node/node3/meminfo", "Node 3 MemTotal: 0 kB\n");
  Allow("0-2");
  EXPECT_FALSE(BoundNodesTotal(root_).bytes.has_value());
  EXPECT_EQ(AvailableMemory(root_).bytes, 80 * kGib);
}

TEST_F(NumaMemory, OfACpuset) {
  Allow("2");
  EXPECT_EQ(BoundNodesTotal(root_).bytes, 32 * kGib);
  EXPECT_EQ(BoundNodesTotal(root_).source,
            "MemTotal of NUMA node 2 of 4, by Mems_allowed_list of /proc/self/status");
  EXPECT_EQ(BoundNodesRoom(root_).bytes, 20 * kGib);
  EXPECT_EQ(AvailableMemory(root_).bytes, 20 * kGib);
  EXPECT_EQ(AvailableMemory(root_).source,
            "MemFree and file cache of NUMA node 2 of 4, by Mems_allowed_list of "
            "/proc/self/status");
  Allow("0,3");
  EXPECT_EQ(BoundNodesTotal(root_).bytes, 64 * kGib);
  EXPECT_NE(BoundNodesTotal(root_).source.find("NUMA nodes 0,3 of 4"), std::string::npos);
}

TEST_F(NumaMemory, OfAPolicyThatBinds) {
  Allow("0-3");
  for (const char* policy : {"bind:1", "bind=static:1", "bind=relative:1"}) {
    Policy(policy);
    EXPECT_EQ(BoundNodesTotal(root_).bytes, 32 * kGib) << policy;
    EXPECT_EQ(BoundNodesTotal(root_).source,
              "MemTotal of NUMA node 1 of 4, by the policy in /proc/self/numa_maps");
  }
  // What only prefers may go elsewhere.
  for (const char* policy : {"prefer:1", "interleave:0-1", "local", "bind", "bind:x"}) {
    Policy(policy);
    EXPECT_FALSE(BoundNodesTotal(root_).bytes.has_value()) << policy;
  }
  // Of both, what both allow.
  Allow("0-1");
  Policy("bind:1-2");
  EXPECT_EQ(BoundNodesTotal(root_).bytes, 32 * kGib);
}

TEST_F(NumaMemory, UnknownIsNotZero) {
  Allow("2");
  tree_.Write("/sys/devices/system/node/node2/meminfo", "Node 2 MemTotal: lots\n");
  EXPECT_FALSE(BoundNodesTotal(root_).bytes.has_value());
  Allow("7");
  EXPECT_FALSE(BoundNodesTotal(root_).bytes.has_value());
  Allow("everything");
  EXPECT_FALSE(BoundNodesTotal(root_).bytes.has_value());
}

TEST_F(NumaMemory, IsTheCeilingOfTheCpu) {
  Allow("1");
  const DeviceInfo cpu = ProbeCpu(root_);
  EXPECT_EQ(cpu.memory_total.bytes, 128 * kGib);
  EXPECT_EQ(cpu.memory_ceiling.bytes, 32 * kGib);
  EXPECT_EQ(cpu.memory_reserve.bytes, 32 * kGib / 50);
  EXPECT_EQ(cpu.memory_usable().bytes, 20 * kGib - 32 * kGib / 50);
}

}  // namespace
}  // namespace vt
