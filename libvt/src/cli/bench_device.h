// The device that vt-bench measures.
#pragma once

#include <cstdint>
#include <string>

#include "cli/flags.h"
#include "vt/device.h"

namespace vt::cli {

struct BenchTarget {
  DeviceInfo device;
  int threads = 1;  // of the host
};

// `threads` 0: one for each core. kUnsupported: a simulated device, whose times are those of its
// emulator; kNotFound.
Result<BenchTarget> FindBenchTarget(const std::string& id, std::int64_t threads);
// The same judgement of the name alone.
Status CheckBenchDevice(std::string_view id);

Flag BenchBufferFlag(std::int64_t* mib);
inline std::uint64_t BufferBytes(std::int64_t mib) { return static_cast<std::uint64_t>(mib) << 20; }

}  // namespace vt::cli
