#include "cli/sim_device.h"

#include "base/json.h"
#include "device/profile.h"

namespace vt::cli {

Result<std::vector<DeviceInfo>> ReadSimDevices(const std::vector<std::string>& paths,
                                               const std::atomic<bool>& interrupted) {
  std::vector<DeviceInfo> devices;
  for (const std::string& path : paths) {
    VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(path, interrupted));
    const Result<Profile> profile = ParseProfile(text);
    if (!profile.ok()) return profile.status().Annotate("--sim " + path);
    Result<std::vector<DeviceInfo>> more = SimDevices(*profile);
    if (!more.ok()) return more.status().Annotate("--sim " + path);
    for (DeviceInfo& device : *more) devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace vt::cli
