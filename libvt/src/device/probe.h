// The parts of ProbeCpu, as functions of what they read, for tests with made-up machines.
#pragma once

#include <cstdint>
#include <string>

#include "vt/device.h"

namespace vt {

// The CPUID words and the XCR0 register that features are read from; 0 where a leaf is absent.
struct CpuidWords {
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf7_ebx = 0;
  std::uint32_t leaf7_ecx = 0;
  std::uint64_t xcr0 = 0;  // which registers the operating system saves
};

// CpuFeature bits; a wider set implies the narrower ones.
std::uint32_t FeaturesOf(const CpuidWords& words);

// MemTotal and MemAvailable of <root>/proc/meminfo, in bytes. root is "" for this machine.
MemoryFact MemoryTotal(const std::string& root);
MemoryFact MemAvailable(const std::string& root);

// The smallest limit of this process's memory cgroup (v1 and v2) and the groups above it, as far as
// they can be seen; "max" and the like are no limit. source is the file.
MemoryFact CgroupLimit(const std::string& root);

// MemAvailable, or the cgroup limit where that is smaller.
MemoryFact AvailableMemory(const std::string& root);

}  // namespace vt
