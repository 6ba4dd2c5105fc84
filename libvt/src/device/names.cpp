// Names of kinds, features and devices.
#include <array>
#include <string>

#include "vt/device.h"

namespace vt {
namespace {

struct FeatureName {
  CpuFeature feature;
  std::string_view name;
};
constexpr std::array kFeatureNames = {
    FeatureName{kFeatureAvx2, "avx2"},
    FeatureName{kFeatureAvx512, "avx512"},
    FeatureName{kFeatureAvx512Vnni, "avx512vnni"},
    FeatureName{kFeatureAmxInt8, "amx_int8"},
};

constexpr std::string_view kRunCaps = "; run vt-caps to list devices";

std::string Quoted(std::string_view word) { return std::string("\"").append(word).append("\""); }

// "cpu, cuda, hip, sim"
std::string KindNames(std::string_view last_separator) {
  std::string names;
  for (const DeviceKind kind : kDeviceKinds) {
    if (!names.empty()) names.append(kind == DeviceKind::kSim ? last_separator : ", ");
    names.append(NameOf(kind));
  }
  return names;
}

}  // namespace

std::string_view NameOf(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCpu:
      return "cpu";
    case DeviceKind::kCuda:
      return "cuda";
    case DeviceKind::kHip:
      return "hip";
    case DeviceKind::kSim:
      return "sim";
  }
  return "?";
}

std::string_view ConfigureFlag(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCuda:
      return "-DVT_CUDA=ON";
    case DeviceKind::kHip:
      return "-DVT_HIP=ON";
    case DeviceKind::kCpu:
    case DeviceKind::kSim:
      return "";
  }
  return "";
}

Result<DeviceKind> ParseDeviceKind(std::string_view name) {
  for (const DeviceKind kind : kDeviceKinds) {
    if (NameOf(kind) == name) return kind;
  }
  return InvalidError("device kind " + Quoted(name) + ": not known; use " + KindNames(" or "));
}

std::string_view NameOf(FeatureFact::State state) {
  switch (state) {
    case FeatureFact::State::kUsable:
      return "usable";
    case FeatureFact::State::kAbsent:
      return "absent";
    case FeatureFact::State::kRefused:
      return "refused";
  }
  return "?";
}

std::vector<std::string_view> FeatureNames(std::uint32_t features) {
  std::vector<std::string_view> names;
  for (const FeatureName& row : kFeatureNames) {
    if (features & row.feature) names.push_back(row.name);
  }
  return names;
}

std::optional<CpuFeature> FindFeature(std::string_view name) {
  for (const FeatureName& row : kFeatureNames) {
    if (row.name == name) return row.feature;
  }
  return std::nullopt;
}

Result<DeviceInfo> FindDevice(const Machine& machine, std::string_view id) {
  std::string found;
  for (const DeviceInfo& device : machine.devices) {
    if (device.id == id) return device;
    found += (found.empty() ? "" : ", ") + device.id;
  }
  const std::string subject = "device " + Quoted(id);
  const std::string_view word = id.substr(0, id.find(':'));
  const auto kind = ParseDeviceKind(word);
  if (!kind.ok()) {
    return Status(Code::kNotFound, subject + ": no such kind of device (known: " + KindNames(", ") +
                                       ")" + std::string(kRunCaps));
  }
  std::string message = subject + ": not present (found: " + (found.empty() ? "none" : found) + ")";
  for (const BackendInfo& backend : machine.backends) {
    if (backend.kind != *kind || backend.reason.empty()) continue;
    message.append("; ").append(word).append(": ").append(backend.reason);
  }
  return Status(Code::kNotFound, message.append(kRunCaps));
}

}  // namespace vt
