// vt.plan/1: everything that contradicts itself or its model is refused at its place.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "place/plan_document.h"
#include "place/planned_model.h"
#include "support/header_models.h"

namespace vt {
namespace {

using nlohmann::ordered_json;
using test::Planned;
using test::Spread;
using test::Whole;

class BrokenPlan : public testing::Test {
 protected:
  // What the reader says of the plan after `change`; its hash is right again unless told otherwise.
  static Status After(const std::function<void(ordered_json&)>& change, bool rehash = true) {
    static const std::string text = Spread(test::HeaderModel("gpt-oss-20b")).Write();
    ordered_json json = ordered_json::parse(text);
    change(json);
    if (rehash) json["hash"] = PlanHash(json.dump()).value();
    return ReadPlanDocument(json.dump()).status();
  }
  static std::string PlaceAfter(const std::function<void(ordered_json&)>& change) {
    const Status status = After(change);
    EXPECT_EQ(status.code(), Code::kInvalid) << status.message();
    return status.at();
  }
};

TEST_F(BrokenPlan, ANewerSchema) {
  const Status newer = After([](ordered_json& j) { j["schema"] = "vt.plan/2"; });
  EXPECT_EQ(newer.code(), Code::kInvalid);
  EXPECT_EQ(newer.at(), "/schema");
  EXPECT_NE(newer.message().find("vt.plan/2"), std::string::npos);
  EXPECT_NE(newer.message().find("vt.plan/1"), std::string::npos);
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["schema"] = "vt.caps/1"; }), "/schema");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j.erase("schema"); }), "/schema");
  EXPECT_FALSE(ReadPlanDocument("[]").ok());
  EXPECT_FALSE(ReadPlanDocument("{\"schema\":").ok());
}

TEST_F(BrokenPlan, EditedByHand) {
  std::string before, after;
  const Status edited = After(
      [&](ordered_json& j) {
        before = j["hash"];
        j["settings"]["context"] = 512;
        after = PlanHash(j.dump()).value();
      },
      false);
  EXPECT_EQ(edited.code(), Code::kInvalid);
  EXPECT_EQ(edited.at(), "/hash");
  EXPECT_NE(before, after);
  EXPECT_NE(edited.message().find(before), std::string::npos) << edited.message();
  EXPECT_NE(edited.message().find(after), std::string::npos) << edited.message();
  // In whatever part.
  EXPECT_EQ(After([](ordered_json& j) { j["notes"][0] = "x"; }, false).at(), "/hash");
  EXPECT_EQ(After([](ordered_json& j) { j["tensors"][3]["reason"] = "x"; }, false).at(), "/hash");
  EXPECT_EQ(After([](ordered_json& j) { j["tool"]["commit"] = "x"; }, false).at(), "/hash");
}

TEST_F(BrokenPlan, AChosenContextThatIsNotTheSettings) {
  const auto choose = [](std::uint64_t to) {
    return [to](ordered_json& j) {
      j["chosen_context"] = {{"from", 4096}, {"to", to}, {"why", nullptr}};
    };
  };
  EXPECT_TRUE(After(choose(256)).ok()) << After(choose(256)).message();
  EXPECT_EQ(PlaceAfter(choose(512)), "/chosen_context/to");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["chosen_context"] = ordered_json::object(); }),
            "/chosen_context/from");
}

TEST_F(BrokenPlan, DevicesThatAreNotThere) {
  const Status unknown = After([](ordered_json& j) { j["tensors"][5]["device"] = "cuda:7"; });
  EXPECT_EQ(unknown.at(), "/tensors/5/device");
  EXPECT_NE(unknown.message().find("cuda:7"), std::string::npos);
  EXPECT_NE(unknown.message().find("cpu, hip:0, hip:1"), std::string::npos) << unknown.message();
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["parts"]["input"] = "x"; }), "/parts/input");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["parts"]["layers"][3]["ffn"] = "x"; }),
            "/parts/layers/3/ffn");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["kv"][2]["device"] = "x"; }), "/kv/2/device");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["devices"][1]["kind"] = "tpu"; }),
            "/devices/1/kind");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["devices"][1]["id"] = "cpu"; }), "/devices/1/id");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["devices"] = ordered_json::array(); }).substr(0, 8),
            "/devices");
}

TEST_F(BrokenPlan, TensorsTwiceOrMissing) {
  const Status twice =
      After([](ordered_json& j) { j["tensors"][7]["name"] = j["tensors"][2]["name"]; });
  EXPECT_EQ(twice.at(), "/tensors/7/name");
  EXPECT_NE(twice.message().find("/tensors/2"), std::string::npos);
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["tensors"].erase(4); }), "/tensors");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["tensors"][4].erase("bytes"); }),
            "/tensors/4/bytes");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["tensors"][4]["bytes"] = -1; }), "/tensors/4/bytes");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) {
              for (std::size_t i = 0;; ++i) {
                if (j["tensors"][i]["held"].is_null()) continue;
                j["tensors"][i]["held"] = "somehow";
                return;
              }
            }).substr(0, 9),
            "/tensors/");
}

TEST_F(BrokenPlan, LayersAndSizes) {
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["kv"][0]["layer"] = 24; }), "/kv/0/layer");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["parts"]["layers"][5]["layer"] = 6; }),
            "/parts/layers/5/layer");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["kv"][3]["device"] = "hip:0"; }), "/kv/3/device");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["devices"][0]["total_bytes"] = 5; }),
            "/devices/0/total_bytes");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["settings"]["kv_type"] = "q99"; }),
            "/settings/kv_type");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["settings"]["sequences"] = 5000; }),
            "/settings/sequences");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["settings"]["objective"] = "beauty"; }),
            "/settings/objective");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j.erase("parts"); }), "/parts");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["model"] = 3; }).substr(0, 6), "/model");
  EXPECT_EQ(PlaceAfter([](ordered_json& j) { j["notes"] = "x"; }), "/notes");
}

// No change of a document makes the reader do anything but read or refuse it.
TEST_F(BrokenPlan, EveryMissingKeyIsSurvived) {
  const std::string text = Spread(test::HeaderModel("smollm-135m")).Write();
  const ordered_json json = ordered_json::parse(text).flatten();
  int tried = 0;
  std::size_t at = 0;
  for (const auto& [pointer, value] : json.items()) {
    if (at++ % 53 != 0) continue;
    for (const ordered_json& other :
         {ordered_json(nullptr), ordered_json(-1), ordered_json(1e300), ordered_json("x"),
          ordered_json::array(), ordered_json::object()}) {
      ordered_json changed = ordered_json::parse(text);
      changed[ordered_json::json_pointer(pointer)] = other;
      const Result<PlanDocument> read = ReadPlanDocument(changed.dump());
      ++tried;
      if (read.ok()) {
        EXPECT_EQ(value, other) << pointer;
      } else {
        EXPECT_EQ(read.status().code(), Code::kInvalid);
      }
    }
  }
  EXPECT_GT(tried, 200);
}

TEST(BindPlan, RefusesAnotherModel) {
  const Planned planned = Whole(test::HeaderModel("smollm-135m"));
  const GgufFile other = test::HeaderModel("llama-8b");
  PlanDocument plan = ReadPlanDocument(planned.Write()).value();
  const Status status = BindPlan(other, ReadModelSpec(other).value(), plan);
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_EQ(status.at(), "/model/digest");
  EXPECT_NE(status.message().find(other.HeaderDigest()), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(planned.file.HeaderDigest()), std::string::npos);
  // A digest that is given stands for the file's own.
  EXPECT_EQ(BindPlan(planned.file, planned.spec, plan, "xxh3-128:0").at(), "/model/digest");
  EXPECT_TRUE(BindPlan(planned.file, planned.spec, plan, planned.model.digest).ok());
}

// Documents whose hash is right and which are wrong for their model all the same.
TEST(BindPlan, RefusesWhatTheModelContradicts) {
  const Planned planned = Spread(test::HeaderModel("gpt-oss-20b"));
  const auto after = [&](const std::function<void(ordered_json&)>& change) {
    ordered_json json = ordered_json::parse(planned.Write());
    change(json);
    json["hash"] = PlanHash(json.dump()).value();
    Result<PlanDocument> plan = ReadPlanDocument(json.dump());
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    const Status status = BindPlan(planned.file, planned.spec, *plan);
    EXPECT_EQ(status.code(), Code::kInvalid);
    return status.at();
  };
  EXPECT_EQ(after([](ordered_json& j) { j["tensors"][3]["name"] = "no.such"; }), "/tensors");
  EXPECT_EQ(after([](ordered_json& j) { j["tensors"][3]["bytes"] = 12; }), "/tensors/3/bytes");
  EXPECT_EQ(after([](ordered_json& j) {
              j["tensors"].push_back(j["tensors"][0]);
              j["tensors"].back()["name"] = "one.more";
              j["model"]["tensors"] = j["tensors"].size();
            }),
            "/tensors");
  EXPECT_EQ(after([](ordered_json& j) {
              j["parts"]["layers"].erase(23);
              j["kv"].erase(23);
            }),
            "/parts/layers");
  EXPECT_EQ(after([&](ordered_json& j) {
              for (ordered_json& tensor : j["tensors"]) {
                if (tensor["name"] != "blk.3.attn_q.weight") continue;
                tensor["device"] = nullptr;
                tensor["held"] = nullptr;
              }
            }),
            "/parts");
}

}  // namespace
}  // namespace vt
