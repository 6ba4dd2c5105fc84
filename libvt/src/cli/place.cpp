#include "cli/place.h"

#include <algorithm>

#include "base/json.h"
#include "base/near_names.h"
#include "base/whole_file.h"
#include "cli/console.h"
#include "cli/machine_source.h"
#include "cli/model_source.h"
#include "cli/place_options.h"
#include "cli/place_table.h"
#include "cli/tool.h"
#include "cli/version.h"
#include "place/plan_diff.h"
#include "place/plan_document.h"
#include "place/plan_map.h"

namespace vt::cli {
namespace {

constexpr std::string_view kTensorSchema = "vt.plan-tensor/1";

class PlaceTool {
 public:
  PlaceTool(const PlaceOptions& options, Console& console) : options_(options), console_(console) {}

  Result<int> RunModel() {
    if (!options_.out.empty() && options_.out != "-") {
      VT_RETURN_IF_ERROR(CheckWritable(options_.out));
    }
    VT_ASSIGN_OR_RETURN(const ModelSource source, OpenModelSource(options_.model, console_));
    const GgufFile& file = source.file();
    const Result<ModelSpec> spec = ReadModelSpec(file);
    if (!spec.ok()) return source.Named(spec.status());
    PlaceRequest request;
    VT_RETURN_IF_ERROR(FillRequest(*spec, request));
    const Result<PlaceAnswer> answer = options_.settings.auto_context
                                           ? PlaceLargestContext(file, *spec, request)
                                           : PlaceModel(file, *spec, request);
    if (!answer.ok()) return source.Named(answer.status());
    // A table tells it itself.
    if (answer->chosen_context && !answer->chosen_context->why.empty() && JsonWanted(options_)) {
      console_.Note(ReducedText(*answer->chosen_context));
    }
    const PlannedModel model{source.name(), source.digest(), spec->architecture, spec->name,
                             file.total_bytes()};
    const std::string document =
        WritePlanDocument(file, *spec, model, request, *answer,
                          {std::string(ToolVersion()), std::string(ToolCommit())});
    VT_ASSIGN_OR_RETURN(const PlanDocument plan, ReadPlanDocument(document));
    if (!options_.out.empty() && options_.out != "-") {
      VT_RETURN_IF_ERROR(WriteWhole(options_.out, document + "\n"));
    }
    return Print(plan);
  }

  Result<int> RunShow() {
    if (!options_.svg.empty()) VT_RETURN_IF_ERROR(CheckWritable(options_.svg));
    VT_ASSIGN_OR_RETURN(const PlanDocument plan, ReadPlan(options_.plan));
    if (!options_.svg.empty()) {
      const std::string title = "Memory of " +
                                (plan.model.name.empty() ? plan.model.path : plan.model.name) +
                                ", context " + std::to_string(plan.options.context);
      VT_RETURN_IF_ERROR(WriteWhole(options_.svg, MemoryMapSvg(title, MapOf(plan))));
      console_.Note("the memory map is in " + options_.svg);
    }
    return Print(plan);
  }

  Result<int> RunExplain() {
    VT_ASSIGN_OR_RETURN(const PlanDocument plan, ReadPlan(options_.plan));
    const auto found =
        std::find_if(plan.tensors.begin(), plan.tensors.end(),
                     [&](const PlannedTensor& one) { return one.name == options_.tensor; });
    if (found == plan.tensors.end()) return NoTensor(plan);
    const PlannedTensor& tensor = *found;
    if (!JsonWanted(options_)) {
      VT_RETURN_IF_ERROR(console_.Write(TensorTable(plan, tensor)));
      return 0;
    }
    JsonWriter json;
    json.BeginObject().Field("schema", kTensorSchema);
    WriteTool(json);
    json.Field("plan", plan.hash).Field("name", tensor.name).Field("type", tensor.type);
    json.Field("bytes", tensor.bytes).Field("device", tensor.device).Key("held");
    if (tensor.held) {
      json.Value(NameOf(*tensor.held));
    } else {
      json.Null();
    }
    json.Key("parts").BeginArray();
    for (const std::string& part : PartsThatRead(tensor)) json.Value(part);
    json.EndArray().Key("read_by").BeginArray();
    for (const std::string& place : tensor.read_by) json.Value(place);
    json.EndArray().Key("reason");
    if (tensor.reason.empty()) {
      json.Null();
    } else {
      json.Value(tensor.reason);
    }
    VT_RETURN_IF_ERROR(console_.WriteLine(json.EndObject().Take()));
    return 0;
  }

  Result<int> RunDiff() {
    VT_ASSIGN_OR_RETURN(const PlanDocument a, ReadPlan(options_.plan));
    VT_ASSIGN_OR_RETURN(const PlanDocument b, ReadPlan(options_.plan_b));
    const PlanDiff diff = DiffPlans(a, b);
    if (JsonWanted(options_)) {
      JsonWriter json;
      json.BeginObject().Field("schema", kPlanDiffSchema);
      WriteTool(json);
      json.Field("a", options_.plan).Field("b", options_.plan_b);
      WriteDiffBody(diff, json);
      VT_RETURN_IF_ERROR(console_.WriteLine(json.EndObject().Take()));
    } else {
      VT_RETURN_IF_ERROR(console_.Write(PlanDiffTable(diff, options_.plan, options_.plan_b)));
    }
    return diff.same() ? 0 : ExitCode(Code::kNo);
  }

 private:
  Status FillRequest(const ModelSpec& spec, PlaceRequest& request) {
    VT_ASSIGN_OR_RETURN(LoadedMachine loaded, LoadMachine({.caps_file = options_.caps_file,
                                                           .profile = options_.profile,
                                                           .sim_files = options_.sim_files},
                                                          console_.interrupted_flag()));
    if (options_.devices.empty()) request.devices = loaded.machine.devices;
    for (const std::string& id : options_.devices) {
      Result<DeviceInfo> device = FindDevice(loaded.machine, id);
      if (!device.ok()) return device.status().Annotate("--device");
      request.devices.push_back(std::move(device).value());
    }
    if (request.devices.empty()) {
      return Status(Code::kNotFound, "this machine has no device that can be driven");
    }
    VT_ASSIGN_OR_RETURN(request.budgets, BudgetsOf(request.devices, options_.budgets));
    request.options = EngineOptionsOf(options_.settings);
    request.options.device = request.devices.front().id;
    if (options_.settings.context == 0) request.options.context = DefaultContext(spec);
    request.options.exact = options_.exact;
    request.pins = options_.pins;
    request.cpu_moe = options_.cpu_moe;
    request.n_cpu_moe = options_.n_cpu_moe;
    request.expert_slots = options_.expert_slots;
    request.objective = options_.objective;
    return {};
  }

  Result<PlanDocument> ReadPlan(const std::string& path) {
    VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(path, console_.interrupted_flag()));
    Result<PlanDocument> plan = ReadPlanDocument(text);
    if (!plan.ok()) return plan.status().Annotate(path == "-" ? "stdin" : ValidUtf8(path));
    return plan;
  }

  Status NoTensor(const PlanDocument& plan) const {
    std::vector<std::string_view> names;
    for (const PlannedTensor& tensor : plan.tensors) names.push_back(tensor.name);
    std::string near = NearNames(options_.tensor, names);
    if (near.empty()) near = "\"" + std::string(NearestName(options_.tensor, names)) + "\"";
    return Status(Code::kNotFound, "--tensor \"" + ValidUtf8(options_.tensor) +
                                       "\": not among the model's " + std::to_string(names.size()) +
                                       "; near it: " + near);
  }

  Result<int> Print(const PlanDocument& plan) {
    if (JsonWanted(options_)) {
      std::string text = plan.text;
      text.erase(text.find_last_not_of(" \t\r\n") + 1);
      VT_RETURN_IF_ERROR(console_.WriteLine(std::move(text)));
    } else {
      VT_RETURN_IF_ERROR(console_.Write(PlanTable(plan)));
    }
    return 0;
  }

  const PlaceOptions& options_;
  Console& console_;
};

Result<int> Run(const PlaceOptions& options, std::span<const Flag> table, Console& console) {
  PlaceTool tool(options, console);
  switch (options.mode) {
    case kPlaceHelp:
      return WriteAnswer(console, PlaceHelp(table));
    case kPlaceVersion:
      return WriteAnswer(console, VersionText("vt-place"));
    case kPlaceExplain:
      return tool.RunExplain();
    case kPlaceDiff:
      return tool.RunDiff();
    case kPlaceShow:
      return tool.RunShow();
    case kPlaceModel:
      break;
  }
  return tool.RunModel();
}

}  // namespace

int RunPlaceTool(std::span<const std::string_view> args) {
  PlaceOptions options;
  const std::vector<Flag> table = PlaceFlags(&options);
  const auto parse = [&] {
    const Status parsed = ParsePlaceFlags(args, table, &options);
    return ToolStart{parsed, JsonWanted(options), options.quiet};
  };
  return ToolMain("vt-place", args, parse,
                  [&](Console& console) { return Run(options, table, console); });
}

}  // namespace vt::cli
