// The op table: its rows are complete, in every build.
#include "ops/registry.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cpu/register.h"
#include "gpu/register.h"
#include "ops/composed.h"
#include "ops/op_facts.h"

namespace vt {
namespace {

Registry Complete() {
  Registry registry;
  RegisterCpuKernels(registry);
  RegisterGpuKernels(registry);
  RegisterComposedKernels(registry);
  return registry;
}

Support Yes(const AddArgs&) { return {}; }
void Nothing(const AddArgs&, Part) {}

TEST(RegistryTest, BuiltinRowsAreComplete) {
  const Status status = BuiltinKernels().Check();
  EXPECT_TRUE(status.ok()) << status.message();
  std::set<std::string_view> ops;
  BuiltinKernels().ForEach([&](std::string_view op, const auto& kernel) {
    ops.insert(op);
    const std::string row = std::string(op) + " " + kernel.name;
    EXPECT_TRUE(kernel.supports) << row;
    EXPECT_TRUE(kernel.name.starts_with(std::string(NameOf(kernel.device)) + ".")) << row;
    switch (kernel.tier) {
      case Tier::kReference:
        EXPECT_EQ(kernel.priority, 0) << row;
        EXPECT_EQ(kernel.needs, 0u) << row;
        EXPECT_TRUE(kernel.run) << row;
        break;
      case Tier::kComposed:
        EXPECT_EQ(kernel.priority, 5) << row;
        EXPECT_TRUE(kernel.compose) << row;
        break;
      case Tier::kNative:
        EXPECT_GE(kernel.priority, 10) << row;
        EXPECT_FALSE(kernel.compose) << row;
    }
    const bool may_be_compiled_out =
        kernel.device == DeviceKind::kCuda || kernel.device == DeviceKind::kHip;
    EXPECT_TRUE(kernel.built() || may_be_compiled_out) << row;
  });
  EXPECT_EQ(ops.size(), OpNames().size());
}

TEST(OpFactsTest, EveryOpSaysAll) {
  std::set<std::string_view> names, meanings;
  ForEachOp([&]<class Args>() {
    const OpFacts<Args>& facts = FactsOf<Args>();
    EXPECT_TRUE(names.insert(Args::kOp).second) << Args::kOp;
    EXPECT_TRUE(meanings.insert(facts.meaning).second) << Args::kOp << ": " << facts.meaning;
    EXPECT_TRUE(facts.check_shape && facts.output && facts.shape) << Args::kOp;
    EXPECT_TRUE(facts.add_cases && facts.bind) << Args::kOp;
    // A composed row on every kind of device, or on none.
    int composed = 0;
    for (const Kernel<Args>& kernel : BuiltinKernels().Rows<Args>()) composed += !!kernel.compose;
    EXPECT_EQ(composed, facts.compose ? static_cast<int>(std::size(kDeviceKinds)) : 0) << Args::kOp;
  });
  EXPECT_EQ(names.size(), OpNames().size());
  EXPECT_FALSE(meanings.contains(""));
}

template <class Args>
void ExpectRefusedEverywhere(const Args& args, const std::string& reason) {
  for (const Kernel<Args>& kernel : BuiltinKernels().Rows<Args>()) {
    const Support answer = kernel.supports(args);
    if (kernel.compose && answer.yes) continue;  // its parts refuse
    EXPECT_FALSE(answer.yes) << Args::kOp << " " << kernel.name;
    if (!reason.empty()) {
      EXPECT_EQ(answer.reason, reason) << Args::kOp << " " << kernel.name;
    }
  }
}

TEST(RegistryTest, NegativeSizesAreRefusedOnEveryDevice) {
  const std::string rows = "rows (-1) must be at least 0", count = "count (-1) must be at least 0";
  ExpectRefusedEverywhere(RmsNormArgs{.rows = -1, .cols = 8}, rows);
  ExpectRefusedEverywhere(RmsNormAddArgs{.rows = -1, .cols = 8}, rows);
  ExpectRefusedEverywhere(SoftmaxArgs{.rows = -1, .cols = 8}, rows);
  ExpectRefusedEverywhere(ArgMaxArgs{.rows = -1, .cols = 8}, rows);
  ExpectRefusedEverywhere(RopeArgs{.rows = -1, .heads = 1, .head_dim = 8, .pairs = 4}, rows);
  ExpectRefusedEverywhere(SiluMulArgs{.count = -1}, count);
  ExpectRefusedEverywhere(GeluMulArgs{.count = -1}, count);
  ExpectRefusedEverywhere(AddArgs{.count = -1}, count);
  const Weight w{.type = DType::kQ8_0, .rows = 2, .cols = 32};
  const Weight none{.type = DType::kQ8_0, .rows = -2, .cols = 32};
  ExpectRefusedEverywhere(EmbedArgs{.table = w, .rows = -1}, rows);
  ExpectRefusedEverywhere(EmbedArgs{.table = none, .rows = 1},
                          "rows of the weight (-2) must be at least 0");
  ExpectRefusedEverywhere(MatmulArgs{.w = w, .m = -1}, "");
  ExpectRefusedEverywhere(MatmulArgs{.w = none, .m = 1}, "");
}

// Whatever is built for one of the GPU kinds is written for all of them.
TEST(RegistryTest, GpuKindsHaveTheSameNativeRows) {
  std::map<DeviceKind, std::set<std::string>> rows;
  BuiltinKernels().ForEach([&](std::string_view op, const auto& kernel) {
    if (kernel.device == DeviceKind::kCpu || kernel.tier != Tier::kNative) return;
    rows[kernel.device].insert(std::string(op) + kernel.name.substr(kernel.name.find('.')));
  });
  EXPECT_GE(rows[DeviceKind::kSim].size(), 10u);
  EXPECT_EQ(rows[DeviceKind::kSim], rows[DeviceKind::kCuda]);
  EXPECT_EQ(rows[DeviceKind::kSim], rows[DeviceKind::kHip]);
}

TEST(RegistryTest, DuplicateRowIsFound) {
  Registry registry = Complete();
  ASSERT_TRUE(registry.Check().ok());
  registry.Add(Kernel<AddArgs>{
      .name = "cpu.scalar.f32", .tier = Tier::kNative, .supports = Yes, .run = Nothing});
  EXPECT_EQ(registry.Check().code(), Code::kInternal);
  EXPECT_EQ(registry.Check().message(), "op table: duplicate row add cpu.scalar.f32");
}

TEST(RegistryTest, RowThatRunsTwoWaysIsFound) {
  Registry registry = Complete();
  registry.Add(Kernel<AddArgs>{.name = "cpu.both",
                               .supports = Yes,
                               .run = Nothing,
                               .launch = [](const AddArgs&, GpuStream&) { return Status(); }});
  EXPECT_EQ(registry.Check().message(), "op table: row add cpu.both can run in more than one way");
}

TEST(RegistryTest, OpThatCannotAlwaysRunIsFound) {
  Registry empty;
  EXPECT_EQ(empty.Check().code(), Code::kInternal);
  for (const std::string_view op : OpNames()) {
    Registry without;
    Complete().ForEach([&](std::string_view row_op, const auto& kernel) {
      const bool always = kernel.device == DeviceKind::kCpu && kernel.tier != Tier::kNative;
      if (row_op != op || !always) without.Add(kernel);
    });
    EXPECT_EQ(
        without.Check().message(),
        "op table: " + std::string(op) + " has neither a reference nor a composed kernel on cpu");
  }
}

}  // namespace
}  // namespace vt
