#include <charconv>
#include <string>

#include "device/gpu_probe.h"
#include "gpu/arch.h"
#include "gpu/emulator.h"
#include "gpu/rt_kinds.h"
#include "gpu/stream.h"

namespace vt {
namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : ", ") + word;
  return joined;
}

// N of "cuda:N"; -1 when it is not that.
int NumberOf(const DeviceInfo& device) {
  const std::string prefix = std::string(NameOf(device.kind)) + ":";
  if (!device.id.starts_with(prefix)) return -1;
  int number = -1;
  const char* end = device.id.data() + device.id.size();
  const auto parsed = std::from_chars(device.id.data() + prefix.size(), end, number);
  return parsed.ptr == end && number >= 0 ? number : -1;
}

// The backend that drives `device`, and the device's number there.
struct Driven {
  const GpuBackend* backend = nullptr;
  int number = 0;
};
Result<Driven> DriverOf(const DeviceInfo& device) {
  if (device.kind == DeviceKind::kCpu) {
    return InternalError("device " + device.id + ": not a GPU");
  }
  const GpuKind kind = GpuKindOf(device.kind);
  if (!kind.backend) {
    return UnsupportedError("device " + device.id +
                            ": its backend is compiled out of this build; configure with " +
                            std::string(ConfigureFlag(device.kind)));
  }
  const int number = NumberOf(device);
  if (number < 0) {
    return InvalidError("device \"" + device.id + "\": not an id of its kind (" +
                        std::string(NameOf(device.kind)) + ":0, ..)");
  }
  return Driven{kind.backend, number};
}

}  // namespace

GpuBackendProbe ProbeGpuBackend(DeviceKind kind) {
  GpuBackendProbe probe;
  probe.info.kind = kind;
  probe.info.configure = ConfigureFlag(kind);
  const GpuKind driven = GpuKindOf(kind);
  if (!driven.backend) {
    probe.info.built = false;
    probe.info.reason = "compiled out of this build: configure with " + probe.info.configure;
    return probe;
  }
  probe.info.archs = driven.backend->archs();
  for (DeviceInfo& device : driven.backend->devices(probe.info.reason)) {
    if (ArchRuns(device.arch, probe.info.archs)) {
      probe.devices.push_back(std::move(device));
      continue;
    }
    std::string& reason = probe.info.reason;
    reason += (reason.empty() ? "" : "; ") + device.id + " (" + device.name + ") is " +
              device.arch + ", and this build's kernels are for " + Joined(probe.info.archs) +
              ": add it to -D" + driven.archs_option;
  }
  probe.info.registered = !probe.devices.empty();
  return probe;
}

Result<std::unique_ptr<DeviceMemory>> OpenGpuMemory(const DeviceInfo& device) {
  if (device.kind == DeviceKind::kSim) return OpenDeviceMemory(device);
  VT_ASSIGN_OR_RETURN(const Driven driven, DriverOf(device));
  return driven.backend->open_memory(device, driven.number);
}

Result<std::unique_ptr<GpuStream>> OpenGpuStream(const DeviceInfo& device) {
  if (device.described) {
    return UnsupportedError("device " + device.id +
                            ": described by a document, not present; nothing can run there");
  }
  if (device.kind == DeviceKind::kSim) {
    gpu_sim::EmulatorOptions options;
    if (device.sim) options.fail_at_wait = device.sim->fail_at_wait.value_or(0);
    return gpu_sim::OpenEmulator(options);
  }
  VT_ASSIGN_OR_RETURN(const Driven driven, DriverOf(device));
  return driven.backend->open_stream(device, driven.number);
}

}  // namespace vt
