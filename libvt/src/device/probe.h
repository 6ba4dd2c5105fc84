// The parts of ProbeCpu and ProbeMachine, as functions of what they read, for tests with made-up
// machines. `root` is "" for this machine, else a folder that holds proc/ and sys/.
#pragma once

#include <string>

#include "device/gpu_probe.h"
#include "vt/device.h"

namespace vt {

// `root` as paths are appended to it: without trailing slashes; an empty one is what the variable
// VT_SYSROOT names. "/" is this machine.
std::string RootOrDefault(const std::string& root);

// MemTotal and MemAvailable of <root>/proc/meminfo, in bytes.
MemoryFact MemoryTotal(const std::string& root);
MemoryFact MemAvailable(const std::string& root);

// MemAvailable, or what the cgroup leaves or the NUMA nodes have that the process is bound to,
// where that is smaller.
MemoryFact AvailableMemory(const std::string& root);

// 2 % of the machine, or of the cgroup's limit where that is smaller, but at least 256 MiB. Unknown
// when neither is known.
MemoryFact MemoryReserve(const MemoryFact& total, const MemoryFact& limit);

// ProbeMachine with the answer of the CUDA and HIP backends from `probe_gpu`.
Machine ProbeMachineWith(const MachineOptions& options,
                         GpuBackendProbe (*probe_gpu)(DeviceKind kind));

}  // namespace vt
