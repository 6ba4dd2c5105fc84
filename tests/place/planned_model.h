// Plans of header-only models, for the tests of the document that holds them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "place/plan_document.h"
#include "plan/memory_plan.h"
#include "plan/placement.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"

namespace vt::test {

inline const PlanTool kTool{"9.9.9", "0123abc"};

inline DeviceInfo Described(const std::string& id, DeviceKind kind) {
  DeviceInfo device;
  device.id = id;
  device.kind = kind;
  device.name = "test device " + id;
  device.cores = 4;
  device.described = true;
  return device;
}

// A model, what was asked, and the answer on two devices or one.
struct Planned {
  GgufFile file;
  ModelSpec spec;
  PlannedModel model;
  PlaceRequest request;
  PlaceAnswer answer;

  std::string Write() const { return WritePlanDocument(file, spec, model, request, answer, kTool); }
};

inline Planned Start(GgufFile file, std::vector<DeviceInfo> devices) {
  ModelSpec spec = ReadModelSpec(file).value();
  PlannedModel model{"some/model.gguf", file.HeaderDigest(), spec.architecture, spec.name,
                     file.total_bytes()};
  Planned planned{std::move(file), std::move(spec), std::move(model), {}, {}};
  planned.request.options.context = 256;
  planned.request.options.ubatch = 64;
  planned.request.options.threads = 3;
  for (const DeviceInfo& device : devices) {
    Budget budget;
    budget.device = device.id;
    budget.bytes = std::uint64_t{20} << 30;
    budget.source = "--budget";
    budget.reserve_bytes = 17;
    budget.shares_host = device.kind == DeviceKind::kHip;
    planned.request.budgets.push_back(budget);
  }
  planned.request.devices = std::move(devices);
  return planned;
}

inline Planned Whole(GgufFile file) {
  Planned planned = Start(std::move(file), {Described("cpu", DeviceKind::kCpu)});
  planned.answer = PlaceWhole(planned.file, planned.spec, planned.request).value();
  return planned;
}

// Mixers on the cpu, feed-forwards on hip:0, experts of every other layer on hip:1, with one matrix
// away from its part and one expanded.
inline Planned Spread(GgufFile file) {
  Planned planned = Start(std::move(file),
                          {Described("cpu", DeviceKind::kCpu), Described("hip:0", DeviceKind::kHip),
                           Described("hip:1", DeviceKind::kHip)});
  Placement placement;
  placement.devices = {"cpu", "hip:0", "hip:1"};
  placement.output = 1;
  placement.layers.resize(planned.spec.layers.size());
  for (std::size_t i = 0; i < placement.layers.size(); ++i) {
    placement.layers[i] = {0, 1, i % 2 == 0 ? 2 : 0};
    if (planned.spec.layers[i].moe.experts == 0) placement.layers[i].experts = 1;
  }
  PlaceTensors(planned.file, planned.spec, placement);
  const auto away = static_cast<std::size_t>(planned.file.FindTensor("blk.0.attn_output.weight") -
                                             planned.file.tensors().data());
  placement.tensors[away] = 2;
  placement.held[away] = Held::kExpanded;
  EngineOptions options = planned.request.options;
  options.placement = placement;
  planned.answer.plan =
      MakePlan(planned.file, planned.spec, options, planned.request.devices).value();
  planned.answer.reasons.assign(planned.file.tensors().size(), "");
  planned.answer.reasons[away] = "pin \"attn_output\"=hip:1";
  planned.answer.notes = {"a note", "another, of \"layer 3\""};
  planned.answer.prediction = {12.3456789, std::nullopt, "cpu: reading weights", "",
                               "hip:0: no rate of memory is known"};
  planned.request.pins = {{"blk\\.0\\.attn_output", "hip:1"}};
  planned.request.n_cpu_moe = 2;
  planned.request.objective = Objective::kBalanced;
  return planned;
}

}  // namespace vt::test
