// The states of kernel rows, and the document there and back.
#include "caps/caps_report.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "caps/caps_diff.h"
#include "caps/caps_document.h"
#include "ops/resolve.h"

namespace vt::test {
namespace {

Support Any(const AddArgs&) { return {}; }
Support AnySilu(const SiluMulArgs&) { return {}; }
Support NoCase(const AddArgs&) { return {false, "not today"}; }
void Nothing(const AddArgs&, Part) {}
std::vector<AnyArgs> NeedsScaleCap(const SiluMulArgs& a) {
  return {ScaleCapArgs{.x = a.out, .count = a.count}};
}

DeviceInfo Device(const std::string& id, DeviceKind kind, std::uint32_t features = 0) {
  DeviceInfo device;
  device.id = id;
  device.kind = kind;
  device.features = features;
  return device;
}

Kernel<AddArgs> Row(const std::string& name, DeviceKind kind) {
  return {.name = name,
          .device = kind,
          .tier = Tier::kNative,
          .priority = 10,
          .supports = Any,
          .run = Nothing};
}

const CapsRow& Find(const CapsReport& report, const std::string& kernel) {
  for (const CapsRow& row : report.rows) {
    if (row.kernel == kernel) return row;
  }
  ADD_FAILURE() << kernel << " is not in the report";
  return report.rows.front();
}

TEST(CapsRows, TheStatesAreToldApart) {
  Registry registry;
  registry.Add(Row("cpu.usable", DeviceKind::kCpu));
  Kernel<AddArgs> row = Row("cpu.needs", DeviceKind::kCpu);
  row.needs = kFeatureAvx512;
  registry.Add(row);
  row = Row("cpu.no_case", DeviceKind::kCpu);
  row.supports = NoCase;
  registry.Add(row);
  row = Row("hip.not_built", DeviceKind::kHip);
  row.run = nullptr;
  registry.Add(row);
  registry.Add(Row("sim.no_device", DeviceKind::kSim));
  registry.Add(Kernel<SiluMulArgs>{.name = "cpu.composed",
                                   .device = DeviceKind::kCpu,
                                   .tier = Tier::kComposed,
                                   .supports = AnySilu,
                                   .compose = NeedsScaleCap});
  Machine machine;
  machine.backends.resize(1);
  machine.backends[0].kind = DeviceKind::kSim;
  machine.backends[0].reason = "nobody asked for one";
  machine.devices = {Device("cpu", DeviceKind::kCpu)};
  const CapsReport report = MakeCapsReport(registry, machine);
  ASSERT_EQ(report.rows.size(), 6u);

  EXPECT_EQ(Find(report, "cpu.usable").state, CapsRow::State::kUsable);
  EXPECT_EQ(Find(report, "cpu.usable").devices, std::vector<std::string>{"cpu"});
  EXPECT_EQ(Find(report, "cpu.usable").types, std::vector<std::string>{"f32"});
  EXPECT_EQ(Find(report, "cpu.needs").state, CapsRow::State::kUnusable);
  EXPECT_EQ(Find(report, "cpu.needs").reason, "built, but this machine lacks avx512");
  EXPECT_EQ(Find(report, "cpu.needs").types, std::vector<std::string>{"f32"})
      << "whatever the machine";
  EXPECT_EQ(Find(report, "cpu.no_case").state, CapsRow::State::kUnusable);
  EXPECT_EQ(Find(report, "cpu.no_case").reason, "not today");
  EXPECT_EQ(Find(report, "hip.not_built").state, CapsRow::State::kNotBuilt);
  EXPECT_EQ(Find(report, "hip.not_built").reason,
            "compiled out of this build: configure with -DVT_HIP=ON");
  EXPECT_EQ(Find(report, "sim.no_device").reason, "no sim device: nobody asked for one");
  EXPECT_EQ(Find(report, "cpu.composed").state, CapsRow::State::kUnusable);
  EXPECT_NE(Find(report, "cpu.composed").reason.find("its part scale_cap: "), std::string::npos);
  EXPECT_TRUE(Find(report, "cpu.composed").types.empty());

  // A machine that is described is not held to this build.
  machine.devices.push_back(Device("hip:0", DeviceKind::kHip));
  machine.devices.back().described = true;
  EXPECT_EQ(Find(MakeCapsReport(registry, machine), "hip.not_built").state,
            CapsRow::State::kUsable);
  machine.devices.back().lacks_ops = {"add"};
  EXPECT_EQ(Find(MakeCapsReport(registry, machine), "hip.not_built").reason,
            "built, but hip:0 lacks op add (its profile says so)");
}

TEST(CapsRows, OrderDoesNotDependOnRegistration) {
  const std::vector<Kernel<AddArgs>> rows = {Row("cpu.b", DeviceKind::kCpu),
                                             Row("sim.c", DeviceKind::kSim),
                                             Row("cpu.a", DeviceKind::kCpu)};
  for (const std::vector<int>& order : {std::vector{0, 1, 2}, {2, 1, 0}, {1, 2, 0}}) {
    Registry registry;
    for (const int i : order) registry.Add(rows[static_cast<std::size_t>(i)]);
    std::string names;
    for (const CapsRow& row : MakeCapsReport(registry, {}).rows) names += row.kernel + " ";
    EXPECT_EQ(names, "cpu.a cpu.b sim.c ");
  }
}

// Resolve is what dispatches: what the report calls usable is what it can choose, and no more.
TEST(CapsRows, UsableIsWhatResolveCanChoose) {
  for (const std::uint32_t features : {0u, ~0u}) {
    Machine machine;
    machine.devices = {Device("cpu", DeviceKind::kCpu, features)};
    const CapsReport report = MakeCapsReport(BuiltinKernels(), machine);
    for (const CapsRow& row : report.rows) {
      if (row.kind != DeviceKind::kCpu) continue;
      EXPECT_EQ(row.state == CapsRow::State::kUsable, (row.needs & ~features) == 0)
          << row.op << " " << row.kernel << ": " << row.reason;
      EXPECT_FALSE(row.types.empty()) << row.op << " " << row.kernel;
    }
  }
}

std::string Text(const CapsReport& report) {
  JsonWriter json;
  json.BeginObject().Field("schema", kCapsSchema);
  WriteCapsBody(report, json);
  return json.EndObject().Take();
}

TEST(CapsDocument, EveryFactSurvives) {
  DeviceInfo device = Device("hip:1", DeviceKind::kHip, kFeatureAvx2);
  device.name = "A \"board\"";
  device.arch = "gfx1151";
  device.cores = 7;
  device.feature_facts = {{"amx_int8", FeatureFact::State::kRefused, "no permission"}};
  device.topology.packages = 1;
  device.topology.allowed = {0, 3};
  device.topology.allowed_cores = 2;
  device.topology.quota_cpus = {1.5, "cpu.max"};
  device.topology.numa = {{0, {0, 3}, 1024}};
  device.topology.caches = {{1, 32768, 4}};
  device.memory_total = {~std::uint64_t{0}, "the driver"};
  device.memory_available = {{}, "it does not say"};
  device.memory_limit = {1, "cgroup"};
  device.memory_reserve = {2, "policy"};
  device.memory_ceiling = {3, "measured"};
  device.integrated = {true, "the driver"};
  device.host_memory_addressable = {false, "the driver"};
  device.managed_allocations = {{}, ""};
  device.pageable_memory_access = {false, "x"};
  device.memory_gb_per_s = {256.5, "page"};
  device.link_gb_per_s = {{}, ""};
  device.compute_tflops = {{"f32", {14.8, "page"}}, {"a/b~c", {1.0, "x"}}};
  device.kept_quant_types = {DType::kQ8_0, DType::kQ4_K};
  device.lacks_ops = {"mul"};
  device.described = true;
  CapsReport report;
  report.machine.devices = {device};
  report.machine.backends = {{DeviceKind::kHip, false, "-DVT_HIP=ON", {"gfx1151"}, true, "why"}};
  report.undriven = {{"NPU", "no backend", {5, "page"}, {}, {}, {}}};
  report.filters.devices = {"hip:1"};
  CapsRow row;
  row.op = "add";
  row.kernel = "hip.x";
  row.kind = DeviceKind::kHip;
  row.tier = Tier::kComposed;
  row.priority = 5;
  row.needs = kFeatureAvx512;
  row.types = {"f32"};
  row.activations = {"f32"};
  row.devices = {"hip:1"};
  report.rows = {row};
  const std::string text = Text(report);
  const Result<CapsReport> read = ParseCapsDocument(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(Text(*read), text);
  const DeviceInfo& again = read->machine.devices[0];
  EXPECT_TRUE(again.described);
  EXPECT_TRUE(again.usable_kernels->contains("add hip.x"));
  EXPECT_EQ(again.memory_usable().bytes, device.memory_usable().bytes);
  // A table asked about the machine answers as the document says.
  EXPECT_FALSE(
      RowMayRun({"add", "hip.other", DeviceKind::kHip, Tier::kNative, 0, true}, again, {}));
  EXPECT_TRUE(RowMayRun({"add", "hip.x", DeviceKind::kHip, Tier::kNative, 0, false}, again, {}));
}

TEST(CapsDocument, OfThisMachineSurvives) {
  const CapsReport report = MakeCapsReport(BuiltinKernels(), ProbeMachine());
  const std::string text = Text(report);
  const Result<CapsReport> read = ParseCapsDocument(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(Text(*read), text);
  const Result<CapsDiff> diff = DiffCaps(report, *read);
  ASSERT_TRUE(diff.ok());
  EXPECT_TRUE(diff->same());
}

}  // namespace
}  // namespace vt::test
