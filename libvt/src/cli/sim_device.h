// --sim FILE: the simulated devices that vt.profile/1 documents describe.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "vt/device.h"
#include "vt/status.h"

namespace vt::cli {

// Of all `paths`, in order. Errors name the file: those of reading it, of ParseProfile and of
// SimDevices.
Result<std::vector<DeviceInfo>> ReadSimDevices(const std::vector<std::string>& paths,
                                               const std::atomic<bool>& interrupted);

}  // namespace vt::cli
