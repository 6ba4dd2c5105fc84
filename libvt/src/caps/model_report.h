// What runs the ops of one model on the devices of a machine: every group of calls on every device,
// a verdict for each device and one for all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "caps/model_needs.h"
#include "ops/registry.h"
#include "ops/resolve.h"
#include "vt/device.h"

namespace vt {

// What a device answers to a group: one for all its calls, or one for each number of tokens.
struct GroupAnswer {
  std::size_t device = 0;  // index into ModelReport::devices
  std::vector<std::int64_t> tokens;
  std::optional<Tier> tier;  // none: missing
  std::string kernel;        // empty when missing
  Refusal refusal = Refusal::kNone;
  std::string reason;  // of a missing one
};

struct AnsweredGroup {
  NeededGroup need;
  std::vector<GroupAnswer> answers;  // by device, then by tokens
};

struct DeviceVerdict {
  DeviceInfo info;
  bool built = true;      // whether this build has kernels of its kind
  std::string configure;  // what builds it
  // Groups by the worst that one of their calls gets.
  std::size_t native = 0, composed = 0, reference = 0, missing = 0;
  std::optional<Tier> lowest;  // none: something is missing
};

struct ModelReport {
  // Of the model, for readers.
  std::string file, digest, architecture, name;
  std::uint64_t bytes = 0;
  EngineOptions options;

  bool from_forward = true;
  std::string unknown_reason;
  std::size_t tensors = 0;
  std::vector<LeftTensor> left;
  std::vector<DeviceVerdict> devices;
  std::vector<AnsweredGroup> groups;

  std::optional<Tier> require;
  std::size_t below = 0;             // answers that are missing or below `require`
  std::vector<std::string> nowhere;  // places that every device lacks something for
  // The verdict: every place runs on some device and, where a tier is required, no answer of any
  // device is below it.
  bool yes() const { return nowhere.empty() && (!require || below == 0); }
};

// Fills everything but what is of the model for readers.
ModelReport JudgeModel(const Registry& registry, ModelNeeds needs,
                       const std::vector<DeviceInfo>& devices, const EngineOptions& options,
                       std::optional<Tier> require);

// The verdict on one call, where Resolve's is refined: a device that does not hold the weight says
// so, whatever else keeps the op from running there.
Verdict JudgeCall(const Registry& registry, const DeviceInfo& device, const AnyArgs& call);

// The members of vt.caps-model/1 after "tool" (docs/json/vt.caps-model.md).
void WriteModelReport(JsonWriter& json, const ModelReport& report);

// "native", "composed", "reference"; of a missing one "not kept" or "missing".
std::string_view StateOf(const GroupAnswer& answer);

}  // namespace vt
