// The CPU as a device: on this machine, under a made-up root, and held to an instruction set.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "device/fake_root.h"
#include "device/probe.h"
#include "vt/device.h"

namespace vt {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

TEST(LimitIsaTest, HoldsTheFeatures) {
  DeviceInfo info;
  info.id = "cpu";
  info.features = kFeatureAvx2 | kFeatureAvx512 | kFeatureAvx512Vnni | kFeatureAmxInt8;
  EXPECT_EQ(LimitIsa(info, "scalar").value().features, 0u);
  EXPECT_EQ(LimitIsa(info, "avx2").value().features, kFeatureAvx2);
  EXPECT_EQ(LimitIsa(info, "avx512").value().features, kFeatureAvx2 | kFeatureAvx512);
  EXPECT_EQ(LimitIsa(info, "avx512vnni").value().features,
            kFeatureAvx2 | kFeatureAvx512 | kFeatureAvx512Vnni);
  const Status unknown = LimitIsa(info, "sse9").status();
  EXPECT_EQ(unknown.code(), Code::kInvalid);
  EXPECT_EQ(unknown.message(),
            "instruction set \"sse9\": not known; use scalar, avx2, avx512 or avx512vnni");
  info.features = kFeatureAvx2;
  info.name = "Some CPU";
  const Status lacking = LimitIsa(info, "avx512vnni").status();
  EXPECT_EQ(lacking.code(), Code::kUnsupported);
  EXPECT_EQ(
      lacking.message(),
      "instruction set \"avx512vnni\": device cpu (Some CPU) lacks avx512 avx512vnni; use one "
      "it has: scalar, avx2");
}

// A cgroup of 8 GiB and 2.5 processors on a machine of 32 GiB and 4.
test::FakeRoot SmallContainer() {
  test::FakeRoot tree;
  tree.WriteMeminfo();
  tree.Write("/proc/self/cgroup", "0::/\n");
  tree.Write("/sys/fs/cgroup/memory.max", std::to_string(8 * kGib));
  tree.Write("/sys/fs/cgroup/memory.current", std::to_string(2 * kGib));
  tree.Write("/sys/fs/cgroup/cpu.max", "250000 100000\n");
  tree.Write("/sys/devices/system/cpu/online", "0-3\n");
  return tree;
}

void ExpectSmallContainer(const DeviceInfo& info) {
  EXPECT_EQ(info.cores, 3);
  EXPECT_EQ(info.topology.threads, 4);
  EXPECT_EQ(info.topology.quota_cpus.value, 2.5);
  EXPECT_EQ(info.memory_total.bytes, 32 * kGib);
  EXPECT_EQ(info.memory_limit.bytes, 8 * kGib);
  EXPECT_EQ(info.memory_limit.source, "/sys/fs/cgroup/memory.max");
  EXPECT_EQ(info.memory_available.bytes, 6 * kGib);
  EXPECT_EQ(info.memory_reserve.bytes, 256 * kMib);
  EXPECT_EQ(info.memory_usable().bytes, 6 * kGib - 256 * kMib);
  EXPECT_FALSE(info.memory_ceiling.bytes.has_value());
}

TEST(ProbeTest, ReadsUnderTheRootThatIsGiven) {
  const test::FakeRoot tree = SmallContainer();
  ExpectSmallContainer(ProbeCpu(tree.path()));
  ExpectSmallContainer(ProbeCpu(tree.path() + "/"));
  EXPECT_EQ(RootOrDefault("/some/where//"), "/some/where");
  EXPECT_EQ(RootOrDefault("/"), "");
  EXPECT_EQ(ProbeCpu(tree.path()).features, ProbeCpu().features);
  EXPECT_EQ(ProbeCpu(tree.path()).name, ProbeCpu().name);
}

TEST(ProbeTest, ReadsUnderTheRootOfTheEnvironment) {
  const test::FakeRoot tree = SmallContainer();
  const test::FakeRoot other;
  setenv("VT_SYSROOT", tree.path().c_str(), 1);
  const DeviceInfo from_variable = ProbeCpu();
  const DeviceInfo from_argument = ProbeCpu(other.path());
  const DeviceInfo of_this_machine = ProbeCpu("/");
  unsetenv("VT_SYSROOT");
  ExpectSmallContainer(from_variable);
  EXPECT_FALSE(from_argument.memory_total.bytes.has_value());
  EXPECT_FALSE(from_argument.memory_reserve.bytes.has_value());
  EXPECT_EQ(from_argument.cores, 1);
  EXPECT_EQ(of_this_machine.memory_total.bytes, ProbeCpu().memory_total.bytes);
}

// The kernel's own list of flags is a second opinion on this machine's features.
TEST(ProbeTest, AgreesWithTheKernel) {
  const DeviceInfo info = ProbeCpu();
  EXPECT_EQ(info.id, "cpu");
  EXPECT_EQ(info.kind, DeviceKind::kCpu);
  EXPECT_FALSE(info.name.empty());
  EXPECT_GE(info.cores, 1);
  EXPECT_LE(info.cores, static_cast<int>(info.topology.allowed.size()));
  EXPECT_GT(info.memory_total.bytes.value_or(0), 0u);
  ASSERT_TRUE(info.memory_available.bytes.has_value());
  EXPECT_LE(*info.memory_available.bytes, *info.memory_total.bytes);
  EXPECT_LT(info.memory_usable().bytes, info.memory_available.bytes);
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) {
      EXPECT_EQ(line.substr(line.find(':') + 2), info.name);
    }
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line);
    const std::set<std::string> flags{std::istream_iterator<std::string>(words), {}};
    const auto all = [&](std::initializer_list<const char*> names) {
      for (const char* name : names) {
        if (!flags.contains(name)) return false;
      }
      return true;
    };
    const auto usable = [&](std::string_view name) {
      for (const FeatureFact& fact : info.feature_facts) {
        if (fact.name == name) return fact.state == FeatureFact::State::kUsable;
      }
      ADD_FAILURE() << "no fact " << name;
      return false;
    };
    const bool avx512 = all({"avx512f", "avx512bw", "avx512dq", "avx512vl"});
    EXPECT_EQ(usable("avx2"), all({"avx2", "fma", "f16c"}));
    EXPECT_EQ(usable("avx512"), avx512);
    EXPECT_EQ(usable("avx512vnni"), avx512 && all({"avx512_vnni"}));
    EXPECT_EQ(usable("avx512bf16"), avx512 && all({"avx512_bf16"}));
    EXPECT_EQ(usable("avx512fp16"), avx512 && all({"avx512_fp16"}));
    EXPECT_EQ(usable("avxvnni"), all({"avx_vnni"}));
    // A kernel that lists no tiles lets nobody use them; one that does may still refuse.
    EXPECT_LE(usable("amx_tile"), all({"amx_tile"}));
    EXPECT_LE(usable("amx_int8"), all({"amx_tile", "amx_int8"}));
    EXPECT_LE(usable("amx_bf16"), all({"amx_tile", "amx_bf16"}));
    EXPECT_EQ((info.features & kFeatureAvx2) != 0, usable("avx2"));
    EXPECT_EQ((info.features & kFeatureAvx512) != 0, usable("avx512"));
    EXPECT_EQ((info.features & kFeatureAvx512Vnni) != 0, usable("avx512vnni"));
    EXPECT_EQ((info.features & kFeatureAmxInt8) != 0, usable("amx_int8"));
    break;
  }
}

}  // namespace
}  // namespace vt
