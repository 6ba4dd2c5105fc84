#include "cli/caps_model.h"

#include <optional>

#include "base/json_writer.h"
#include "cli/model_source.h"
#include "cli/run_settings.h"
#include "cli/version.h"
#include "vt/gguf.h"

namespace vt::cli {
namespace {

// As vt-run chooses them for one sequence.
EngineOptions OptionsOf(const CapsOptions& options, const GgufFile& file) {
  EngineOptions engine;
  if (options.context > 0) {
    engine.context = static_cast<std::uint64_t>(options.context);
  } else if (const auto spec = ReadModelSpec(file); spec.ok()) {
    engine.context = DefaultContext(*spec);
  }
  engine.exact = options.exact;
  if (const DTypeInfo* type = FindDType(options.kv_type)) engine.kv_type = type->type;
  return engine;
}

void Describe(const ModelSource& model, ModelReport& report) {
  report.file = model.name();
  report.digest = model.digest();
  report.bytes = model.file().total_bytes();
  report.architecture = model.Text("general.architecture");
  report.name = model.Text("general.name");
}

}  // namespace

Result<int> RunCapsModel(const CapsOptions& options, const Machine& machine, Console& console) {
  std::vector<DeviceInfo> devices;
  for (const DeviceInfo& device : machine.devices) {
    if (DeviceWanted(options, device.id)) devices.push_back(device);
  }
  VT_ASSIGN_OR_RETURN(const ModelSource model, OpenModelSource(options.model, console));
  const EngineOptions engine = OptionsOf(options, model.file());
  Result<ModelNeeds> needs = FindModelNeeds(model.file(), engine, devices);
  if (!needs.ok()) return model.Named(needs.status());
  std::optional<Tier> require;
  if (!options.require.empty()) {
    VT_ASSIGN_OR_RETURN(require, ParseTier(options.require));
  }
  ModelReport report =
      JudgeModel(BuiltinKernels(), std::move(needs).value(), devices, engine, require);
  Describe(model, report);
  if (JsonWanted(options)) {
    JsonWriter json;
    json.BeginObject().Field("schema", "vt.caps-model/1");
    WriteTool(json);
    WriteModelReport(json, report);
    VT_RETURN_IF_ERROR(console.WriteLine(json.EndObject().Take()));
  } else {
    VT_RETURN_IF_ERROR(console.Write(ModelTable(report)));
  }
  return report.yes() ? 0 : ExitCode(Code::kNo);
}

}  // namespace vt::cli
