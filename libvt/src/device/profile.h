// Device profiles: vt.profile/1 documents (docs/json/vt.profile.md) that describe the devices of a
// machine that is not here.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vt/device.h"
#include "vt/status.h"

namespace vt {

// An accelerator of the described machine that no backend of this library drives. Nothing can be
// placed on it; it is listed so that nobody takes it for overlooked.
struct UndrivenDevice {
  std::string name;
  std::string reason;  // "vt has no backend for Metal"
  MemoryFact memory_total;
  Figure memory_gb_per_s;
  Figure link_gb_per_s;
  std::map<std::string, Figure> compute_tflops;
};

struct Profile {
  std::string name;
  std::string description;
  std::vector<DeviceInfo> devices;  // all with described = true
  std::vector<UndrivenDevice> undriven;
};

// Strict: kInvalid, at() a JSON pointer, for an unknown key, a wrong type, a missing required key,
// a value without its source, or values that no machine can have.
Result<Profile> ParseProfile(std::string_view json);

// The devices of a profile as simulated ones, in its order, with no faults where the profile names
// none; they get their ids (sim:0, ..) where they are registered. kInvalid when it has none.
Result<std::vector<DeviceInfo>> SimDevices(const Profile& profile);

}  // namespace vt
