// Processors, caches and NUMA nodes of made-up machines and of this one, beside hwloc's answers.
#include "device/topology.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdio>
#include <string>
#include <vector>

#include "device/fake_root.h"
#include "device/hwloc_oracle.h"
#include "device/sysfs.h"
#include "vt/device.h"

namespace vt {
namespace {

using Cpus = std::vector<int>;
constexpr std::uint64_t kKib = 1024;
constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

std::string List(const Cpus& cpus) {
  std::string text;
  for (int cpu : cpus) text.append(text.empty() ? "" : ",").append(std::to_string(cpu));
  return text + "\n";
}

// As the kernel writes masks of up to 32 processors.
std::string Mask(const Cpus& cpus) {
  unsigned mask = 0;
  for (int cpu : cpus) mask |= 1u << cpu;
  char text[16];
  std::snprintf(text, sizeof text, "%08x\n", mask);
  return text;
}

struct Cache {
  int level;
  const char* type;
  const char* size;
  Cpus shared;
};

// Files in the kernel's places: lists, which ProbeTopology reads, and masks, which hwloc does.
class FakeCpus : public test::FakeRoot {
 public:
  void Cpu(int cpu, int core_id, const Cpus& core, int package_id, const Cpus& package,
           const std::vector<Cache>& caches, bool old_kernel = false) const {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
    const std::string topology = folder + "/topology/";
    Write(topology + "core_id", std::to_string(core_id) + "\n");
    Write(topology + "physical_package_id", std::to_string(package_id) + "\n");
    const std::string core_name = old_kernel ? "thread_siblings" : "core_cpus";
    const std::string package_name = old_kernel ? "core_siblings" : "package_cpus";
    Write(topology + core_name, Mask(core));
    Write(topology + core_name + "_list", List(core));
    Write(topology + package_name, Mask(package));
    Write(topology + package_name + "_list", List(package));
    for (std::size_t i = 0; i < caches.size(); ++i) {
      const std::string cache = folder + "/cache/index" + std::to_string(i) + "/";
      Write(cache + "level", std::to_string(caches[i].level) + "\n");
      Write(cache + "type", std::string(caches[i].type) + "\n");
      Write(cache + "size", std::string(caches[i].size) + "\n");
      Write(cache + "shared_cpu_list", List(caches[i].shared));
      Write(cache + "shared_cpu_map", Mask(caches[i].shared));
    }
  }
  void Online(const std::string& list) const {
    Write("/sys/devices/system/cpu/online", list + "\n");
    Write("/sys/devices/system/cpu/possible", "0-31\n");
  }
  void Node(int id, const Cpus& cpus, std::uint64_t kib) const {
    const std::string number = std::to_string(id);
    const std::string folder = "/sys/devices/system/node/node" + number;
    Write(folder + "/cpulist", cpus.empty() ? "\n" : List(cpus));
    Write(folder + "/cpumap", Mask(cpus));
    Write(folder + "/meminfo", "Node " + number + " MemTotal:  " + std::to_string(kib) +
                                   " kB\nNode " + number + " MemFree: 1 kB\n");
  }
};

std::string Print(const CpuTopology& topology) {
  std::string text = "packages " + std::to_string(topology.packages.value_or(-1)) + " cores " +
                     std::to_string(topology.cores.value_or(-1)) + " threads " +
                     std::to_string(topology.threads.value_or(-1));
  for (const CacheLevel& cache : topology.caches) {
    text += "; L" + std::to_string(cache.level) + " " + std::to_string(cache.bytes) + " x" +
            std::to_string(cache.count);
  }
  for (const NumaNode& node : topology.numa) {
    text += "; node " + std::to_string(node.id) + " " +
            std::to_string(node.memory_bytes.value_or(0)) + ": ";
    for (int cpu : node.cpus) text += std::to_string(cpu) + " ";
  }
  return text;
}

// Two packages of two cores of two threads, numbered as Linux does: siblings are 4 apart.
void WriteServer(const FakeCpus& tree, bool old_kernel) {
  tree.Online("0-7");
  for (int cpu = 0; cpu < 8; ++cpu) {
    const int core = cpu % 4, package = core / 2;
    const Cpus siblings = {core, core + 4};
    const Cpus socket = package == 0 ? Cpus{0, 1, 4, 5} : Cpus{2, 3, 6, 7};
    tree.Cpu(cpu, core % 2, siblings, package, socket,
             {{1, "Data", "48K", siblings},
              {1, "Instruction", "32K", siblings},
              {2, "Unified", "2048K", siblings},
              {3, "Unified", "33792K", socket}},
             old_kernel);
  }
  tree.Write("/sys/devices/system/node/online", "0-1\n");
  tree.Node(0, {0, 1, 4, 5}, 64 * kGib / kKib);
  tree.Node(1, {2, 3, 6, 7}, 32 * kGib / kKib);
}

TEST(TopologyTest, TwoPackages) {
  for (const bool old_kernel : {false, true}) {
    const FakeCpus tree;
    WriteServer(tree, old_kernel);
    const CpuTopology found = ProbeTopology(tree.path());
    EXPECT_EQ(found.packages, 2);
    EXPECT_EQ(found.cores, 4);
    EXPECT_EQ(found.threads, 8);
    EXPECT_EQ(found.allowed, (Cpus{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(found.allowed_cores, 4);
    EXPECT_EQ(Print(found),
              "packages 2 cores 4 threads 8; L1 49152 x4; L2 2097152 x4; L3 34603008 x2; node 0 "
              "68719476736: 0 1 4 5 ; node 1 34359738368: 2 3 6 7 ");
    EXPECT_EQ(Print(found), Print(test::HwlocTopology(tree.path())));
  }
}

// Two big cores with two threads each, four small ones that share a cache; one node of memory
// without processors; a processor switched off.
TEST(TopologyTest, HybridWithOfflineProcessorAndMemoryOnlyNode) {
  const FakeCpus tree;
  tree.Online("0-5,7");
  const Cpus package = {0, 1, 2, 3, 4, 5, 7};
  for (int cpu = 0; cpu < 4; ++cpu) {
    const Cpus siblings = cpu < 2 ? Cpus{0, 1} : Cpus{2, 3};
    tree.Cpu(cpu, cpu / 2, siblings, 0, package,
             {{1, "Data", "48K", siblings},
              {1, "Instruction", "32K", siblings},
              {2, "Unified", "1280K", siblings},
              {3, "Unified", "12288K", package}});
  }
  for (int cpu : {4, 5, 7}) {
    tree.Cpu(cpu, cpu, {cpu}, 0, package,
             {{1, "Instruction", "64K", {cpu}},
              {1, "Data", "32K", {cpu}},
              {2, "Unified", "2048K", {4, 5, 7}},
              {3, "Unified", "12288K", package}});
  }
  tree.Write("/sys/devices/system/node/online", "0,2\n");
  tree.Node(0, package, 16 * kGib / kKib);
  tree.Node(2, {}, 8 * kGib / kKib);
  const CpuTopology found = ProbeTopology(tree.path());
  EXPECT_EQ(Print(found),
            "packages 1 cores 5 threads 7; L1 32768 x3; L1 49152 x2; L2 1310720 x2; L2 2097152 x1; "
            "L3 12582912 x1; node 0 17179869184: 0 1 2 3 4 5 7 ; node 2 8589934592: ");
  EXPECT_EQ(Print(found), Print(test::HwlocTopology(tree.path())));
}

TEST(TopologyTest, AffinityMaskOfTheTree) {
  const FakeCpus tree;
  WriteServer(tree, false);
  tree.Write("/proc/self/status",
             "Name:\tvt\nCpus_allowed:\tff\nCpus_allowed_list:\t1,5-6,20-63\n");
  CpuTopology found = ProbeTopology(tree.path());
  EXPECT_EQ(found.allowed, (Cpus{1, 5, 6}));  // 20 and up: could be there, are not
  EXPECT_EQ(found.allowed_cores, 2);          // 1 and 5 are one
  EXPECT_EQ(found.cores, 4);
  EXPECT_EQ(UsefulThreads(found), 3);
  tree.Write("/proc/self/cgroup", "0::/job\n");
  tree.Write("/sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  found = ProbeTopology(tree.path());
  EXPECT_EQ(found.quota_cpus.value, 1.5);
  EXPECT_EQ(found.quota_cpus.source, "/sys/fs/cgroup/job/cpu.max");
  EXPECT_EQ(UsefulThreads(found), 2);
}

TEST(TopologyTest, UsefulThreadsAreNeverNone) {
  CpuTopology topology;
  EXPECT_EQ(UsefulThreads(topology), 1);
  topology.allowed = {0, 1, 2, 3};
  EXPECT_EQ(UsefulThreads(topology), 4);
  topology.quota_cpus.value = 0.01;
  EXPECT_EQ(UsefulThreads(topology), 1);
  topology.quota_cpus.value = 3.01;
  EXPECT_EQ(UsefulThreads(topology), 4);
  topology.quota_cpus.value = 3.0;
  EXPECT_EQ(UsefulThreads(topology), 3);
  topology.quota_cpus.value = 1e30;
  EXPECT_EQ(UsefulThreads(topology), 4);
}

TEST(TopologyTest, WhatIsMissingIsUnknown) {
  const test::FakeRoot empty;
  CpuTopology found = ProbeTopology(empty.path());
  EXPECT_FALSE(found.packages || found.cores || found.threads || found.allowed_cores);
  EXPECT_TRUE(found.allowed.empty() && found.numa.empty() && found.caches.empty());
  EXPECT_FALSE(found.quota_cpus.value.has_value());
  // Processors without a word on what they share.
  const FakeCpus tree;
  tree.Online("0-3");
  found = ProbeTopology(tree.path());
  EXPECT_EQ(found.threads, 4);
  EXPECT_FALSE(found.packages || found.cores || found.allowed_cores);
  // One processor that tells is not the machine.
  tree.Cpu(2, 0, {2}, 0, {2}, {});
  found = ProbeTopology(tree.path());
  EXPECT_FALSE(found.packages || found.cores || found.allowed_cores);
}

TEST(TopologyTest, DamagedFilesAreUnknown) {
  const FakeCpus tree;
  WriteServer(tree, false);
  tree.Write("/sys/devices/system/cpu/cpu0/cache/index3/size", "big\n");
  tree.Write("/sys/devices/system/cpu/cpu0/cache/index2/size", "99999999999999999999K\n");
  tree.Write("/sys/devices/system/node/node1/meminfo", "Node 1 MemTotal: some kB\n");
  const CpuTopology found = ProbeTopology(tree.path());
  EXPECT_EQ(found.cores, 4);
  ASSERT_EQ(found.numa.size(), 2u);
  EXPECT_FALSE(found.numa[1].memory_bytes.has_value());
  tree.Write("/sys/devices/system/cpu/online", "0-x\n");
  EXPECT_FALSE(ProbeTopology(tree.path()).threads.has_value());
}

TEST(CpuListTest, Forms) {
  EXPECT_EQ(ParseCpuList("0-3,8"), (Cpus{0, 1, 2, 3, 8}));
  EXPECT_EQ(ParseCpuList("5,1-2,2"), (Cpus{1, 2, 5}));
  EXPECT_EQ(ParseCpuList(""), Cpus{});
  for (const char* bad : {"a", "1-", "-1", "3-1", "1,,2", "1 2", "0-4000000000", "70000"}) {
    EXPECT_FALSE(ParseCpuList(bad).has_value()) << bad;
  }
}

TEST(TopologyTest, ThisMachineAsHwlocSeesIt) {
  const CpuTopology found = ProbeTopology("");
  const CpuTopology oracle = test::HwlocTopology("");
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT_EQ(static_cast<int>(found.allowed.size()), CPU_COUNT(&set));
  for (int cpu : found.allowed) EXPECT_TRUE(CPU_ISSET(cpu, &set)) << cpu;
  // hwloc fills what a kernel does not tell from CPUID; ours is then unknown, never different.
  if (found.threads) {
    EXPECT_EQ(*found.threads, *oracle.threads);
  }
  if (found.cores) {
    EXPECT_EQ(*found.cores, *oracle.cores);
  }
  if (found.packages) {
    EXPECT_EQ(*found.packages, *oracle.packages);
  }
  if (found.allowed_cores) {
    EXPECT_GE(*found.allowed_cores, 1);
    EXPECT_LE(*found.allowed_cores, *found.cores);
  }
  CpuTopology ours = found, theirs = oracle;
  if (ours.caches.empty()) theirs.caches.clear();
  if (ours.numa.empty()) theirs.numa.clear();
  if (ours.cores && ours.packages) {
    EXPECT_EQ(Print(ours), Print(theirs));
  }
}

}  // namespace
}  // namespace vt
