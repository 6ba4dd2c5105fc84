// Whether code compiled for some architectures runs on a device.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vt {

// archs: "sm_80" runs on its own generation from that step on (8.0, 8.6, 8.9), "compute_120" is
// compiled by the driver for 12.0 and everything later, "sm_90a", "compute_90a" and "gfx1030" run
// on that very architecture.
bool ArchRuns(std::string_view device_arch, const std::vector<std::string>& archs);

}  // namespace vt
