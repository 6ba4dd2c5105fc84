// The list of backends and devices, with GPU backends and simulated devices that answer as told.
#include <gtest/gtest.h>

#include "device/probe.h"
#include "vt/device.h"

namespace vt {
namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

GpuBackendProbe NoGpu(DeviceKind kind) {
  GpuBackendProbe probe;
  probe.info.kind = kind;
  probe.info.built = false;
  probe.info.reason = "not built";
  return probe;
}

// CUDA gives two devices, HIP has no driver.
GpuBackendProbe CudaPair(DeviceKind kind) {
  GpuBackendProbe probe;
  probe.info.kind = kind;
  if (kind == DeviceKind::kHip) {
    probe.info.reason = "no driver: libamdhip64.so is not installed";
    return probe;
  }
  probe.info.registered = true;
  probe.info.archs = {"sm_90"};
  for (const char* id : {"cuda:0", "cuda:1"}) {
    DeviceInfo device;
    device.id = id;
    device.kind = kind;
    probe.devices.push_back(device);
  }
  return probe;
}

std::vector<std::string> Ids(const Machine& machine) {
  std::vector<std::string> ids;
  for (const DeviceInfo& device : machine.devices) ids.push_back(device.id);
  return ids;
}

void ExpectOneBackendOfEachKind(const Machine& machine) {
  ASSERT_EQ(machine.backends.size(), std::size(kDeviceKinds));
  for (std::size_t i = 0; i < machine.backends.size(); ++i) {
    const BackendInfo& backend = machine.backends[i];
    EXPECT_EQ(backend.kind, kDeviceKinds[i]);
    EXPECT_EQ(backend.registered, backend.reason.empty()) << NameOf(backend.kind);
    bool has_device = false;
    for (const DeviceInfo& device : machine.devices) has_device |= device.kind == backend.kind;
    EXPECT_EQ(backend.registered, has_device) << NameOf(backend.kind);
  }
}

DeviceInfo Profile() {
  DeviceInfo info;
  info.id = "gfx1151";
  info.kind = DeviceKind::kHip;
  info.name = "Some board";
  info.described = true;
  info.memory_total = {64 * kGib, "profile"};
  info.memory_ceiling = {58 * kGib, "profile"};
  return info;
}

TEST(MachineTest, CpuIsAlwaysThere) {
  const Machine machine = ProbeMachineWith({}, NoGpu);
  ExpectOneBackendOfEachKind(machine);
  EXPECT_EQ(Ids(machine), std::vector<std::string>{"cpu"});
  EXPECT_EQ(machine.backends[3].reason, "no profile was given: use --sim FILE");
  EXPECT_EQ(FindDevice(machine, "hip:0").status().message(),
            "device \"hip:0\": not present (found: cpu); hip: not built; run vt-caps to list "
            "devices");
}

TEST(MachineTest, DevicesStandInTheOrderOfTheirKinds) {
  MachineOptions options;
  options.sims = {Profile()};
  const Machine machine = ProbeMachineWith(options, CudaPair);
  ExpectOneBackendOfEachKind(machine);
  EXPECT_EQ(Ids(machine), (std::vector<std::string>{"cpu", "cuda:0", "cuda:1", "sim:0"}));
  EXPECT_EQ(machine.backends[1].archs, std::vector<std::string>{"sm_90"});
  EXPECT_EQ(FindDevice(machine, "hip:0").status().message(),
            "device \"hip:0\": not present (found: cpu, cuda:0, cuda:1, sim:0); hip: no driver: "
            "libamdhip64.so is not installed; run vt-caps to list devices");
}

TEST(MachineTest, SimsAreNumbered) {
  MachineOptions options;
  options.sims = {Profile(), Profile(), Profile()};
  options.sims[1].sim = SimFaults();
  options.sims[1].sim->probe_answers = false;
  const Machine machine = ProbeMachineWith(options, NoGpu);
  EXPECT_EQ(Ids(machine), (std::vector<std::string>{"cpu", "sim:0", "sim:2"}));
  EXPECT_TRUE(machine.backends[3].registered);
  EXPECT_NE(machine.backends[3].reason.find("sim:1"), std::string::npos);
}

TEST(MachineTest, SimIsWhatItsProfileSays) {
  MachineOptions options;
  options.sims = {Profile()};
  DeviceInfo sim = FindDevice(ProbeMachineWith(options, NoGpu), "sim:0").value();
  EXPECT_EQ(sim.kind, DeviceKind::kSim);
  EXPECT_EQ(sim.name, "Some board");
  EXPECT_FALSE(sim.described);
  EXPECT_EQ(sim.memory_available.bytes, 64 * kGib);
  EXPECT_EQ(sim.memory_usable().bytes, 58 * kGib);

  options.sims[0].memory_available = {40 * kGib, "profile"};
  EXPECT_EQ(FindDevice(ProbeMachineWith(options, NoGpu), "sim:0")->memory_available.bytes,
            40 * kGib);

  options.sims[0].sim = SimFaults();
  options.sims[0].sim->free_known = false;
  sim = FindDevice(ProbeMachineWith(options, NoGpu), "sim:0").value();
  EXPECT_FALSE(sim.memory_available.bytes.has_value());
  EXPECT_EQ(sim.memory_available.source, "");
  EXPECT_EQ(sim.memory_usable().bytes, 58 * kGib);

  options.sims[0].sim = SimFaults();
  options.sims[0].sim->free_wrong_bytes = 100 * kGib;
  sim = FindDevice(ProbeMachineWith(options, NoGpu), "sim:0").value();
  EXPECT_EQ(sim.memory_available.bytes, 100 * kGib);
  EXPECT_NE(sim.memory_available.source, "");
}

TEST(MachineTest, SimThatDoesNotAnswer) {
  MachineOptions options;
  options.sims = {Profile()};
  options.sims[0].sim = SimFaults();
  options.sims[0].sim->probe_answers = false;
  const Machine machine = ProbeMachineWith(options, NoGpu);
  ExpectOneBackendOfEachKind(machine);
  EXPECT_EQ(Ids(machine), std::vector<std::string>{"cpu"});
  EXPECT_EQ(
      FindDevice(machine, "sim:0").status().message(),
      "device \"sim:0\": not present (found: cpu); sim: sim:0: the probe does not answer (its "
      "profile says so); run vt-caps to list devices");
}

// Whatever this build and this machine have: one backend of each kind, each with devices or a
// reason.
TEST(MachineTest, ThisMachine) {
  const Machine machine = ProbeMachine();
  ExpectOneBackendOfEachKind(machine);
  ASSERT_FALSE(machine.devices.empty());
  EXPECT_EQ(machine.devices[0].id, "cpu");
  for (const BackendInfo& backend : machine.backends) {
    if (!backend.built) {
      EXPECT_NE(backend.configure, "") << NameOf(backend.kind);
    }
  }
}

}  // namespace
}  // namespace vt
