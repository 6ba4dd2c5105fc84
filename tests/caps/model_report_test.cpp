// What runs the ops of a model, on this machine's cpu and on machines that profiles describe.
#include "caps/model_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "caps/model_header.h"
#include "caps/model_shapes.h"
#include "device/profile.h"
#include "engine/op_walk.h"
#include "support/test_files.h"
#include "support/tiny_models.h"

namespace vt::test {
namespace {

// As it is on any machine, without the backends of this build.
std::vector<DeviceInfo> Devices(const std::string& profile) {
  const Result<Profile> parsed = ParseProfile(ReadFile(DataPath("../../profiles/" + profile)));
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed->devices;
}

ModelReport Judge(const std::string& path, const std::vector<DeviceInfo>& devices,
                  std::optional<Tier> require = std::nullopt) {
  const Result<GgufFile> file = GgufFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.status().message();
  EngineOptions options;
  options.context = 64;  // gpt2 has no more positions
  Result<ModelNeeds> needs = FindModelNeeds(*file, options, devices);
  EXPECT_TRUE(needs.ok()) << needs.status().message();
  return JudgeModel(BuiltinKernels(), std::move(needs).value(), devices, options, require);
}

// Tensor names of "blk.0-3,5.x" and the like.
std::vector<std::string> Spread(const std::string& text) {
  if (!text.starts_with("blk.")) return {text};
  const std::size_t end = text.find('.', 4);
  std::vector<std::string> names;
  std::size_t at = 4;
  while (at < end) {
    const std::size_t stop = std::min(text.find(',', at), end);
    const std::string range = text.substr(at, stop - at);
    const std::size_t dash = range.find('-');
    const int first = std::stoi(range);
    const int last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
    for (int i = first; i <= last; ++i) {
      names.push_back("blk." + std::to_string(i) + text.substr(end));
    }
    at = stop + 1;
  }
  return names;
}

// Every tensor of the file is read by some group or left with a reason, none is both.
void ExpectAllTensorsAccountedFor(const std::string& path, const ModelReport& report) {
  std::set<std::string> left, read, all;
  for (const LeftTensor& tensor : report.left) {
    EXPECT_FALSE(tensor.reason.empty()) << path << " " << tensor.name;
    EXPECT_TRUE(left.insert(tensor.name).second) << path << " " << tensor.name;
  }
  for (const AnsweredGroup& group : report.groups) {
    for (const std::string& names : group.need.tensors) {
      for (const std::string& name : Spread(names)) read.insert(name);
    }
  }
  const Result<GgufFile> file = GgufFile::Open(path);
  for (const GgufTensor& tensor : file->tensors()) {
    const std::string name(tensor.name);
    EXPECT_NE(left.contains(name), read.contains(name)) << path << " " << name;
    all.insert(name);
  }
  for (const std::string& name : read) EXPECT_TRUE(all.contains(name)) << path << " " << name;
  EXPECT_EQ(report.tensors, all.size());
}

const GroupAnswer* AnswerOf(const ModelReport& report, const AnsweredGroup& group,
                            const std::string& device) {
  for (const GroupAnswer& answer : group.answers) {
    if (report.devices[answer.device].info.id == device) return &answer;
  }
  return nullptr;
}

TEST(ModelReport, GlmWithIq1ExpertsIsNotKeptOnStrixHaloAndNativeOnItsCpu) {
  const std::string path = GlmWithIq1Experts();
  const ModelReport report = Judge(path, Devices("strix-halo-gfx1151.json"));
  EXPECT_FALSE(report.from_forward);
  EXPECT_NE(report.unknown_reason.find("glm9moe"), std::string::npos);
  int experts = 0;
  for (const AnsweredGroup& group : report.groups) {
    if (group.need.op != "expert_matmul") continue;
    ++experts;
    EXPECT_EQ(ShapeOf(group.need.calls.front().call).type, "iq1_s");
    const GroupAnswer* cpu = AnswerOf(report, group, "cpu");
    ASSERT_NE(cpu, nullptr);
    EXPECT_EQ(cpu->tier, Tier::kNative) << cpu->reason;
    EXPECT_TRUE(cpu->kernel.starts_with("cpu.")) << cpu->kernel;
    const GroupAnswer* hip = AnswerOf(report, group, "hip:0");
    ASSERT_NE(hip, nullptr);
    EXPECT_EQ(hip->tier, std::nullopt);
    EXPECT_EQ(hip->refusal, Refusal::kNotKept);
    EXPECT_EQ(StateOf(*hip), "not kept");
    EXPECT_NE(hip->reason.find("iq1_s weights are not kept on hip:0"), std::string::npos)
        << hip->reason;
  }
  EXPECT_EQ(experts, 2);  // gate and up have one shape, down another
  // Types that the board keeps are refused for other reasons, if at all.
  for (const AnsweredGroup& group : report.groups) {
    if (group.need.op != "matmul") continue;
    if (const GroupAnswer* hip = AnswerOf(report, group, "hip:0")) {
      EXPECT_NE(hip->refusal, Refusal::kNotKept) << hip->reason;
    }
  }
  ExpectAllTensorsAccountedFor(path, report);
  ASSERT_EQ(report.left.size(), 2u);
  EXPECT_EQ(report.left[0].name, "blk.0.ffn_mystery");
  // Routing is in no tensor's name.
  EXPECT_FALSE(report.yes());
  EXPECT_NE(std::find(report.nowhere.begin(), report.nowhere.end(), "forward"),
            report.nowhere.end());
}

TEST(ModelReport, ExpertsAreCountedAsRowsThatTheTokensChoose) {
  const ModelReport report = Judge(GlmWithIq1Experts(), Devices("strix-halo-gfx1151.json"));
  for (const AnsweredGroup& group : report.groups) {
    if (group.need.op != "expert_matmul") continue;
    const auto& args = std::get<ExpertMatmulArgs>(group.need.calls.front().call);
    EXPECT_EQ(args.experts, 8);
    EXPECT_EQ(args.rows, 2);  // one token, two experts
    EXPECT_EQ(args.w.rows / args.experts * args.w.cols, 512 * 256);
    EXPECT_EQ(std::get<ExpertMatmulArgs>(group.need.calls.back().call).rows, 2 * 512);
  }
}

TEST(ModelReport, EveryTensorOfEveryTinyModel) {
  const std::vector<DeviceInfo> devices = Devices("x86-avx2-desktop.json");
  std::size_t known = 0, unknown = 0;
  for (const std::string& path : TinyModelPaths()) {
    const ModelReport report = Judge(path, {devices[0]});
    ASSERT_EQ(report.devices[0].info.id, "cpu");
    ExpectAllTensorsAccountedFor(path, report);
    for (const LeftTensor& left : report.left) {
      EXPECT_EQ(left.reason.find("outside its named places"), std::string::npos)
          << path << " " << left.name;
    }
    const std::size_t missing = report.devices[0].missing;
    if (report.from_forward) {
      ++known;
      EXPECT_EQ(missing, 0u) << path;
      EXPECT_TRUE(report.yes()) << path;
    } else {
      ++unknown;
      EXPECT_FALSE(report.yes()) << path;
      for (const AnsweredGroup& group : report.groups) {
        // Whatever the table has, the cpu runs.
        EXPECT_EQ(group.answers.front().tier.has_value(), !group.need.calls.empty())
            << path << " " << group.need.op << ": " << group.answers.front().reason;
      }
    }
  }
  EXPECT_EQ(known, std::size(kTinyModels));
  EXPECT_EQ(unknown, 0u);
}

TEST(ModelReport, CountsTheCallsOfTheForwardPass) {
  const std::string path = TinyPath("llama-dense.gguf");
  const Result<GgufFile> file = GgufFile::Open(path);
  const Result<ModelSpec> spec = ReadModelSpec(*file);
  ASSERT_TRUE(spec.ok());
  EngineOptions options;
  options.context = 64;
  const DeviceInfo cpu = Devices("x86-avx2-desktop.json")[0];
  const auto ops = WalkOps(*file, *spec, options, cpu);
  ASSERT_TRUE(ops.ok());
  std::map<std::string, std::int64_t> once;  // calls of the step of one token, and of the logits
  std::int64_t steps = 0;
  for (const NeededOp& op : *ops) {
    steps += op.place == "token_embd" ? 1 : 0;
    if (steps < 2 || op.place.starts_with("output")) ++once[OpOf(op.call)];
  }
  // attn_output stands in the layers: it was counted in both steps.
  for (const NeededOp& op : *ops) {
    if (op.layer >= 0 && op.place.starts_with("output")) FAIL() << op.place;
  }
  ASSERT_EQ(steps, 2);
  std::map<std::string, std::int64_t> counted;
  for (const AnsweredGroup& group : Judge(path, {cpu}).groups) {
    counted[group.need.op] += group.need.count;
  }
  EXPECT_EQ(counted, once);
}

TEST(ModelReport, ARequiredTierIsOneForEveryAnswer) {
  const std::string path = TinyPath("llama-dense.gguf");
  const DeviceInfo fast = Devices("x86-avx2-desktop.json")[0];
  EXPECT_TRUE(Judge(path, {fast}, Tier::kNative).yes());
  DeviceInfo slow = fast;
  slow.features = 0;
  const ModelReport scalar = Judge(path, {slow}, Tier::kNative);
  EXPECT_FALSE(scalar.yes());
  EXPECT_GT(scalar.below, 0u);
  EXPECT_TRUE(scalar.nowhere.empty());
  EXPECT_TRUE(Judge(path, {slow}).yes());
  EXPECT_TRUE(Judge(path, {slow}, Tier::kReference).yes());
  // One device of two is enough for a run, but not for a required tier.
  EXPECT_TRUE(Judge(path, {fast, slow}).yes());
  EXPECT_FALSE(Judge(path, {fast, slow}, Tier::kNative).yes());
}

TEST(ModelReport, APlaceRunsSomewhereThoughOtherDevicesLackIt) {
  const std::string path = TinyPath("llama-dense.gguf");
  std::vector<DeviceInfo> devices = Devices("strix-halo-gfx1151.json");
  ASSERT_EQ(devices.size(), 2u);
  devices[1].lacks_ops = {"rms_norm", "embed", "matmul"};
  const ModelReport both = Judge(path, devices);
  EXPECT_GT(both.devices[1].missing, 0u);
  EXPECT_EQ(both.devices[1].lowest, std::nullopt);
  EXPECT_TRUE(both.yes());
  const ModelReport alone = Judge(path, {devices[1]});
  EXPECT_FALSE(alone.yes());
  EXPECT_NE(std::find(alone.nowhere.begin(), alone.nowhere.end(), "token_embd"),
            alone.nowhere.end());
  for (const AnsweredGroup& group : alone.groups) {
    if (group.need.op != "rms_norm") continue;
    EXPECT_EQ(group.answers[0].refusal, Refusal::kMachineLacks);
    EXPECT_NE(group.answers[0].reason.find("rms_norm"), std::string::npos);
  }
}

TEST(ModelReport, LayersAreGathered) {
  using Names = std::vector<std::pair<int, std::string>>;
  EXPECT_EQ(GatherLayers(Names{{0, "x"}, {1, "x"}, {2, "x"}, {5, "x"}, {-1, "y"}, {1, "z"}}),
            (std::vector<std::string>{"blk.0-2,5.x", "y", "blk.1.z"}));
  EXPECT_EQ(GatherLayers(Names{{1, "x"}, {0, "x"}, {1, "x"}}),
            (std::vector<std::string>{"blk.0-1.x"}));
  EXPECT_TRUE(GatherLayers({}).empty());
}

TEST(ModelReport, DamagedHeadersAreCorrupt) {
  ModelHeader llama("llama");
  llama.Tensor("token_embd.weight", DType::kF32, {64, 128});
  const Result<GgufFile> file = GgufFile::Open(llama.WriteTo("llama.gguf"));
  ASSERT_TRUE(file.ok());
  const auto needs = FindModelNeeds(*file, {}, Devices("x86-avx2-desktop.json"));
  ASSERT_FALSE(needs.ok());
  EXPECT_EQ(needs.status().code(), Code::kCorrupt) << needs.status().message();
}

}  // namespace
}  // namespace vt::test
