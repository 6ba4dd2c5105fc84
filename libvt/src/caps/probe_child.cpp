#include "caps/probe_child.h"

#include <string>

#include "caps/caps_document.h"
#include "caps/child_answer.h"

namespace vt {
namespace {

std::string MachineDocument(const MachineOptions& options) {
  CapsReport report;
  report.machine = ProbeMachine(options);
  JsonWriter json;
  json.BeginObject().Field("schema", kCapsSchema);
  WriteCapsBody(report, json);
  return json.EndObject().Take();
}

}  // namespace

Result<Machine> ProbeMachineInChild(const MachineOptions& options) {
  VT_ASSIGN_OR_RETURN(ChildAnswer child,
                      ChildAnswer::Start([&] { return MachineDocument(options); }));
  std::string text;
  while (child.Read(text, -1)) continue;
  child.Wait();
  Result<CapsReport> report = ParseCapsDocument(text);
  if (!report.ok()) {
    return Status(Code::kDevice, "the process that probes the devices ended without an answer");
  }
  Machine machine = std::move(report->machine);
  for (DeviceInfo& device : machine.devices) {
    device.described = false;
    device.usable_kernels.reset();
    if (device.kind != DeviceKind::kSim) continue;
    for (std::size_t i = 0; i < options.sims.size(); ++i) {
      if (device.id == "sim:" + std::to_string(i)) device.sim = options.sims[i].sim;
    }
  }
  return machine;
}

}  // namespace vt
