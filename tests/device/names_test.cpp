// Names of kinds and features, and what is said about a device that is not there.
#include <gtest/gtest.h>

#include "vt/device.h"

namespace vt {
namespace {

TEST(NamesTest, Kinds) {
  for (const DeviceKind kind : kDeviceKinds) {
    EXPECT_EQ(ParseDeviceKind(NameOf(kind)).value(), kind);
  }
  EXPECT_EQ(NameOf(DeviceKind::kCpu), "cpu");
  EXPECT_EQ(NameOf(DeviceKind::kCuda), "cuda");
  EXPECT_EQ(NameOf(DeviceKind::kHip), "hip");
  EXPECT_EQ(NameOf(DeviceKind::kSim), "sim");
  const Status unknown = ParseDeviceKind("gpu").status();
  EXPECT_EQ(unknown.code(), Code::kInvalid);
  EXPECT_EQ(unknown.message(), "device kind \"gpu\": not known; use cpu, cuda, hip or sim");
  EXPECT_FALSE(ParseDeviceKind("").ok());
}

TEST(NamesTest, Features) {
  EXPECT_TRUE(FeatureNames(0).empty());
  EXPECT_EQ(FeatureNames(kFeatureAvx2 | kFeatureAvx512Vnni | kFeatureAmxInt8),
            (std::vector<std::string_view>{"avx2", "avx512vnni", "amx_int8"}));
  EXPECT_EQ(FindFeature("avx512"), kFeatureAvx512);
  EXPECT_EQ(FindFeature("amx_int8"), kFeatureAmxInt8);
  EXPECT_FALSE(FindFeature("avx").has_value());
  EXPECT_EQ(NameOf(FeatureFact::State::kUsable), "usable");
  EXPECT_EQ(NameOf(FeatureFact::State::kAbsent), "absent");
  EXPECT_EQ(NameOf(FeatureFact::State::kRefused), "refused");
}

Machine CpuAndCuda() {
  Machine machine;
  machine.backends.resize(4);
  for (std::size_t i = 0; i < 4; ++i) machine.backends[i].kind = kDeviceKinds[i];
  machine.backends[0].registered = machine.backends[1].registered = true;
  machine.backends[2].built = false;
  machine.backends[2].reason = "not built: configure with -DVT_HIP=ON";
  machine.backends[3].reason = "no profile was given: use --sim FILE";
  machine.devices.resize(2);
  machine.devices[0].id = "cpu";
  machine.devices[1].id = "cuda:0";
  machine.devices[1].kind = DeviceKind::kCuda;
  return machine;
}

TEST(FindDeviceTest, ById) {
  EXPECT_EQ(FindDevice(CpuAndCuda(), "cpu").value().id, "cpu");
  EXPECT_EQ(FindDevice(CpuAndCuda(), "cuda:0").value().kind, DeviceKind::kCuda);
}

TEST(FindDeviceTest, SaysWhatThereIsAndWhyNot) {
  const auto message = [](const Machine& machine, std::string_view id) {
    const Status status = FindDevice(machine, id).status();
    EXPECT_EQ(status.code(), Code::kNotFound);
    return status.message();
  };
  const Machine machine = CpuAndCuda();
  EXPECT_EQ(message(machine, "hip:0"),
            "device \"hip:0\": not present (found: cpu, cuda:0); hip: not built: configure with "
            "-DVT_HIP=ON; run vt-caps to list devices");
  EXPECT_EQ(message(machine, "sim:0"),
            "device \"sim:0\": not present (found: cpu, cuda:0); sim: no profile was given: use "
            "--sim FILE; run vt-caps to list devices");
  // The backend works: there is no reason to give, only the list.
  EXPECT_EQ(message(machine, "cuda:1"),
            "device \"cuda:1\": not present (found: cpu, cuda:0); run vt-caps to list devices");
  EXPECT_EQ(message(machine, "gpu:0"),
            "device \"gpu:0\": no such kind of device (known: cpu, cuda, hip, sim); run vt-caps to "
            "list devices");
  EXPECT_EQ(message({}, "cpu"),
            "device \"cpu\": not present (found: none); run vt-caps to list devices");
}

}  // namespace
}  // namespace vt
