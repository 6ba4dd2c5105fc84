// The op table: its rows are complete, and Resolve's answer depends on nothing but build, device
// and arguments.
#include "ops/registry.h"

#include <gtest/gtest.h>

#include <set>

#include "cpu/register.h"

namespace vt {
namespace {

Support Yes(const AddArgs&) { return {}; }
Support UpToEight(const AddArgs& args) {
  if (args.count > 8) return {false, "count must be at most 8"};
  return {};
}
void Nothing(const AddArgs&, Part) {}

Kernel<AddArgs> Row(std::string name, Tier tier, int priority, std::uint32_t needs = 0) {
  return {std::move(name), DeviceKind::kCpu, tier, priority, needs, Yes, Nothing, nullptr};
}

DeviceInfo Device(std::uint32_t features) {
  DeviceInfo info;
  info.id = "cpu";
  info.features = features;
  return info;
}

std::string Chosen(const Registry& registry, std::uint32_t features,
                   const ResolveOptions& options = {}, std::int64_t count = 1) {
  AddArgs args;
  args.count = count;
  const auto kernel = Resolve(registry, Device(features), args, options);
  return kernel.ok() ? (*kernel)->name : kernel.status().message();
}

// A copy of the rows of this build, to add to.
Registry Complete() {
  Registry registry;
  RegisterCpuKernels(registry);
  return registry;
}

TEST(RegistryTest, BuiltinRowsAreComplete) {
  const Status status = BuiltinKernels().Check();
  EXPECT_TRUE(status.ok()) << status.message();
  std::set<std::string> ops;
  int rows = 0;
  BuiltinKernels().ForEach([&](std::string_view op, const auto& kernel) {
    ops.insert(std::string(op));
    ++rows;
    EXPECT_TRUE(kernel.supports) << kernel.name;
    EXPECT_TRUE(kernel.run) << kernel.name;
    EXPECT_TRUE(kernel.name.starts_with("cpu.")) << kernel.name;
    EXPECT_EQ(kernel.tier == Tier::kReference, kernel.priority == 0) << op << " " << kernel.name;
    if (kernel.tier == Tier::kReference) {
      EXPECT_EQ(kernel.needs, 0u) << kernel.name;
    }
  });
  EXPECT_EQ(ops.size(), 12u);
  EXPECT_GT(rows, 24);
}

TEST(RegistryTest, DuplicateRowIsFound) {
  Registry registry = Complete();
  ASSERT_TRUE(registry.Check().ok());
  registry.Add(Row("cpu.scalar.f32", Tier::kNative, 1));
  EXPECT_EQ(registry.Check().code(), Code::kInternal);
  EXPECT_EQ(registry.Check().message(), "op table: duplicate row add cpu.scalar.f32");
}

TEST(RegistryTest, MissingReferenceIsFound) {
  Registry empty;
  EXPECT_EQ(empty.Check().code(), Code::kInternal);
  Registry without_one;
  Complete().ForEach([&](std::string_view op, const auto& kernel) {
    if (op != "rope" || kernel.tier != Tier::kReference) without_one.Add(kernel);
  });
  EXPECT_EQ(without_one.Check().message(), "op table: rope has no reference kernel");
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

TEST(ResolveTest, ForcedKernel) {
  Registry registry;
  registry.Add(Row("cpu.scalar.f32", Tier::kReference, 0));
  registry.Add(Row("cpu.avx2.f32", Tier::kNative, 10, kFeatureAvx2));
  ResolveOptions options;
  options.forced["add"] = "cpu.scalar.f32";
  EXPECT_EQ(Chosen(registry, kFeatureAvx2, options), "cpu.scalar.f32");
  options.forced["add"] = "cpu.avx2.f32";
  EXPECT_EQ(Chosen(registry, 0, options),
            "op add on device cpu: no kernel runs it; cpu.scalar.f32: kernel cpu.avx2.f32 is "
            "forced; cpu.avx2.f32: built, but this machine lacks avx2");
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
            "op add on device cpu: no kernel runs it; cpu.scalar.f32: tier reference is below the "
            "lowest allowed, native; cpu.joined: tier composed is below the lowest allowed, "
            "native; cpu.avx2.f32: built, but this machine lacks avx2");
  options.lowest = Tier::kComposed;
  EXPECT_EQ(Chosen(registry, 0, options), "cpu.joined");
  options.lowest = Tier::kReference;
  EXPECT_EQ(Chosen(registry, 0, options), "cpu.joined");
}

TEST(ResolveTest, RefusalIsUnsupportedWithTheKernelsReason) {
  Registry registry;
  Kernel<AddArgs> small = Row("cpu.small", Tier::kReference, 0);
  small.supports = UpToEight;
  registry.Add(small);
  AddArgs args;
  args.count = 9;
  const auto kernel = Resolve(registry, Device(0), args);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.status().code(), Code::kUnsupported);
  EXPECT_EQ(kernel.status().message(),
            "op add on device cpu: no kernel runs it; cpu.small: count must be at most 8");
}

TEST(ResolveTest, BuiltinChoicesFollowTheFeatures) {
  RmsNormArgs args;
  args.cols = 64;
  const auto name = [&](std::uint32_t features) {
    const auto kernel = Resolve(BuiltinKernels(), Device(features), args);
    return kernel.ok() ? (*kernel)->name : kernel.status().message();
  };
  EXPECT_EQ(name(0), "cpu.scalar.f32");
  EXPECT_EQ(name(kFeatureAvx2), "cpu.avx2.f32");
  EXPECT_EQ(name(kFeatureAvx2 | kFeatureAvx512 | kFeatureAvx512Vnni), "cpu.avx512.f32");
  // The one op with no vector code runs where only native kernels are allowed.
  ResolveOptions native;
  native.lowest = Tier::kNative;
  const auto table = Resolve(BuiltinKernels(), Device(0), RopeTableArgs{}, native);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ((*table)->name, "cpu.generic.f64");
}

TEST(TierTest, Names) {
  for (Tier tier : {Tier::kReference, Tier::kComposed, Tier::kNative}) {
    EXPECT_EQ(ParseTier(NameOf(tier)).value(), tier);
  }
  EXPECT_EQ(ParseTier("fast").status().message(),
            "tier \"fast\": not known; use native, composed or reference");
}

}  // namespace
}  // namespace vt
