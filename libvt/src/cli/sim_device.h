// --sim FILE: the simulated device that a vt.profile/1 document describes.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "vt/device.h"
#include "vt/status.h"

namespace vt::cli {

// Nothing for an empty path. Errors name the file: those of reading it, of ParseProfile and of
// SimDevice.
Result<std::optional<DeviceInfo>> ReadSimDevice(const std::string& path,
                                                const std::atomic<bool>& interrupted);

}  // namespace vt::cli
