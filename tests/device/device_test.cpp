// What ProbeCpu says, from made-up registers, /proc and cgroup trees, and on this machine.
#include "vt/device.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "device/probe.h"
#include "support/test_files.h"

namespace vt {
namespace {

constexpr std::uint32_t Bit(int n) { return 1u << n; }
constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

// A processor with everything, under a system that saves every register.
CpuidWords FullMachine() {
  return {.leaf1_ecx = Bit(12) | Bit(27) | Bit(28) | Bit(29),
          .leaf7_ebx = Bit(5) | Bit(16) | Bit(17) | Bit(30) | Bit(31),
          .leaf7_ecx = Bit(11),
          .xcr0 = 0xe7};
}

TEST(FeaturesTest, NeedInstructionsAndSavedRegisters) {
  constexpr std::uint32_t kAll = kFeatureAvx2 | kFeatureAvx512 | kFeatureAvx512Vnni;
  EXPECT_EQ(FeaturesOf(FullMachine()), kAll);
  EXPECT_EQ(FeaturesOf({}), 0u);
  for (int bit : {12, 27, 28, 29}) {  // FMA, OSXSAVE, AVX, F16C
    CpuidWords words = FullMachine();
    words.leaf1_ecx &= ~Bit(bit);
    EXPECT_EQ(FeaturesOf(words), 0u) << bit;
  }
  for (int bit : {16, 17, 30, 31}) {  // F, DQ, BW, VL
    CpuidWords words = FullMachine();
    words.leaf7_ebx &= ~Bit(bit);
    EXPECT_EQ(FeaturesOf(words), kFeatureAvx2) << bit;
  }
  CpuidWords words = FullMachine();
  words.leaf7_ecx = 0;
  EXPECT_EQ(FeaturesOf(words), kFeatureAvx2 | kFeatureAvx512);
  words = FullMachine();
  words.xcr0 = 0x7;  // the system saves AVX registers, not those of AVX-512
  EXPECT_EQ(FeaturesOf(words), kFeatureAvx2);
  words.xcr0 = 0x3;  // SSE alone
  EXPECT_EQ(FeaturesOf(words), 0u);
}

TEST(FeaturesTest, Names) {
  EXPECT_TRUE(FeatureNames(0).empty());
  EXPECT_EQ(FeatureNames(kFeatureAvx2 | kFeatureAvx512Vnni),
            (std::vector<std::string_view>{"avx2", "avx512vnni"}));
  EXPECT_EQ(NameOf(DeviceKind::kCpu), "cpu");
}

TEST(LimitIsaTest, HoldsTheFeatures) {
  DeviceInfo info;
  info.id = "cpu";
  info.features = kFeatureAvx2 | kFeatureAvx512 | kFeatureAvx512Vnni;
  EXPECT_EQ(LimitIsa(info, "scalar").value().features, 0u);
  EXPECT_EQ(LimitIsa(info, "avx2").value().features, kFeatureAvx2);
  EXPECT_EQ(LimitIsa(info, "avx512").value().features, kFeatureAvx2 | kFeatureAvx512);
  EXPECT_EQ(LimitIsa(info, "avx512vnni").value().features, info.features);
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

class MemoryTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  void WriteMeminfo() {
    Write("/proc/meminfo",
          "MemTotal:       33554432 kB\nMemFree:         1048576 kB\n"
          "MemAvailable:   20971520 kB\nSwapTotal:             0 kB\n");
  }
  std::string root_ = test::TempDir();
};

TEST_F(MemoryTest, MeminfoIsReadByWholeKey) {
  WriteMeminfo();
  EXPECT_EQ(MemoryTotal(root_).bytes, 32 * kGib);
  EXPECT_EQ(MemoryTotal(root_).source, "/proc/meminfo MemTotal");
  EXPECT_EQ(MemAvailable(root_).bytes, 20 * kGib);
  EXPECT_EQ(AvailableMemory(root_).bytes, 20 * kGib);
  EXPECT_EQ(AvailableMemory(root_).source, "/proc/meminfo MemAvailable");
}

TEST_F(MemoryTest, UnknownIsNotZero) {
  EXPECT_FALSE(MemoryTotal(root_).bytes.has_value());
  EXPECT_TRUE(MemoryTotal(root_).source.empty());
  Write("/proc/meminfo", "MemTotal: lots\nMemAvailable:\n");
  EXPECT_FALSE(MemoryTotal(root_).bytes.has_value());
  EXPECT_FALSE(MemAvailable(root_).bytes.has_value());
  EXPECT_FALSE(CgroupLimit(root_).bytes.has_value());
}

TEST_F(MemoryTest, CgroupV2SmallestAncestor) {
  WriteMeminfo();
  Write("/proc/self/cgroup", "0::/user.slice/session.scope/job\n");
  Write("/sys/fs/cgroup/user.slice/memory.max", "8589934592\n");
  Write("/sys/fs/cgroup/user.slice/session.scope/memory.max", "max\n");
  Write("/sys/fs/cgroup/user.slice/session.scope/job/memory.max", "17179869184\n");
  EXPECT_EQ(AvailableMemory(root_).bytes, 8 * kGib);
  EXPECT_EQ(AvailableMemory(root_).source, "/sys/fs/cgroup/user.slice/memory.max");
}

TEST_F(MemoryTest, CgroupV2MaxLeavesMemAvailable) {
  WriteMeminfo();
  Write("/proc/self/cgroup", "0::/job\n");
  Write("/sys/fs/cgroup/job/memory.max", "max\n");
  Write("/sys/fs/cgroup/job/memory.current", "30064771072\n");  // the page cache counts here
  EXPECT_EQ(AvailableMemory(root_).bytes, 20 * kGib);
}

TEST_F(MemoryTest, CgroupLimitAboveAvailableDoesNotMatter) {
  WriteMeminfo();
  Write("/proc/self/cgroup", "0::/job\n");
  Write("/sys/fs/cgroup/job/memory.max", "27917287424\n");  // 26 GiB
  EXPECT_EQ(CgroupLimit(root_).bytes, 26 * kGib);
  EXPECT_EQ(AvailableMemory(root_).bytes, 20 * kGib);
  EXPECT_EQ(AvailableMemory(root_).source, "/proc/meminfo MemAvailable");
}

// In a container the group is named from outside and only its own files are mounted, at the top.
TEST_F(MemoryTest, CgroupOfAContainer) {
  WriteMeminfo();
  Write("/proc/self/cgroup", "0::/system.slice/docker-0123.scope\n");
  Write("/sys/fs/cgroup/memory.max", "4294967296\n");
  EXPECT_EQ(AvailableMemory(root_).bytes, 4 * kGib);
  Write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(AvailableMemory(root_).bytes, 4 * kGib);
}

TEST_F(MemoryTest, CgroupV1) {
  WriteMeminfo();
  Write("/proc/self/cgroup", "12:cpu,cpuacct:/other\n5:memory:/batch/job\n0::/\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "6442450944\n");
  Write("/sys/fs/cgroup/memory/batch/job/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/other/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(AvailableMemory(root_).bytes, 6 * kGib);
  EXPECT_EQ(AvailableMemory(root_).source, "/sys/fs/cgroup/memory/batch/memory.limit_in_bytes");
}

TEST_F(MemoryTest, CgroupV1AmongOtherControllersAndV2Beside) {
  WriteMeminfo();
  Write("/proc/self/cgroup", "3:cpuset,memory,blkio:/job\n0::/unified\n");
  Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "6442450944\n");
  EXPECT_EQ(CgroupLimit(root_).bytes, 6 * kGib);
  Write("/sys/fs/cgroup/unified/unified/memory.max", "5368709120\n");
  EXPECT_EQ(CgroupLimit(root_).bytes, 5 * kGib);
}

// The kernel's own list of flags is a second opinion on this machine's features.
TEST(ProbeTest, AgreesWithTheKernel) {
  const DeviceInfo info = ProbeCpu();
  EXPECT_EQ(info.id, "cpu");
  EXPECT_FALSE(info.name.empty());
  EXPECT_GE(info.cores, 1);
  EXPECT_GT(info.memory_total.bytes.value_or(0), 0u);
  ASSERT_TRUE(info.memory_available.bytes.has_value());
  EXPECT_LE(*info.memory_available.bytes, *info.memory_total.bytes);
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
    EXPECT_EQ((info.features & kFeatureAvx2) != 0, all({"avx2", "fma", "f16c"}));
    EXPECT_EQ((info.features & kFeatureAvx512) != 0,
              all({"avx512f", "avx512bw", "avx512dq", "avx512vl"}));
    EXPECT_EQ((info.features & kFeatureAvx512Vnni) != 0,
              all({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"}));
    break;
  }
}

}  // namespace
}  // namespace vt
