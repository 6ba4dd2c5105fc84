// Resolve's answer depends on nothing but build, device and arguments, and every "no" says why.
#include "ops/resolve.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace vt {
namespace {

Support Yes(const AddArgs&) { return {}; }
Support UpToEight(const AddArgs& args) {
  if (args.count > 8) return {false, "count must be at most 8"};
  return {};
}
void Nothing(const AddArgs&, Part) {}

Kernel<AddArgs> Row(std::string name, Tier tier, int priority, std::uint32_t needs = 0) {
  return {.name = std::move(name),
          .tier = tier,
          .priority = priority,
          .needs = needs,
          .supports = Yes,
          .run = Nothing};
}

DeviceInfo Device(std::uint32_t features, DeviceKind kind = DeviceKind::kCpu) {
  DeviceInfo info;
  info.kind = kind;
  info.id = std::string(NameOf(kind)) + (kind == DeviceKind::kCpu ? "" : ":0");
  info.features = features;
  return info;
}

std::string Chosen(const Registry& registry, const DeviceInfo& device,
                   const ResolveOptions& options = {}, std::int64_t count = 1) {
  AddArgs args;
  args.count = count;
  const auto kernel = Resolve(registry, device, args, options);
  if (!kernel.ok()) {
    EXPECT_EQ(kernel.status().code(), Code::kUnsupported);
  }
  return kernel.ok() ? (*kernel)->name : kernel.status().message();
}
std::string Chosen(const Registry& registry, std::uint32_t features,
                   const ResolveOptions& options = {}, std::int64_t count = 1) {
  return Chosen(registry, Device(features), options, count);
}

TEST(ResolveTest, HighestPriorityThatTheMachineRuns) {
  Registry registry;
  registry.Add(Row("cpu.scalar.f32", Tier::kReference, 0));
  registry.Add(Row("cpu.avx512.f32", Tier::kNative, 20, kFeatureAvx512));
  registry.Add(Row("cpu.avx2.f32", Tier::kNative, 10, kFeatureAvx2));
  EXPECT_EQ(Chosen(registry, 0), "cpu.scalar.f32");
  EXPECT_EQ(Chosen(registry, kFeatureAvx2), "cpu.avx2.f32");
  EXPECT_EQ(Chosen(registry, kFeatureAvx2 | kFeatureAvx512), "cpu.avx512.f32");
  EXPECT_EQ(Chosen(registry, kFeatureAvx512), "cpu.avx512.f32");
}

TEST(ResolveTest, TiesGoByNameInAnyOrderOfRows) {
  for (bool reversed : {false, true}) {
    Registry registry;
    registry.Add(Row(reversed ? "cpu.b" : "cpu.a", Tier::kNative, 10));
    registry.Add(Row(reversed ? "cpu.a" : "cpu.b", Tier::kNative, 10));
    registry.Add(Row("cpu.0", Tier::kReference, 0));
    EXPECT_EQ(Chosen(registry, 0), "cpu.a");
  }
}

TEST(ResolveTest, ArgumentsCount) {
  Registry registry;
  registry.Add(Row("cpu.scalar.f32", Tier::kReference, 0));
  Kernel<AddArgs> small = Row("cpu.small", Tier::kNative, 10);
  small.supports = UpToEight;
  registry.Add(small);
  EXPECT_EQ(Chosen(registry, 0, {}, 8), "cpu.small");
  EXPECT_EQ(Chosen(registry, 0, {}, 9), "cpu.scalar.f32");
}

// Every order of registration of a small table gives the same choice.
TEST(ResolveTest, OrderOfRegistrationDoesNotMatter) {
  std::vector<Kernel<AddArgs>> rows = {
      Row("cpu.scalar.f32", Tier::kReference, 0), Row("cpu.a", Tier::kNative, 10),
      Row("cpu.b", Tier::kNative, 10), Row("cpu.avx2", Tier::kNative, 20, kFeatureAvx2),
      Row("cpu.joined", Tier::kComposed, 5)};
  std::vector<std::size_t> order = {0, 1, 2, 3, 4};
  do {
    Registry registry;
    for (const std::size_t i : order) registry.Add(rows[i]);
    EXPECT_EQ(Chosen(registry, 0), "cpu.a");
    EXPECT_EQ(Chosen(registry, kFeatureAvx2), "cpu.avx2");
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(ResolveTest, ForcedKernel) {
  Registry registry;
  registry.Add(Row("cpu.scalar.f32", Tier::kReference, 0));
  registry.Add(Row("cpu.avx2.f32", Tier::kNative, 10, kFeatureAvx2));
  ResolveOptions options;
  options.forced["add"] = "cpu.scalar.f32";
  EXPECT_EQ(Chosen(registry, kFeatureAvx2, options), "cpu.scalar.f32");
  options.forced["add"] = "cpu.avx2.f32";
  EXPECT_EQ(Chosen(registry, 0, options),
            "op add on device cpu: kernel cpu.avx2.f32 is forced and cannot run: built, but this "
            "machine lacks avx2; leave out --kernel add=cpu.avx2.f32");
  EXPECT_EQ(Chosen(registry, Device(0, DeviceKind::kSim), options),
            "op add on device sim:0: kernel cpu.avx2.f32 is forced and cannot run: it does not run "
            "on sim; leave out --kernel add=cpu.avx2.f32");
  options.forced = {{"rope", "cpu.scalar.f32"}};  // another op's
  EXPECT_EQ(Chosen(registry, kFeatureAvx2, options), "cpu.avx2.f32");
}

TEST(ResolveTest, TierLimit) {
  Registry registry;
  registry.Add(Row("cpu.scalar.f32", Tier::kReference, 0));
  registry.Add(Row("cpu.joined", Tier::kComposed, 5));
  registry.Add(Row("cpu.avx2.f32", Tier::kNative, 10, kFeatureAvx2));
  ResolveOptions options;
  options.lowest = Tier::kNative;
  EXPECT_EQ(Chosen(registry, kFeatureAvx2, options), "cpu.avx2.f32");
  EXPECT_EQ(Chosen(registry, 0, options),
            "op add on device cpu: no kernel runs it: cpu.scalar.f32: tier reference is below the "
            "lowest allowed, native; cpu.joined: tier composed is below the lowest allowed, "
            "native; cpu.avx2.f32: built, but this machine lacks avx2; allow it with --tier "
            "composed");
  options.lowest = Tier::kComposed;
  EXPECT_EQ(Chosen(registry, 0, options), "cpu.joined");
  options.lowest = Tier::kReference;
  EXPECT_EQ(Chosen(registry, 0, options), "cpu.joined");
}

// The causes are told apart, and each text names the op, the device and what to do.
TEST(ResolveTest, NeverWritten) {
  Registry registry;
  registry.Add(Row("cpu.scalar.f32", Tier::kReference, 0));
  EXPECT_EQ(Chosen(registry, Device(0, DeviceKind::kHip)),
            "op add on device hip:0: no kernel was written for hip (written for: cpu); use a "
            "device that it was written for");
}

TEST(ResolveTest, CompiledOut) {
  Registry registry;
  Kernel<AddArgs> row = Row("hip.f32", Tier::kNative, 10);
  row.device = DeviceKind::kHip;
  row.run = nullptr;
  registry.Add(row);
  DeviceInfo device = Device(0, DeviceKind::kHip);
  EXPECT_EQ(Chosen(registry, device),
            "op add on device hip:0: no kernel runs it: hip.f32: the hip kernel is compiled out of "
            "this build: configure with -DVT_HIP=ON; build with that option, or use another "
            "device");
  device.described = true;  // a machine that is not here is judged as if everything were built
  EXPECT_EQ(Chosen(registry, device), "hip.f32");
}

TEST(ResolveTest, MachineLacks) {
  Registry registry;
  registry.Add(Row("cpu.avx2.f32", Tier::kNative, 10, kFeatureAvx2));
  EXPECT_EQ(Chosen(registry, 0),
            "op add on device cpu: no kernel runs it: cpu.avx2.f32: built, but this machine lacks "
            "avx2; use another device; vt-caps lists what each can run");
  DeviceInfo device = Device(kFeatureAvx2);
  device.lacks_ops = {"add"};
  EXPECT_EQ(Chosen(registry, device),
            "op add on device cpu: no kernel runs it: cpu.avx2.f32: built, but cpu lacks op add "
            "(its profile says so); use another device; vt-caps lists what each can run");
  device.lacks_ops = {};
  device.usable_kernels.emplace();
  EXPECT_EQ(Chosen(registry, device),
            "op add on device cpu: no kernel runs it: cpu.avx2.f32: was not usable on the machine "
            "that the document describes; use another device; vt-caps lists what each can run");
  device.usable_kernels->insert("add cpu.avx2.f32");
  EXPECT_EQ(Chosen(registry, device), "cpu.avx2.f32");
}

TEST(ResolveTest, ShapeNotTaken) {
  Registry registry;
  Kernel<AddArgs> small = Row("cpu.small", Tier::kReference, 0);
  small.supports = UpToEight;
  registry.Add(small);
  EXPECT_EQ(Chosen(registry, 0, {}, 9),
            "op add on device cpu: no kernel runs it: cpu.small: count must be at most 8; vt-caps "
            "--op add lists what each kernel takes");
}

MatmulArgs Weights(DType type) {
  MatmulArgs args;
  args.w = {.type = type, .rows = 4, .cols = 256};
  args.m = 1;
  return args;
}

TEST(ResolveTest, WeightsNotKept) {
  DeviceInfo device = Device(0);
  device.kept_quant_types = {DType::kQ8_0, DType::kQ4_K};
  const auto kernel = Resolve(BuiltinKernels(), device, Weights(DType::kIQ1_S));
  ASSERT_FALSE(kernel.ok());
  EXPECT_NE(kernel.status().message().find(
                "cpu.scalar.f32: iq1_s weights are not kept on cpu (kept: q8_0, q4_k)"),
            std::string::npos)
      << kernel.status().message();
  EXPECT_TRUE(kernel.status().message().ends_with(
      "place these weights on a device that holds them; the cpu holds every type"));
  const AnyArgs call = Weights(DType::kIQ1_S);
  EXPECT_EQ(ResolveAny(BuiltinKernels(), device, call, {}).refusal, Refusal::kNotKept);
  for (const DType kept : {DType::kQ8_0, DType::kQ4_K, DType::kF32, DType::kBF16}) {
    EXPECT_TRUE(Resolve(BuiltinKernels(), device, Weights(kept)).ok()) << NameOf(kept);
  }
}

// A fused op whose parts cannot all run names the part, and its cause is the part's.
TEST(ResolveTest, ComposedOpNamesThePartThatIsMissing) {
  DeviceInfo device = Device(0);
  const RmsNormAddArgs args{.rows = 1, .cols = 8};
  device.lacks_ops = {"add"};
  Registry parts_only;
  BuiltinKernels().ForEach([&](std::string_view op, const auto& kernel) {
    if (op != "rms_norm_add" || kernel.tier == Tier::kComposed) parts_only.Add(kernel);
  });
  const std::vector<Verdict> verdicts = Explain(parts_only, device, args);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].refusal, Refusal::kMachineLacks);
  EXPECT_EQ(verdicts[0].reason, "its part add: built, but cpu lacks op add (its profile says so)");
  device.lacks_ops = {};
  const auto kernel = Resolve(parts_only, device, args);
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ((*kernel)->name, "cpu.composed");
  // The parts are held to the lowest tier too.
  ResolveOptions options;
  options.lowest = Tier::kComposed;
  EXPECT_FALSE(Resolve(parts_only, device, args, options).ok());
  device.features = kFeatureAvx2;
  EXPECT_TRUE(Resolve(parts_only, device, args, options).ok());
}

// An arm of three ops asks for three, and hears which one is missing.
TEST(ResolveTest, ArmAsksForAllItsOps) {
  const AnyArgs arm[] = {RmsNormArgs{.rows = 1, .cols = 8}, SoftmaxArgs{.rows = 1, .cols = 8},
                         MulArgs{.rows = 1, .cols = 8, .b_cols = 8}};
  DeviceInfo device = Device(0);
  EXPECT_TRUE(ResolveAll(BuiltinKernels(), device, arm).ok());
  for (const char* missing : {"rms_norm", "softmax", "mul"}) {
    device.lacks_ops = {missing};
    const Status status = ResolveAll(BuiltinKernels(), device, arm);
    EXPECT_EQ(status.code(), Code::kUnsupported);
    EXPECT_TRUE(status.message().starts_with("op " + std::string(missing) + " on device cpu: "))
        << status.message();
  }
}

}  // namespace
}  // namespace vt
