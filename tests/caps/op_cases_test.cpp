// The lists of cases cover what they promise, and the memory made for them is what kernels expect.
#include "ops/cases/op_cases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "caps/op_meanings.h"
#include "cpu/quants/dequantize.h"
#include "ops/cases/bound_call.h"
#include "ops/cases/random_data.h"
#include "ops/resolve.h"

namespace vt::test {
namespace {

DeviceInfo ScalarCpu() {
  DeviceInfo device;
  device.id = "cpu";
  return device;
}

// What the cpu answers with reference and composed kernels, which every build has.
bool CpuTakes(const AnyArgs& call) {
  return ResolveAny(BuiltinKernels(), ScalarCpu(), call, {}).refusal == Refusal::kNone;
}

TEST(OpCases, EveryOpHasCasesAndAMeaning) {
  for (const std::string_view op : OpNames()) {
    EXPECT_FALSE(MeaningOf(op).empty()) << op;
    std::size_t taken = 0, timed = 0;
    std::set<std::string> labels;
    for (const OpCase& one : CasesOf(op)) {
      EXPECT_EQ(OpOf(one.call), op);
      labels.insert(LabelOf(one));
      if (!one.refused && CpuTakes(one.call)) ++taken;
    }
    for (const OpCase& one : SpeedCasesOf(op)) {
      if (CpuTakes(one.call)) ++timed;
    }
    EXPECT_GE(taken, 17u) << op;
    EXPECT_GE(timed, 1u) << op;
    EXPECT_GE(labels.size() * 10, CasesOf(op).size() * 9) << op << ": labels tell cases apart";
  }
  EXPECT_TRUE(MeaningOf("no_such_op").empty());
  EXPECT_TRUE(CasesOf("no_such_op").empty());
}

TEST(OpCases, WhatMustBeRefusedIs) {
  std::set<std::string_view> ops;
  for (const std::string_view op : OpNames()) {
    for (const OpCase& one : CasesOf(op)) {
      if (!one.refused || one.in_place) continue;
      ops.insert(op);
      EXPECT_FALSE(CpuTakes(one.call)) << op << " " << LabelOf(one);
    }
  }
  for (const char* op : {"matmul", "expert_matmul", "expert_geglu", "attention", "kv_store", "mul",
                         "quantize", "rope", "rms_norm", "embed"}) {
    EXPECT_TRUE(ops.contains(op)) << op;
  }
}

TEST(OpCases, InPlaceIsRefusedWhereItMayNotBe) {
  DeviceInfo cpu = ScalarCpu();
  const auto memory = OpenDeviceMemory(cpu);
  ASSERT_TRUE(memory.ok());
  int seen = 0;
  for (const OpCase& one : CasesOf("apply_expert_scale")) {
    if (!one.in_place) continue;
    ++seen;
    const auto bound = BoundCall::Make(one, **memory, 1, 1);
    ASSERT_TRUE(bound.ok());
    EXPECT_TRUE(one.refused);
    EXPECT_FALSE(CpuTakes((*bound)->call())) << LabelOf(one);
  }
  EXPECT_EQ(seen, 1);
}

TEST(OpCases, EveryTypeIsAskedFor) {
  for (const char* op : {"embed", "matmul", "matmul_alpha_beta", "expert_matmul", "kv_store"}) {
    std::set<std::string> types, activations;
    for (const OpCase& one : CasesOf(op)) {
      types.insert(TypeOf(one.call));
      activations.insert(std::string(ActivationsOf(one.call)));
    }
    for (const DTypeInfo& info : AllDTypes()) {
      EXPECT_TRUE(types.contains(std::string(info.name))) << op << " " << info.name;
    }
    const bool matmul = std::string_view(op).ends_with("matmul");
    EXPECT_EQ(activations.contains("q15"), matmul) << op;
  }
  std::set<std::string> pairs;
  for (const OpCase& one : CasesOf("attention")) pairs.insert(TypeOf(one.call));
  for (const char* pair : {"f16", "q8_0", "f16/q8_0", "q8_0/f32", "bf16/f16", "q4_k/f16"}) {
    EXPECT_TRUE(pairs.contains(pair)) << pair;
  }
}

TEST(OpCases, EveryRemainderIsMet) {
  std::set<std::int64_t> matmul, m, add;
  for (const OpCase& one : CasesOf("matmul")) {
    const auto& args = std::get<MatmulArgs>(one.call);
    if (args.w.type == DType::kF32) matmul.insert(args.w.cols % 32);
    if (args.w.type == DType::kQ4_K && args.act == ActType::kQ15) m.insert(args.m);
  }
  for (const OpCase& one : CasesOf("add")) {
    if (!one.refused) add.insert(std::get<AddArgs>(one.call).count % 32);
  }
  EXPECT_EQ(matmul.size(), 32u);
  EXPECT_EQ(add.size(), 32u);
  for (std::int64_t i = 0; i <= 33; ++i) EXPECT_TRUE(m.contains(i)) << i;
}

TEST(RandomData, WeightsOfEveryTypeAreFiniteAndModerate) {
  RandomData random(7);
  for (const DTypeInfo& info : AllDTypes()) {
    const DequantizeFn decode = FindDequantize(info.type);
    const std::int64_t blocks = 4096 / info.block;
    const std::vector<std::uint8_t> bytes = RandomBlocks(info.type, blocks, random);
    ASSERT_EQ(bytes.size(), static_cast<std::size_t>(blocks) * info.block_bytes) << info.name;
    if (!decode) continue;
    std::vector<float> values(static_cast<std::size_t>(blocks) * info.block);
    decode(bytes.data(), values.data(), static_cast<std::int64_t>(values.size()));
    double sum = 0, largest = 0;
    std::set<float> different;
    for (const float value : values) {
      ASSERT_TRUE(std::isfinite(value)) << info.name;
      sum += value;
      largest = std::max<double>(largest, std::abs(value));
      different.insert(value);
    }
    EXPECT_GT(different.size(), 16u) << info.name;
    EXPECT_GT(largest, 0.01) << info.name;
    EXPECT_LT(largest, 500) << info.name;
    EXPECT_LT(std::abs(sum) / 4096, largest / 2) << info.name << ": of both signs";
  }
}

TEST(RandomData, TheSameOnEveryMachine) {
  // The first values of SplitMix64 from seed 1234567, as its authors publish them.
  RandomData random(1234567);
  EXPECT_EQ(random.Bits(), 6457827717110365317u);
  EXPECT_EQ(random.Bits(), 3203168211198807973u);
  EXPECT_EQ(random.Bits(), 9817491932198370423u);
}

TEST(BoundCall, LeavesNothingAllocated) {
  DeviceInfo sim;
  sim.id = "sim:0";
  sim.kind = DeviceKind::kSim;
  sim.sim.emplace();
  for (const std::string_view op : OpNames()) {
    const std::vector<OpCase> cases = CasesOf(op);
    for (std::size_t i = 0; i < cases.size(); i += 7) {
      // Fails at every allocation in turn, until none fails.
      bool made = false;
      for (std::uint64_t limit = 0; !made; limit = limit * 2 + 600) {
        sim.sim->fail_at_byte = limit;
        const auto memory = OpenDeviceMemory(sim);
        ASSERT_TRUE(memory.ok());
        {
          const auto bound = BoundCall::Make(cases[i], **memory, 3, 2);
          made = bound.ok();
          EXPECT_EQ(bound.status().code(), made ? Code::kOk : Code::kNoMemory);
        }
        ASSERT_EQ((*memory)->bytes_in_use(), 0u) << op << " " << LabelOf(cases[i]);
      }
    }
  }
}

TEST(BoundCall, TheSameInputsInEveryMemory) {
  const auto one = OpenDeviceMemory(ScalarCpu());
  const auto other = OpenDeviceMemory(ScalarCpu());
  for (const std::string_view op : OpNames()) {
    for (const OpCase& each : CasesOf(op)) {
      if (each.refused) continue;
      const auto a = BoundCall::Make(each, **one, 11, 1);
      const auto b = BoundCall::Make(each, **other, 11, 3);
      ASSERT_TRUE(a.ok() && b.ok());
      const auto in_a = (*a)->Outputs(), in_b = (*b)->Outputs();
      ASSERT_TRUE(in_a.ok() && in_b.ok());
      ASSERT_EQ(in_a->size(), in_b->size());
      for (std::size_t i = 0; i < in_a->size(); ++i) {
        ASSERT_EQ((*in_a)[i].bytes, (*in_b)[i].bytes) << op << " " << LabelOf(each);
      }
      EXPECT_EQ((*a)->bytes(), (*b)->bytes());
      ASSERT_TRUE((*a)->CheckUntouched().ok());
      break;
    }
  }
}

}  // namespace
}  // namespace vt::test
