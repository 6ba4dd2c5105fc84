// What is registered, and what the backends say of this machine.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>

#include "device/gpu_probe.h"
#include "gpu/arch.h"
#include "gpu/stream.h"
#include "ops/registry.h"

namespace vt {
namespace {

constexpr DeviceKind kGpuKinds[] = {DeviceKind::kCuda, DeviceKind::kHip};

bool StartsWith(const std::string& text, const std::string& start) {
  return text.starts_with(start);
}

TEST(GpuBackend, SaysWhatItFoundOrWhyNot) {
  for (const DeviceKind kind : kGpuKinds) {
    const GpuBackendProbe probe = ProbeGpuBackend(kind);
    const BackendInfo& info = probe.info;
    std::string archs;
    for (const std::string& arch : info.archs) archs += " " + arch;
    // For scripts/check-gpu-builds.
    std::printf("probe %s: built=%d for%s; devices %zu; %s\n", std::string(NameOf(kind)).c_str(),
                info.built, archs.c_str(), probe.devices.size(), info.reason.c_str());
    EXPECT_EQ(info.kind, kind);
    EXPECT_EQ(info.configure, ConfigureFlag(kind));
    EXPECT_EQ(info.registered, !probe.devices.empty());
    if (!info.built) {
      EXPECT_FALSE(info.registered);
      EXPECT_EQ(info.reason, "compiled out of this build: configure with " + info.configure);
      EXPECT_TRUE(info.archs.empty());
      continue;
    }
    EXPECT_FALSE(info.archs.empty());
    if (!info.registered) {
      EXPECT_TRUE(StartsWith(info.reason, "no driver: ") ||
                  StartsWith(info.reason, "the driver ") ||
                  info.reason.find("this build's kernels are for") != std::string::npos)
          << info.reason;
    }
    for (const DeviceInfo& device : probe.devices) {
      EXPECT_TRUE(StartsWith(device.id, std::string(NameOf(kind)) + ":"));
      EXPECT_EQ(device.kind, kind);
      EXPECT_FALSE(device.name.empty());
      EXPECT_TRUE(ArchRuns(device.arch, info.archs)) << device.arch;
      EXPECT_GT(device.memory_total.bytes.value_or(0), std::uint64_t{1} << 28);
      EXPECT_FALSE(device.memory_total.source.empty());
      EXPECT_FALSE(device.link_gb_per_s.value.has_value());
    }
  }
}

TEST(GpuBackend, ADeviceThatIsNotThereIsAnErrorAndNoCrash) {
  for (const DeviceKind kind : kGpuKinds) {
    DeviceInfo device;
    device.kind = kind;
    device.id = std::string(NameOf(kind)) + ":99";
    const auto stream = OpenGpuStream(device);
    ASSERT_FALSE(stream.ok());
    EXPECT_TRUE(StartsWith(stream.status().message(), "device " + device.id + ": "))
        << stream.status().message();
    const auto memory = OpenGpuMemory(device);
    if (memory.ok()) {
      const auto bytes = (*memory)->Allocate(64);
      ASSERT_FALSE(bytes.ok());
      EXPECT_TRUE(StartsWith(bytes.status().message(), "device " + device.id + ": "))
          << bytes.status().message();
      EXPECT_EQ((*memory)->bytes_in_use(), 0u);
    } else {
      EXPECT_EQ(memory.status().code(), Code::kUnsupported);
    }
  }
}

TEST(GpuBackend, TheEmulatorNeedsNoDriver) {
  DeviceInfo device;
  device.kind = DeviceKind::kSim;
  device.id = "sim:0";
  EXPECT_TRUE(OpenGpuStream(device).ok());
  EXPECT_TRUE(OpenGpuMemory(device).ok());
  device.described = true;
  EXPECT_EQ(OpenGpuStream(device).status().code(), Code::kUnsupported);
}

TEST(GpuBackend, ArchitecturesRunWhatWasCompiledForThem) {
  const std::vector<std::string> archs = {"sm_80", "sm_90", "sm_120", "compute_120"};
  for (const char* runs : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_120", "sm_121", "sm_130"}) {
    EXPECT_TRUE(ArchRuns(runs, archs)) << runs;
  }
  for (const char* not_run : {"sm_75", "sm_100", "sm_103", "gfx1030", ""}) {
    EXPECT_FALSE(ArchRuns(not_run, archs)) << not_run;
  }
  EXPECT_FALSE(ArchRuns("sm_80", {"sm_86"}));
  EXPECT_TRUE(ArchRuns("gfx1030", {"gfx90a", "gfx1030"}));
  EXPECT_FALSE(ArchRuns("gfx1031", {"gfx90a", "gfx1030"}));
  EXPECT_FALSE(ArchRuns("sm_103", {"sm_100a", "compute_100a"}));
}

TEST(GpuRows, EveryBuildListsAllKindsAndLaunchesTheBuiltOnes) {
  EXPECT_TRUE(BuiltinKernels().Check().ok()) << BuiltinKernels().Check().message();
  // Some of the rows; that every kind has the same ones is the op table's own test.
  const std::set<std::string> want = {
      "add f32",      "arg_max f32",      "embed f32", "gelu_mul f32", "matmul q4_k", "matmul q8_0",
      "rms_norm f32", "rms_norm_add f32", "rope f32",  "silu_mul f32", "softmax f32"};
  for (const DeviceKind kind : {DeviceKind::kCuda, DeviceKind::kHip, DeviceKind::kSim}) {
    const std::string prefix = std::string(NameOf(kind)) + ".";
    const bool built = kind == DeviceKind::kSim || ProbeGpuBackend(kind).info.built;
    std::set<std::string> seen;
    BuiltinKernels().ForEach([&](std::string_view op, const auto& kernel) {
      if (kernel.device != kind || kernel.tier != Tier::kNative) return;
      ASSERT_TRUE(StartsWith(kernel.name, prefix)) << kernel.name;
      seen.insert(std::string(op) + " " + kernel.name.substr(prefix.size()));
      EXPECT_EQ(kernel.launch != nullptr, built) << kernel.name;
      EXPECT_NE(kernel.supports, nullptr) << kernel.name;
      EXPECT_EQ(kernel.priority, 10) << kernel.name;
    });
    for (const std::string& row : want) EXPECT_TRUE(seen.contains(row)) << prefix << " " << row;
  }
}

}  // namespace
}  // namespace vt
