// Devices: what each one is, what it can run (features) and what its memory is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vt/status.h"

namespace vt {

enum class DeviceKind { kCpu };
std::string_view NameOf(DeviceKind kind);  // "cpu"

// Instruction sets that kernels ask for, as bits. A bit is set only when CPUID reports the
// instructions and the operating system saves their registers (XGETBV).
enum CpuFeature : std::uint32_t {
  kFeatureAvx2 = 1u << 0,        // AVX2, FMA and F16C
  kFeatureAvx512 = 1u << 1,      // AVX-512 F, BW, DQ, VL
  kFeatureAvx512Vnni = 1u << 2,  // dpbusd on 512-bit registers
};
std::vector<std::string_view> FeatureNames(std::uint32_t features);  // {"avx2", "avx512", ...}

// A number and where it was read, or no number.
struct MemoryFact {
  std::optional<std::uint64_t> bytes;
  std::string source;  // "/proc/meminfo MemAvailable"; empty when unknown
};

struct DeviceInfo {
  std::string id;  // "cpu"
  DeviceKind kind = DeviceKind::kCpu;
  std::string name;            // "AMD Ryzen 9 7950X"
  std::uint32_t features = 0;  // CpuFeature bits
  int cores = 1;               // that this process may run on
  MemoryFact memory_total;
  MemoryFact memory_available;  // for this process: MemAvailable, held to the cgroup's limit
};

DeviceInfo ProbeCpu();

// `info` held to an instruction set: "scalar", "avx2", "avx512" (no VNNI), "avx512vnni".
// kInvalid when the name is not known, kUnsupported when this machine lacks it.
Result<DeviceInfo> LimitIsa(DeviceInfo info, std::string_view isa);

}  // namespace vt
