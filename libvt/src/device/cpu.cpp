#include <sched.h>

#include <array>
#include <cstring>

#include "device/probe.h"
#include "vt/device.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace vt {
namespace {

struct FeatureName {
  CpuFeature feature;
  std::string_view name;
};
constexpr std::array kFeatureNames = {
    FeatureName{kFeatureAvx2, "avx2"},
    FeatureName{kFeatureAvx512, "avx512"},
    FeatureName{kFeatureAvx512Vnni, "avx512vnni"},
};

constexpr std::uint32_t Bit(int n) { return 1u << n; }
constexpr bool HasAll(std::uint64_t word, std::uint64_t bits) { return (word & bits) == bits; }

#if defined(__x86_64__)
CpuidWords ReadCpuid() {
  CpuidWords words;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return words;
  words.leaf1_ecx = ecx;
  if (words.leaf1_ecx & Bit(27)) {  // OSXSAVE: xgetbv may be executed
    std::uint32_t low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    words.xcr0 = static_cast<std::uint64_t>(high) << 32 | low;
  }
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
    words.leaf7_ebx = ebx;
    words.leaf7_ecx = ecx;
  }
  return words;
}

// The 48 characters of CPUID leaves 0x80000002 to 0x80000004, with runs of spaces made one.
std::string BrandString() {
  std::array<unsigned, 12> words{};
  for (unsigned i = 0; i < 3; ++i) {
    unsigned* w = &words[4 * i];
    if (!__get_cpuid(0x80000002u + i, &w[0], &w[1], &w[2], &w[3])) return {};
  }
  std::array<char, 49> text{};
  std::memcpy(text.data(), words.data(), 48);
  std::string name;
  for (const char* c = text.data(); *c != '\0'; ++c) {
    if (*c == ' ' && (name.empty() || name.back() == ' ')) continue;
    name += *c;
  }
  if (name.ends_with(' ')) name.pop_back();
  return name;
}
#else
CpuidWords ReadCpuid() { return {}; }
std::string BrandString() { return {}; }
#endif

// Cores in this process's affinity mask; the mask grows until the kernel's fits.
int AllowedCores() {
  for (int cpus = CPU_SETSIZE; cpus <= (1 << 20); cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    const bool fits = sched_getaffinity(0, bytes, set) == 0;
    const int count = fits ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (fits) return count > 0 ? count : 1;
  }
  return 1;
}

}  // namespace

std::string_view NameOf(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCpu:
      return "cpu";
  }
  return "?";
}

std::vector<std::string_view> FeatureNames(std::uint32_t features) {
  std::vector<std::string_view> names;
  for (const FeatureName& row : kFeatureNames) {
    if (features & row.feature) names.push_back(row.name);
  }
  return names;
}

std::uint32_t FeaturesOf(const CpuidWords& words) {
  // Bits: Intel 64 Software Developer's Manual, CPUID leaves 1 and 7; XCR0 1-2 SSE and AVX state,
  // 5-7 the AVX-512 registers.
  constexpr std::uint32_t kFmaOsxsaveAvxF16c = Bit(12) | Bit(27) | Bit(28) | Bit(29);
  std::uint32_t features = 0;
  if (!HasAll(words.leaf1_ecx, kFmaOsxsaveAvxF16c) || !HasAll(words.xcr0, 0x6)) return features;
  if (!HasAll(words.leaf7_ebx, Bit(5))) return features;
  features |= kFeatureAvx2;
  if (!HasAll(words.leaf7_ebx, Bit(16) | Bit(17) | Bit(30) | Bit(31))) return features;
  if (!HasAll(words.xcr0, 0xe6)) return features;
  features |= kFeatureAvx512;
  if (HasAll(words.leaf7_ecx, Bit(11))) features |= kFeatureAvx512Vnni;
  return features;
}

DeviceInfo ProbeCpu() {
  DeviceInfo info;
  info.id = "cpu";
  info.name = BrandString();
  if (info.name.empty()) info.name = "unknown processor";
  info.features = FeaturesOf(ReadCpuid());
  info.cores = AllowedCores();
  info.memory_total = MemoryTotal("");
  info.memory_available = AvailableMemory("");
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
