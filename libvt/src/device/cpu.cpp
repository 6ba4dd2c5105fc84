#include <array>
#include <cstdlib>
#include <string>

#include "device/amx_probe.h"
#include "device/cgroup.h"
#include "device/cpu_features.h"
#include "device/numa_memory.h"
#include "device/probe.h"
#include "device/topology.h"
#include "vt/device.h"

namespace vt {
namespace {

#if defined(__x86_64__)
constexpr std::string_view kArch = "x86-64";
#elif defined(__aarch64__)
constexpr std::string_view kArch = "aarch64";
#else
constexpr std::string_view kArch = "";
#endif

const MemoryFact& SmallerOf(const MemoryFact& a, const MemoryFact& b) {
  return b.bytes && (!a.bytes || *b.bytes < *a.bytes) ? b : a;
}

}  // namespace

std::string RootOrDefault(const std::string& root) {
  std::string chosen = root;
  if (chosen.empty()) {
    if (const char* variable = std::getenv("VT_SYSROOT")) chosen = variable;
  }
  while (chosen.ends_with('/')) chosen.pop_back();
  return chosen;
}

DeviceInfo ProbeCpu(const std::string& given_root) {
  const std::string root = RootOrDefault(given_root);
  DeviceInfo info;
  info.id = "cpu";
  info.kind = DeviceKind::kCpu;
  info.name = ProcessorName();
  if (info.name.empty()) info.name = "unknown processor";
  info.arch = kArch;

  const std::optional<CpuidWords> words = ReadCpuid();
  info.feature_facts =
      FeatureFactsOf(words, words && TilesWorthTrying(*words) ? TryTiles() : TileAccess());
  info.features = FeaturesOf(info.feature_facts);
  info.topology = ProbeTopology(root);
  info.cores = UsefulThreads(info.topology);

  info.memory_total = MemoryTotal(root);
  info.memory_available = AvailableMemory(root);
  info.memory_limit = CgroupLimit(root);
  info.memory_ceiling = BoundNodesTotal(root);
  info.memory_reserve =
      MemoryReserve(SmallerOf(info.memory_total, info.memory_ceiling), info.memory_limit);

  const std::string source = "the host itself";
  info.integrated = {true, source};
  info.host_memory_addressable = {true, source};
  info.managed_allocations = {false, source};
  info.pageable_memory_access = {true, source};
  return info;
}

Result<DeviceInfo> LimitIsa(DeviceInfo info, std::string_view isa) {
  struct Level {
    std::string_view name;
    std::uint32_t features;
  };
  constexpr std::array kLevels = {
      Level{"scalar", 0},
      Level{"avx2", kFeatureAvx2},
      Level{"avx512", kFeatureAvx2 | kFeatureAvx512},
      Level{"avx512vnni", kFeatureAvx2 | kFeatureAvx512 | kFeatureAvx512Vnni},
  };
  const std::string subject = std::string("instruction set \"").append(isa).append("\"");
  for (const Level& level : kLevels) {
    if (level.name != isa) continue;
    if (const std::uint32_t missing = level.features & ~info.features; missing != 0) {
      std::string message = subject + ": device " + info.id + " (" + info.name + ") lacks";
      for (std::string_view name : FeatureNames(missing)) message.append(" ").append(name);
      message += "; use one it has: scalar";
      for (const Level& other : kLevels) {
        if (other.features != 0 && (other.features & ~info.features) == 0) {
          message.append(", ").append(other.name);
        }
      }
      return UnsupportedError(message);
    }
    info.features &= level.features;
    return info;
  }
  return InvalidError(subject + ": not known; use scalar, avx2, avx512 or avx512vnni");
}

}  // namespace vt
