#include <string>
#include <utility>

#include "device/probe.h"

namespace vt {
namespace {

void AddSim(const DeviceInfo& profile, const std::string& id, BackendInfo& backend,
            std::vector<DeviceInfo>& devices) {
  if (profile.sim && !profile.sim->probe_answers) {
    backend.reason = id + ": the probe does not answer (its profile says so)";
    return;
  }
  backend.registered = true;
  DeviceInfo device = profile;
  device.id = id;
  device.kind = DeviceKind::kSim;
  device.described = false;  // it is here, and runs only what this build has
  if (!device.sim) device.sim = SimFaults();
  if (!device.sim->free_known) {
    device.memory_available = {};
  } else if (device.sim->free_wrong_bytes) {
    device.memory_available = {device.sim->free_wrong_bytes, id + ": what it reports as free"};
  } else if (!device.memory_available.bytes) {
    device.memory_available = device.memory_total;
  }
  devices.push_back(std::move(device));
}

void AddSims(const std::vector<DeviceInfo>& profiles, Machine& machine) {
  BackendInfo backend;
  backend.kind = DeviceKind::kSim;
  if (profiles.empty()) backend.reason = "no profile was given: use --sim FILE";
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    AddSim(profiles[i], "sim:" + std::to_string(i), backend, machine.devices);
  }
  machine.backends.push_back(std::move(backend));
}

}  // namespace

Machine ProbeMachineWith(const MachineOptions& options,
                         GpuBackendProbe (*probe_gpu)(DeviceKind kind)) {
  Machine machine;
  DeviceInfo cpu = ProbeCpu(options.root);
  BackendInfo backend;
  backend.kind = DeviceKind::kCpu;
  backend.registered = true;
  if (!cpu.arch.empty()) backend.archs = {cpu.arch};
  machine.backends.push_back(std::move(backend));
  machine.devices.push_back(std::move(cpu));
  for (const DeviceKind kind : {DeviceKind::kCuda, DeviceKind::kHip}) {
    GpuBackendProbe probe = probe_gpu(kind);
    probe.info.kind = kind;
    machine.backends.push_back(std::move(probe.info));
    for (DeviceInfo& device : probe.devices) machine.devices.push_back(std::move(device));
  }
  AddSims(options.sims, machine);
  return machine;
}

Machine ProbeMachine(const MachineOptions& options) {
  return ProbeMachineWith(options, ProbeGpuBackend);
}

}  // namespace vt
