#include "cli/machine_source.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/near_names.h"
#include "caps/caps_document.h"
#include "caps/probe_child.h"
#include "cli/flags.h"
#include "cli/sim_device.h"

namespace vt::cli {
namespace {

namespace fs = std::filesystem;

Result<LoadedMachine> MachineOfCaps(const std::string& path, const std::atomic<bool>& interrupted) {
  VT_ASSIGN_OR_RETURN(CapsReport report, ReadCapsFile(path, interrupted));
  if (!report.filters.ops.empty() || !report.filters.dtypes.empty()) {
    return Status(Code::kInvalid,
                  ValidUtf8(path) +
                      ": lists only some kernels (made with --op or --dtype); make "
                      "it without",
                  "/filters");
  }
  return LoadedMachine{std::move(report.machine), std::move(report.undriven)};
}

Result<LoadedMachine> MachineOfProfile(const std::string& name,
                                       const std::atomic<bool>& interrupted) {
  VT_ASSIGN_OR_RETURN(const std::string path, ProfilePath(name));
  VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(path, interrupted));
  Result<Profile> profile = ParseProfile(text);
  if (!profile.ok()) return profile.status().Annotate(ValidUtf8(path));
  LoadedMachine loaded{{{}, std::move(profile->devices)}, std::move(profile->undriven)};
  for (const DeviceKind kind : kDeviceKinds) {
    BackendInfo backend;
    backend.kind = kind;
    backend.configure = ConfigureFlag(kind);
    backend.registered = std::any_of(loaded.machine.devices.begin(), loaded.machine.devices.end(),
                                     [&](const DeviceInfo& device) { return device.kind == kind; });
    if (!backend.registered) backend.reason = "the profile describes none";
    loaded.machine.backends.push_back(std::move(backend));
  }
  return loaded;
}

// Where profiles lie: beside an installed program (PREFIX/share/vt/profiles), or above a program
// that was built in a folder of its source tree.
fs::path ProfileFolder() {
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  while (!error && folder.has_relative_path()) {
    for (const char* below : {"share/vt/profiles", "profiles"}) {
      if (fs::exists(folder / below / "sim-small.json", error)) return folder / below;
    }
    folder = folder.parent_path();
  }
  return {};
}

}  // namespace

Result<CapsReport> ReadCapsFile(const std::string& path, const std::atomic<bool>& interrupted) {
  VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(path, interrupted));
  Result<CapsReport> report = ParseCapsDocument(text);
  if (!report.ok()) return report.status().Annotate(ValidUtf8(path));
  return report;
}

std::vector<std::string> ProfileNames() {
  std::vector<std::string> names;
  const fs::path folder = ProfileFolder();
  std::error_code error;
  if (folder.empty()) return names;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> ProfilePath(const std::string& profile) {
  std::error_code error;
  const bool path = profile == "-" || profile.find('/') != std::string::npos ||
                    profile.ends_with(".json") || fs::exists(profile, error);
  if (path) return profile;
  const std::vector<std::string> names = ProfileNames();
  if (std::find(names.begin(), names.end(), profile) != names.end()) {
    return (ProfileFolder() / (profile + ".json")).string();
  }
  std::string message =
      ValidUtf8(profile) + ": is neither a file nor a profile that came with this program";
  if (!names.empty()) {
    const std::vector<std::string_view> views(names.begin(), names.end());
    message += "; the nearest name is " + std::string(NearestName(profile, views));
  }
  return Status(Code::kNotFound, message);
}

Result<LoadedMachine> LoadMachine(const MachineSource& source,
                                  const std::atomic<bool>& interrupted) {
  LoadedMachine loaded;
  if (!source.caps_file.empty()) {
    VT_ASSIGN_OR_RETURN(loaded, MachineOfCaps(source.caps_file, interrupted));
  } else if (!source.profile.empty()) {
    VT_ASSIGN_OR_RETURN(loaded, MachineOfProfile(source.profile, interrupted));
  } else {
    MachineOptions probe;
    VT_ASSIGN_OR_RETURN(probe.sims, ReadSimDevices(source.sim_files, interrupted));
    if (source.in_child) {
      VT_ASSIGN_OR_RETURN(loaded.machine, ProbeMachineInChild(probe));
    } else {
      loaded.machine = ProbeMachine(probe);
    }
  }
  if (source.isa.empty()) return loaded;
  for (DeviceInfo& device : loaded.machine.devices) {
    if (device.kind != DeviceKind::kCpu) continue;
    VT_ASSIGN_OR_RETURN(device, LimitIsa(std::move(device), source.isa));
  }
  return loaded;
}

}  // namespace vt::cli
