#include "place/pins.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/header_models.h"

namespace vt {
namespace {

class Pins : public testing::Test {
 protected:
  Pins() : file_(test::HeaderModel("qwen3-30b-a3b")), spec_(ReadModelSpec(file_).value()) {
    for (const char* id : {"cpu", "cuda:0"}) {
      DeviceInfo device;
      device.id = id;
      request_.devices.push_back(device);
    }
  }
  Result<PinnedTensors> Resolve() const { return ResolvePins(file_, spec_, request_); }
  void ExpectInvalid(std::initializer_list<const char*> parts) const {
    const auto pins = Resolve();
    ASSERT_FALSE(pins.ok());
    EXPECT_EQ(pins.status().code(), Code::kInvalid);
    for (const char* part : parts) {
      EXPECT_NE(pins.status().message().find(part), std::string::npos)
          << part << " in: " << pins.status().message();
    }
  }

  GgufFile file_;
  ModelSpec spec_;
  PlaceRequest request_;
};

TEST_F(Pins, ClaimTheMatricesThatTheyFind) {
  request_.pins = {{"^blk\\.(1|2)\\.ffn_.*_exps", "cpu"}, {"^output", "cuda:0"}};
  const auto pins = Resolve();
  ASSERT_TRUE(pins.ok()) << pins.status().message();
  int on_cpu = 0;
  for (std::size_t t = 0; t < pins->device.size(); ++t) {
    const std::string_view name = file_.tensors()[t].name;
    if (pins->device[t] == 0) {
      ++on_cpu;
      EXPECT_EQ(pins->RuleOf(t), "pin ^blk\\.(1|2)\\.ffn_.*_exps=cpu");
    }
    // A vector that is found beside matrices goes with the ops that read it.
    if (name == "output_norm.weight") {
      EXPECT_EQ(pins->device[t], -1);
    } else if (name == "output.weight") {
      EXPECT_EQ(pins->device[t], 1);
    }
  }
  EXPECT_EQ(on_cpu, 6);
}

TEST_F(Pins, RulesForExperts) {
  request_.n_cpu_moe = 5;
  auto pins = Resolve();
  ASSERT_TRUE(pins.ok());
  EXPECT_EQ(std::count(pins->device.begin(), pins->device.end(), 0), 15);
  EXPECT_EQ(pins->rules, std::vector<std::string>{"--n-cpu-moe 5"});
  request_.n_cpu_moe = 0;
  request_.cpu_moe = true;
  pins = Resolve();
  ASSERT_TRUE(pins.ok());
  EXPECT_EQ(std::count(pins->device.begin(), pins->device.end(), 0), 3 * 48);
}

TEST_F(Pins, AgreeingRulesAreNoQuarrel) {
  request_.cpu_moe = true;
  request_.pins = {{"blk\\.7\\.ffn_gate_exps", "cpu"}};
  EXPECT_TRUE(Resolve().ok());
}

TEST_F(Pins, WhatMatchesNothingIsToldWhatIsNear) {
  request_.pins = {{"blk\\.3\\.ffn_gat_exps", "cpu"}};
  ExpectInvalid({"pin blk\\.3\\.ffn_gat_exps=cpu", "matches no tensor", "near it", "blk.3.ffn_"});
}

TEST_F(Pins, VectorsCannotBePinned) {
  request_.pins = {{"attn_norm", "cpu"}};
  ExpectInvalid({"pin attn_norm=cpu", "no matrix", "blk.0.attn_norm.weight"});
}

TEST_F(Pins, APatternThatDoesNotCompileIsShownWhere) {
  request_.pins = {{"ffn_(gate", "cpu"}};
  ExpectInvalid({"pin ffn_(gate=cpu", "does not compile", "offset 9"});
}

TEST_F(Pins, TwoRulesForOneTensorAreBothNamed) {
  request_.pins = {{"ffn_gate_exps", "cpu"}, {"blk\\.4\\.", "cuda:0"}};
  ExpectInvalid({"pin ffn_gate_exps=cpu", "pin blk\\.4\\.=cuda:0", "blk.4.ffn_gate_exps.weight",
                 "cpu and cuda:0"});
  request_.pins = {{"blk\\.0\\.ffn_up_exps", "cuda:0"}};
  request_.n_cpu_moe = 1;
  ExpectInvalid({"pin blk\\.0\\.ffn_up_exps=cuda:0", "--n-cpu-moe 1", "blk.0.ffn_up_exps.weight"});
}

TEST_F(Pins, ADeviceThatIsNotThereIsRefused) {
  request_.pins = {{"output", "hip:0"}};
  ExpectInvalid({"pin output=hip:0", "\"hip:0\" is not there", "cpu, cuda:0"});
  request_.pins.clear();
  request_.cpu_moe = true;
  request_.devices.erase(request_.devices.begin());
  ExpectInvalid({"--cpu-moe", "\"cpu\" is not there", "cuda:0"});
}

TEST_F(Pins, ExpertsOfAModelThatHasNone) {
  file_ = test::HeaderModel("smollm-135m");
  spec_ = ReadModelSpec(file_).value();
  request_.n_cpu_moe = 3;
  ExpectInvalid({"--n-cpu-moe 3", "no experts"});
}

TEST(ParsePin, DividesAtTheLastSign) {
  const auto pin = ParsePin("a=b=cuda:0");
  ASSERT_TRUE(pin.ok());
  EXPECT_EQ(pin->pattern, "a=b");
  EXPECT_EQ(pin->device, "cuda:0");
  for (const char* text : {"", "cpu", "=cpu", "exps="}) {
    EXPECT_EQ(ParsePin(text).status().code(), Code::kInvalid) << text;
  }
}

}  // namespace
}  // namespace vt
