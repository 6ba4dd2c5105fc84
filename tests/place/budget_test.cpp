#include "place/budget.h"

#include <gtest/gtest.h>

#include "device/fake_root.h"
#include "vt/device.h"

namespace vt {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

MemoryFact Fact(std::uint64_t bytes, std::string source) { return {bytes, std::move(source)}; }

DeviceInfo Device(const std::string& id, DeviceKind kind) {
  DeviceInfo device;
  device.id = id;
  device.kind = kind;
  return device;
}

// 121.7 GiB, of which 115.6 are available.
DeviceInfo SparkHost() {
  DeviceInfo host = Device("cpu", DeviceKind::kCpu);
  host.memory_total = Fact(kGiB * 1217 / 10, "/proc/meminfo MemTotal");
  host.memory_available = Fact(kGiB * 1156 / 10, "/proc/meminfo MemAvailable");
  host.memory_reserve = Fact(2 * kGiB, "vt: left to the rest of the machine");
  return host;
}

std::vector<Budget> Budgets(const std::vector<DeviceInfo>& devices,
                            const BudgetOptions& options = {}) {
  Result<std::vector<Budget>> budgets = BudgetsOf(devices, options);
  EXPECT_TRUE(budgets.ok()) << budgets.status().message();
  return budgets.ok() ? std::move(budgets).value() : std::vector<Budget>(devices.size());
}

const BudgetFact& UsedFact(const Budget& budget) {
  for (const BudgetFact& fact : budget.facts) {
    if (fact.used) return fact;
  }
  ADD_FAILURE() << "no fact is used: " << budget.source;
  static const BudgetFact none;
  return none;
}

TEST(Budget, OfAnIntegratedBoardIsTheSmallerOfTotalAndCeiling) {
  DeviceInfo hip = Device("hip:0", DeviceKind::kHip);
  hip.memory_total = Fact(64 * kGiB, "hipGetDeviceProperties");
  hip.memory_ceiling = Fact(58 * kGiB, "allocation until failure");
  hip.integrated = {true, "hipGetDeviceProperties"};
  hip.managed_allocations = {true, "hipGetDeviceProperties"};
  const Budget budget = Budgets({SparkHost(), hip})[1];
  EXPECT_EQ(budget.bytes, 58 * kGiB);
  EXPECT_TRUE(budget.shares_host);
  ASSERT_EQ(budget.facts.size(), 2u);
  EXPECT_EQ(budget.facts[0].name, "total");
  EXPECT_EQ(budget.facts[0].bytes, 64 * kGiB);
  EXPECT_EQ(UsedFact(budget).name, "ceiling");
  EXPECT_EQ(UsedFact(budget).source, "allocation until failure");
  EXPECT_EQ(budget.source,
            "ceiling 58.00 GiB (allocation until failure), the smaller of total 64.00 GiB and "
            "ceiling 58.00 GiB");
}

// The free figure of an integrated NVIDIA board counts page cache as used: 41.5 GiB of a machine
// with 115.6 available.
TEST(Budget, LiveReadingOfAnIntegratedNvidiaBoardIsTheHosts) {
  DeviceInfo cuda = Device("cuda:0", DeviceKind::kCuda);
  cuda.memory_total = Fact(kGiB * 1217 / 10, "cudaMemGetInfo");
  cuda.memory_available = Fact(kGiB * 415 / 10, "cudaMemGetInfo");
  cuda.integrated = {true, "cudaDeviceProp::integrated"};
  const Budget budget = Budgets({SparkHost(), cuda})[1];
  EXPECT_TRUE(budget.shares_host);
  EXPECT_EQ(budget.live.bytes, kGiB * 1156 / 10 - 2 * kGiB);
  EXPECT_NE(budget.live.source.find("/proc/meminfo MemAvailable less a reserve of 2.00 GiB"),
            std::string::npos)
      << budget.live.source;
  EXPECT_NE(budget.live.source.find("41.50 GiB"), std::string::npos) << budget.live.source;
  EXPECT_EQ(UsedFact(budget).name, "total");

  const Budget live = Budgets({SparkHost(), cuda}, {.live = true})[1];
  EXPECT_EQ(live.bytes, budget.live.bytes);
  EXPECT_EQ(UsedFact(live).name, "live");

  // A board of its own is believed.
  cuda.integrated = {false, ""};
  const Budget own = Budgets({SparkHost(), cuda})[1];
  EXPECT_EQ(own.live.bytes, cuda.memory_available.bytes);
  EXPECT_FALSE(own.shares_host);
}

TEST(Budget, UnknownIsNotZero) {
  const DeviceInfo cuda = Device("cuda:0", DeviceKind::kCuda);
  Budget budget = Budgets({SparkHost(), cuda})[1];
  EXPECT_FALSE(budget.bytes.has_value());
  EXPECT_FALSE(budget.live.bytes.has_value());
  EXPECT_NE(budget.source.find("unknown"), std::string::npos);
  // A reader that made 0 of "[N/A]".
  DeviceInfo zero = cuda;
  zero.memory_total = Fact(0, "nvidia-smi");
  EXPECT_FALSE(Budgets({zero})[0].bytes.has_value());
  // What is free now is no budget, unless asked for.
  DeviceInfo free = cuda;
  free.memory_available = Fact(7 * kGiB, "cudaMemGetInfo");
  EXPECT_FALSE(Budgets({free})[0].bytes.has_value());
  EXPECT_EQ(Budgets({free}, {.live = true})[0].bytes, 7 * kGiB);
}

// Four boards of the same maker: a carve-out of its own, a translation table into the host's
// memory, one that says nothing, and a card.
TEST(Budget, CarveOutsTablesAndCards) {
  DeviceInfo host = Device("cpu", DeviceKind::kCpu);
  host.memory_total = Fact(31 * kGiB, "/proc/meminfo MemTotal");
  DeviceInfo carved = Device("hip:0", DeviceKind::kHip);
  carved.memory_total = Fact(96 * kGiB, "mem_info_vram_total");
  carved.integrated = {true, "APU"};
  carved.managed_allocations = {false, "carve-out"};
  std::vector<Budget> budgets = Budgets({host, carved});
  EXPECT_EQ(budgets[1].bytes, 96 * kGiB);
  EXPECT_FALSE(budgets[1].shares_host);
  EXPECT_EQ(UsedFact(budgets[1]).source, "mem_info_vram_total");

  host.memory_total = Fact(127 * kGiB, "/proc/meminfo MemTotal");
  DeviceInfo table = carved;
  table.memory_total = Fact(120 * kGiB, "mem_info_gtt_total");
  table.managed_allocations = {true, "GTT"};
  budgets = Budgets({host, table});
  EXPECT_EQ(budgets[1].bytes, 120 * kGiB);
  EXPECT_TRUE(budgets[1].shares_host);
  EXPECT_EQ(UsedFact(budgets[1]).source, "mem_info_gtt_total");

  DeviceInfo untold = table;
  untold.memory_total = {};
  EXPECT_FALSE(Budgets({host, untold})[1].bytes.has_value());

  DeviceInfo card = Device("hip:0", DeviceKind::kHip);
  card.memory_total = Fact(16 * kGiB, "mem_info_vram_total");
  card.integrated = {false, "discrete"};
  budgets = Budgets({host, card});
  EXPECT_EQ(budgets[1].bytes, 16 * kGiB);
  EXPECT_FALSE(budgets[1].shares_host);
}

TEST(Budget, TheCgroupsLimitCountsWhereItIsSmaller) {
  DeviceInfo host = Device("cpu", DeviceKind::kCpu);
  host.memory_total = Fact(754 * kGiB, "/proc/meminfo MemTotal");
  host.memory_limit = Fact(90 * kGiB, "/sys/fs/cgroup/job/memory.max");
  host.memory_reserve = Fact(kGiB, "vt: left to the rest of the machine");
  const Budget limited = Budgets({host})[0];
  EXPECT_EQ(limited.bytes, 89 * kGiB);
  EXPECT_EQ(limited.reserve_bytes, kGiB);
  EXPECT_EQ(UsedFact(limited).source, "/sys/fs/cgroup/job/memory.max");
  EXPECT_NE(limited.source.find("limit 90.00 GiB (/sys/fs/cgroup/job/memory.max)"),
            std::string::npos)
      << limited.source;
  EXPECT_NE(limited.source.find("less a reserve of 1.00 GiB"), std::string::npos);
  // "max" is no limit: the reader leaves it out.
  host.memory_limit = {};
  EXPECT_EQ(Budgets({host})[0].bytes, 753 * kGiB);
}

// Two processors of 32 nodes with 32 GB each, and a process that may take memory of one: what the
// others have does not help it.
TEST(Budget, AProcessBoundToANumaNodeHasThatNodesMemory) {
  const test::FakeRoot tree;
  tree.WriteNumaNodes(32, 33554432);
  const Budget whole = Budgets({ProbeCpu(tree.path())})[0];
  EXPECT_EQ(UsedFact(whole).name, "total");
  EXPECT_GT(whole.bytes, 1000 * kGiB);

  tree.Write("/proc/self/status", "Name:\tvt\nMems_allowed_list:\t5\n");
  const DeviceInfo host = ProbeCpu(tree.path());
  const Budget bound = Budgets({host})[0];
  EXPECT_EQ(UsedFact(bound).name, "ceiling");
  EXPECT_EQ(UsedFact(bound).bytes, 32 * kGiB);
  // Its share for the rest is the node's, not that of 1024 GiB.
  EXPECT_EQ(bound.reserve_bytes, 32 * kGiB / 50);
  EXPECT_EQ(bound.bytes, 32 * kGiB - 32 * kGiB / 50);
  EXPECT_NE(bound.source.find("NUMA node 5 of 32, by Mems_allowed_list of /proc/self/status"),
            std::string::npos)
      << bound.source;
  EXPECT_EQ(Budgets({host}, {.live = true})[0].bytes, 20 * kGiB - 32 * kGiB / 50);
}

// What is free now, and the reserve it is held to, decide nothing unless asked for.
TEST(Budget, TheSameFactsGiveTheSameBudget) {
  DeviceInfo host = SparkHost();
  const Budget before = Budgets({host})[0];
  host.memory_available = Fact(kGiB, "/proc/meminfo MemAvailable");
  const Budget after = Budgets({host})[0];
  EXPECT_EQ(before.bytes, after.bytes);
  EXPECT_EQ(before.source, after.source);
  EXPECT_NE(before.live.bytes, after.live.bytes);
  EXPECT_LT(Budgets({host}, {.live = true})[0].bytes, after.bytes);
}

TEST(Budget, OfTheUsersWord) {
  BudgetOptions options;
  options.given = {{"cpu", 16 * kGiB}};
  Budget budget = Budgets({SparkHost()}, options)[0];
  EXPECT_EQ(budget.bytes, 16 * kGiB);
  EXPECT_EQ(budget.reserve_bytes, 0u);
  EXPECT_EQ(budget.source, "--budget 16.00 GiB");
  options.reserves = {{"cpu", 3 * kGiB}};
  EXPECT_EQ(Budgets({SparkHost()}, options)[0].bytes, 13 * kGiB);
  options.given = {};
  budget = Budgets({SparkHost()}, options)[0];
  EXPECT_EQ(budget.bytes, kGiB * 1217 / 10 - 3 * kGiB);

  options.given = {{"cuda:1", kGiB}};
  Status status = BudgetsOf({SparkHost()}, options).status();
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_EQ(status.message(), "--budget: device \"cuda:1\" is not there (found: cpu)");
  options.given = {{"cpu", kGiB}, {"cpu", kGiB}};
  status = BudgetsOf({SparkHost()}, options).status();
  EXPECT_EQ(status.message(), "--budget: device cpu is named twice");
}

TEST(Budget, AReserveIsNeverMoreThanThereIs) {
  BudgetOptions options;
  options.reserves = {{"cpu", 500 * kGiB}};
  EXPECT_EQ(Budgets({SparkHost()}, options)[0].bytes, 0u);
}

TEST(ParseBudgets, ReadsSizesWithUnits) {
  const auto list = ParseBudgets("cpu=16GiB,cuda:0=20.5GiB,hip:1=4GB,sim:0=300KiB");
  ASSERT_TRUE(list.ok()) << list.status().message();
  const DeviceBytes want = {{"cpu", 16 * kGiB},
                            {"cuda:0", kGiB * 41 / 2},
                            {"hip:1", 4'000'000'000u},
                            {"sim:0", 300 * 1024u}};
  EXPECT_EQ(*list, want);
}

TEST(ParseBudgets, RefusesWhatItCannotRead) {
  const auto message = [](std::string_view text) {
    const auto list = ParseBudgets(text);
    EXPECT_EQ(list.status().code(), Code::kInvalid) << text;
    return list.status().message();
  };
  EXPECT_EQ(message("cpu=16"),
            "\"16\" has no unit (KiB, MiB, GiB, TiB, KB, MB, GB or TB, as in 16GiB)");
  EXPECT_NE(message("cpu=16gib").find("a unit that is not known"), std::string::npos);
  EXPECT_NE(message("cpu=16EiB").find("a unit that is not known"), std::string::npos);
  EXPECT_NE(message("cpu").find("is not DEVICE=SIZE"), std::string::npos);
  EXPECT_NE(message("").find("is not DEVICE=SIZE"), std::string::npos);
  EXPECT_NE(message("cpu=1GiB,").find("is not DEVICE=SIZE"), std::string::npos);
  EXPECT_NE(message("=1GiB").find("is not DEVICE=SIZE"), std::string::npos);
  EXPECT_NE(message("cpu=").find("is not a size"), std::string::npos);
  EXPECT_NE(message("cpu=-1GiB").find("is not a size"), std::string::npos);
  EXPECT_NE(message("cpu=nanGiB").find("is not a size"), std::string::npos);
  EXPECT_NE(message("cpu=1e30TiB").find("more than any device has"), std::string::npos);
  EXPECT_EQ(message("cpu=1GiB,cpu=2GiB"), "device cpu is named twice");
}

}  // namespace
}  // namespace vt
