// The predicate is the dispatch: for every op, device, type and shape of the table, Resolve says
// yes exactly when the call succeeds, and a "no" is the reason that the call returns.
#include <gtest/gtest.h>

#include "engine/op_runner.h"
#include "ops/cases/bound_call.h"
#include "ops/cases/op_cases.h"

namespace vt {
namespace {

DeviceInfo Cpu(std::uint32_t features) {
  DeviceInfo device;
  device.id = "cpu";
  device.features = features & ProbeCpu().features;
  return device;
}

DeviceInfo Sim() {
  DeviceInfo device;
  device.id = "sim:0";
  device.kind = DeviceKind::kSim;
  return device;
}

struct Counts {
  int taken = 0;
  int refused = 0;
};

// Runs every case of `op` through the dispatcher and holds what it says against Resolve's answer.
Counts Sweep(std::string_view op, const DeviceInfo& device, const ResolveOptions& options = {}) {
  Counts counts;
  ThreadPool pool(1);
  std::unique_ptr<GpuStream> stream;
  if (device.kind != DeviceKind::kCpu) stream = OpenGpuStream(device).value();
  const std::unique_ptr<DeviceMemory> memory = OpenDeviceMemory(device).value();
  for (const OpCase& op_case : CasesOf(op)) {
    const std::string label = std::string(op) + " on " + device.id + ", " + LabelOf(op_case);
    OpRunner runner(OpRunner::Setup{.registry = BuiltinKernels(),
                                    .device = device,
                                    .resolve = options,
                                    .pool = &pool,
                                    .stream = stream.get()});
    runner.At(-1, "here");
    // What the guard asks: shapes and types over no memory. Only whether two buffers are one and
    // the same is left to the call itself.
    const bool needs_memory = op_case.refused && op_case.in_place;
    std::unique_ptr<BoundCall> bound;
    if (needs_memory) bound = BoundCall::Make(op_case, *memory, 1, 1).value();
    const AnyArgs& call = needs_memory ? bound->call() : op_case.call;
    const std::uint64_t held = memory->bytes_in_use();
    const Status asked = ResolveAll(BuiltinKernels(), device, {&call, 1}, options);
    if (op_case.refused) {
      EXPECT_FALSE(asked.ok()) << label;
    }
    if (!asked.ok()) {
      ++counts.refused;
      const Status said = std::visit([&](const auto& args) { return runner.Run(args); }, call);
      EXPECT_EQ(said.message(), asked.Annotate("here").message()) << label;
      EXPECT_EQ(said.code(), Code::kUnsupported) << label;
      EXPECT_TRUE(runner.Launches().empty()) << label;
      EXPECT_EQ(memory->bytes_in_use(), held) << label;
      continue;
    }
    ++counts.taken;
    Result<std::unique_ptr<BoundCall>> made = BoundCall::Make(op_case, *memory, 1, 1);
    if (!made.ok()) {
      ADD_FAILURE() << label << ": " << made.status().message();
      continue;
    }
    bound = std::move(*made);
    const std::uint64_t before = memory->bytes_in_use();
    Status ran = std::visit([&](const auto& args) { return runner.Run(args); }, bound->call());
    if (ran.ok()) ran = runner.Synchronize();
    EXPECT_TRUE(ran.ok()) << label << ": " << ran.message();
    const Status untouched = bound->CheckUntouched();
    EXPECT_TRUE(untouched.ok()) << label << ": " << untouched.message();
    EXPECT_EQ(memory->bytes_in_use(), before) << label;
    // The kernel that Resolve names is the one that was launched.
    const Verdict chosen = ResolveAny(BuiltinKernels(), device, op_case.call, options);
    bool launched = false;
    for (const KernelLaunches& row : runner.Launches()) {
      launched |= row.op == op && row.kernel == chosen.kernel && row.launches > 0;
    }
    EXPECT_TRUE(launched) << label << ": " << chosen.kernel << " was not launched";
    bound.reset();
    EXPECT_EQ(memory->bytes_in_use(), 0u) << label;
  }
  return counts;
}

class Dispatch : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Ops, Dispatch, testing::ValuesIn(OpNames()),
                         [](const auto& op) { return std::string(op.param); });

TEST_P(Dispatch, OnEveryCpu) {
  for (const std::uint32_t features : {0u, 0u | kFeatureAvx2, kFeatureAvx2 | kFeatureAvx512, ~0u}) {
    EXPECT_GT(Sweep(GetParam(), Cpu(features)).taken, 0);
  }
}

TEST_P(Dispatch, OnEveryCpuWithoutReferences) {
  ResolveOptions options;
  options.lowest = Tier::kNative;
  const Counts counts = Sweep(GetParam(), Cpu(0), options);
  // Without vector instructions next to nothing is native.
  if (GetParam() != "rope_table") {
    EXPECT_EQ(counts.taken, 0);
  }
}

TEST_P(Dispatch, OnTheSimulatedDevice) { EXPECT_GT(Sweep(GetParam(), Sim()).taken, 0); }

TEST_P(Dispatch, OnASimulatedDeviceThatKeepsOneType) {
  DeviceInfo device = Sim();
  device.kept_quant_types = {DType::kQ8_0};
  Sweep(GetParam(), device);
}

TEST_P(Dispatch, OnASimulatedDeviceWithoutTheOp) {
  DeviceInfo device = Sim();
  device.lacks_ops = {std::string(GetParam())};
  const Counts counts = Sweep(GetParam(), device);
  EXPECT_EQ(counts.taken, 0);
  EXPECT_GT(counts.refused, 0);
}

TEST_P(Dispatch, OnADeviceThatIsCompiledOutOrNotWritten) {
  DeviceInfo device;
  device.kind = DeviceKind::kHip;
  device.id = "hip:0";
  bool built = false;
  BuiltinKernels().ForEach([&](std::string_view op, const auto& kernel) {
    built |= op == GetParam() && kernel.device == DeviceKind::kHip && kernel.launch;
  });
  if (built) return;  // the answers of a build with that backend are tested on its devices
  for (const OpCase& op_case : CasesOf(GetParam())) {
    const Verdict verdict = ResolveAny(BuiltinKernels(), device, op_case.call, {});
    EXPECT_TRUE(verdict.refusal == Refusal::kNotBuilt || verdict.refusal == Refusal::kNotWritten ||
                verdict.refusal == Refusal::kNotTaken)
        << verdict.reason;
    EXPECT_FALSE(verdict.reason.empty());
  }
}

}  // namespace
}  // namespace vt
