#include "cli/sim_device.h"

#include "base/json.h"
#include "device/profile.h"

namespace vt::cli {

Result<std::optional<DeviceInfo>> ReadSimDevice(const std::string& path,
                                                const std::atomic<bool>& interrupted) {
  if (path.empty()) return std::optional<DeviceInfo>();
  VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(path, interrupted));
  const Result<Profile> profile = ParseProfile(text);
  if (!profile.ok()) return profile.status().Annotate("--sim " + path);
  Result<DeviceInfo> device = SimDevice(*profile);
  if (!device.ok()) return device.status().Annotate("--sim " + path);
  return std::optional<DeviceInfo>(std::move(*device));
}

}  // namespace vt::cli
