#include "cli/fit.h"

#include <algorithm>

#include "base/json.h"
#include "base/whole_file.h"
#include "cli/console.h"
#include "cli/fit_options.h"
#include "cli/machine_source.h"
#include "cli/model_source.h"
#include "cli/tool.h"
#include "cli/version.h"
#include "place/fit_plot.h"
#include "place/plan_document.h"
#include "plan/memory_plan.h"

namespace vt::cli {
namespace {

FitModel Describe(const ModelSource& source, const ModelSpec* spec) {
  FitModel model;
  model.file = source.name();
  model.digest = source.digest();
  model.architecture = source.Text("general.architecture");
  model.name = source.Text("general.name");
  model.bytes = source.file().total_bytes();
  model.tensors = source.file().tensors().size();
  model.context_train = spec ? spec->context_train : 0;
  return model;
}

class FitTool {
 public:
  FitTool(const FitOptions& options, Console& console) : options_(options), console_(console) {}

  Result<int> RunModel() {
    VT_RETURN_IF_ERROR(Open(options_.model));
    VT_RETURN_IF_ERROR(ReadCalibrationFile());
    const bool probed = !MachineGiven();
    if (probed && OnlyHost()) {
      request_.devices = {ProbeCpu()};  // asks no driver about other devices
    } else {
      VT_RETURN_IF_ERROR(LoadDevices());
    }
    VT_ASSIGN_OR_RETURN(request_.budgets, BudgetsOf(request_.devices, options_.budgets));
    if (!spec_) return Answer(CannotTell(request_.options, unknown_));
    VT_ASSIGN_OR_RETURN(Fit fit, Judge());
    if (!fit.yes() && probed && request_.devices.size() == 1) {
      // Another device here may do.
      VT_RETURN_IF_ERROR(LoadDevices());
      VT_ASSIGN_OR_RETURN(request_.budgets, BudgetsOf(request_.devices, options_.budgets));
      VT_ASSIGN_OR_RETURN(fit, Judge());
    }
    return Answer(fit);
  }

  Result<int> RunPlan() {
    VT_ASSIGN_OR_RETURN(const std::string text,
                        ReadInput(options_.plan, console_.interrupted_flag()));
    Result<PlanDocument> plan = ReadPlanDocument(text);
    const std::string where = options_.plan == "-" ? "stdin" : options_.plan;
    if (!plan.ok()) return plan.status().Annotate(where);
    VT_RETURN_IF_ERROR(Open(options_.model.empty() ? plan->model.path : options_.model));
    if (!spec_) return UnsupportedError(unknown_);
    VT_RETURN_IF_ERROR(BindPlan(source_->file(), *spec_, *plan, source_->digest()).Annotate(where));
    VT_RETURN_IF_ERROR(ReadCalibrationFile());
    request_.options = plan->options;
    if (MachineGiven() || options_.budgets.live) {
      VT_RETURN_IF_ERROR(LoadDevices());
      VT_ASSIGN_OR_RETURN(request_.budgets, BudgetsOf(request_.devices, options_.budgets));
    } else {
      request_.devices = plan->devices;
      VT_ASSIGN_OR_RETURN(request_.budgets, PlannedBudgets(*plan));
    }
    Result<Fit> fit = JudgeFit(source_->file(), *spec_, request_);
    if (!fit.ok()) return source_->Named(fit.status());
    plan_text_ = text;
    return Answer(*fit);
  }

  Result<int> RunProfiles() {
    VT_RETURN_IF_ERROR(Open(options_.model));
    VT_RETURN_IF_ERROR(ReadCalibrationFile());
    std::vector<ProfileFit> fits;
    const std::vector<std::string> names = ProfileNames();
    if (names.empty()) {
      return Status(Code::kNotFound, "--profile all: no profiles came with this program");
    }
    for (const std::string& name : names) {
      MachineSource machine;
      machine.profile = name;
      VT_ASSIGN_OR_RETURN(LoadedMachine loaded, LoadMachine(machine, console_.interrupted_flag()));
      request_.devices = std::move(loaded.machine.devices);
      VT_ASSIGN_OR_RETURN(request_.budgets, BudgetsOf(request_.devices, {}));
      for (const DeviceInfo& device : request_.devices) {
        if (options_.given.contains("device") && device.id != options_.device) continue;
        request_.options = EngineOptionsOf(options_.settings);
        request_.options.device = device.id;
        if (!spec_) {
          fits.push_back({name, device.id, device.name, CannotTell(request_.options, unknown_)});
          continue;
        }
        VT_ASSIGN_OR_RETURN(Fit fit, Judge());
        fits.push_back({name, device.id, device.name, std::move(fit)});
      }
    }
    if (fits.empty()) {
      return Status(Code::kNotFound,
                    "--device " + ValidUtf8(options_.device) + ": no profile has it");
    }
    return WriteProfiles(fits);
  }

 private:
  bool OnlyHost() const {
    const auto here = [](const std::string& id) { return id.empty() || id == kHostDevice; };
    return options_.device == kHostDevice && here(options_.draft_device) &&
           here(options_.projector_device);
  }

  bool MachineGiven() const {
    return !options_.caps_file.empty() || !options_.profile.empty() || !options_.sim_files.empty();
  }

  Status Open(const std::string& path) {
    VT_ASSIGN_OR_RETURN(source_, OpenModelSource(path, console_));
    Result<ModelSpec> spec = ReadModelSpec(source_->file());
    request_.options = EngineOptionsOf(options_.settings);
    request_.options.device = options_.device;
    if (spec.ok()) {
      spec_ = std::move(spec).value();
    } else if (spec.status().code() == Code::kUnsupported) {
      unknown_ = source_->Named(spec.status()).message();
    } else {
      return source_->Named(spec.status());
    }
    VT_RETURN_IF_ERROR(OpenDraft());
    return OpenProjector();
  }

  Status OpenDraft() {
    if (options_.draft.empty()) return {};
    Result<ModelSource> source = OpenModelSource(options_.draft, console_);
    if (!source.ok()) return source.status().Annotate("--draft");
    draft_source_ = std::move(source).value();
    const std::string subject = "--draft " + ValidUtf8(options_.draft);
    Result<ModelSpec> spec = ReadModelSpec(draft_source_->file());
    if (!spec.ok()) return draft_source_->Named(spec.status()).Annotate(subject);
    draft_spec_ = std::move(spec).value();
    if (spec_) {
      VT_RETURN_IF_ERROR(CheckDraft(draft_source_->file(), *draft_spec_, source_->file(), *spec_)
                             .Annotate(subject));
    }
    request_.beside.draft = {&draft_source_->file(), &*draft_spec_, options_.draft_device,
                             options_.draft_max};
    return {};
  }

  Status OpenProjector() {
    if (options_.projector.empty()) return {};
    Result<ModelSource> source = OpenModelSource(options_.projector, console_);
    if (!source.ok()) return source.status().Annotate("--mmproj");
    projector_source_ = std::move(source).value();
    VT_RETURN_IF_ERROR(CheckProjector(projector_source_->file())
                           .Annotate("--mmproj " + ValidUtf8(options_.projector)));
    request_.beside.projector = {&projector_source_->file(), options_.projector_device};
    return {};
  }

  Status ReadCalibrationFile() {
    if (options_.calibration.empty()) return {};
    VT_ASSIGN_OR_RETURN(const std::string text,
                        ReadInput(options_.calibration, console_.interrupted_flag()));
    Result<Calibration> calibration = ReadCalibration(text, options_.calibration);
    if (!calibration.ok()) return calibration.status().Annotate(options_.calibration);
    request_.calibration = std::move(calibration).value();
    return {};
  }

  Status LoadDevices() {
    MachineSource machine;
    machine.caps_file = options_.caps_file;
    machine.profile = options_.profile;
    machine.sim_files = options_.sim_files;
    VT_ASSIGN_OR_RETURN(LoadedMachine loaded, LoadMachine(machine, console_.interrupted_flag()));
    const auto check = [&](const char* flag, const std::string& id) {
      if (id.empty()) return Status();
      return FindDevice(loaded.machine, id).status().Annotate(flag);
    };
    if (options_.mode == kFitModel) VT_RETURN_IF_ERROR(check("--device", options_.device));
    VT_RETURN_IF_ERROR(check("--draft-device", options_.draft_device));
    VT_RETURN_IF_ERROR(check("--mmproj-device", options_.projector_device));
    request_.devices = std::move(loaded.machine.devices);
    return {};
  }

  // Those of the document, where the user gives no others.
  Result<std::vector<Budget>> PlannedBudgets(const PlanDocument& plan) const {
    VT_ASSIGN_OR_RETURN(std::vector<Budget> budgets, BudgetsOf(plan.devices, options_.budgets));
    const auto names = [](const DeviceBytes& list, const std::string& device) {
      return std::any_of(list.begin(), list.end(),
                         [&](const auto& one) { return one.first == device; });
    };
    for (Budget& budget : budgets) {
      const Budget* planned = FindBudget(plan.budgets, budget.device);
      if (planned == nullptr) continue;
      if (names(options_.budgets.given, budget.device)) {
        budget.shares_host = planned->shares_host;
        budget.live = planned->live;
        continue;
      }
      const std::uint64_t reserve = budget.reserve_bytes;
      budget = *planned;
      if (!names(options_.budgets.reserves, budget.device) || !budget.bytes) continue;
      const std::uint64_t whole = *budget.bytes + budget.reserve_bytes;
      budget.bytes = whole - std::min(whole, reserve);
      budget.reserve_bytes = reserve;
      budget.source += ", as planned, with --reserve in place of its reserve";
    }
    return budgets;
  }

  Result<Fit> Judge() {
    const GgufFile& file = source_->file();
    std::optional<ContextChoice> choice;
    if (options_.settings.auto_context) {
      Result<ContextChoice> chosen = ChooseContext(file, *spec_, request_);
      if (!chosen.ok()) return source_->Named(chosen.status());
      choice = std::move(chosen).value();
    } else if (options_.settings.context == 0) {
      request_.options.context = DefaultContext(*spec_);
    }
    Result<Fit> fit = JudgeFit(file, *spec_, request_);
    if (!fit.ok()) return source_->Named(fit.status());
    fit->chosen_context = std::move(choice);
    return fit;
  }

  Result<FitExtras> Extras(const Fit& fit) {
    FitExtras extras;
    if (draft_source_) extras.draft = Describe(*draft_source_, nullptr);
    if (projector_source_) extras.projector = Describe(*projector_source_, nullptr);
    if (!spec_) return extras;
    const GgufFile& file = source_->file();
    extras.max_asked = options_.max_context;
    if (options_.max_context) {
      VT_ASSIGN_OR_RETURN(extras.max_context,
                          LargestContext(file, *spec_, request_, request_.options));
    }
    if (options_.curve || !options_.plot.empty()) {
      VT_ASSIGN_OR_RETURN(extras.curves, FitCurves(file, *spec_, request_, fit));
    }
    if (!options_.plot.empty()) {
      VT_ASSIGN_OR_RETURN(WholeFile plot, WholeFile::Create(options_.plot));
      VT_RETURN_IF_ERROR(plot.Write(FitPlot(Describe(*source_, &*spec_), fit, extras.curves)));
      VT_RETURN_IF_ERROR(plot.Commit());
      console_.Note("the curve is in " + options_.plot);
    }
    return extras;
  }

  Result<int> Answer(const Fit& fit) {
    const FitModel model = Describe(*source_, spec_ ? &*spec_ : nullptr);
    VT_ASSIGN_OR_RETURN(const FitExtras extras, Extras(fit));
    for (const FitWarning& warning : fit.warnings) {
      console_.Note(std::string(warning.code) + ": " + warning.message);
    }
    if (JsonWanted(options_)) {
      JsonWriter json;
      json.BeginObject().Field("schema", kFitSchema);
      WriteTool(json);
      WriteFitBody(json, model, fit, extras);
      std::string document = json.EndObject().Take();
      if (!plan_text_.empty()) {
        VT_ASSIGN_OR_RETURN(document, WithFitPart(plan_text_, document));
      }
      VT_RETURN_IF_ERROR(console_.WriteLine(std::move(document)));
    } else {
      VT_RETURN_IF_ERROR(console_.Write(FitTable(model, fit, extras)));
    }
    // Whoever reads the document alone is told on stderr why the pipe stops.
    if (!fit.yes() && JsonWanted(options_)) console_.Note(VerdictText(fit));
    return ExitCode(CodeOf(fit.verdict));
  }

  Result<int> WriteProfiles(const std::vector<ProfileFit>& fits) {
    const FitModel model = Describe(*source_, spec_ ? &*spec_ : nullptr);
    if (JsonWanted(options_)) {
      JsonWriter json;
      json.BeginObject().Field("schema", "vt.fit-profiles/1");
      WriteTool(json);
      WriteProfilesBody(json, model, fits);
      VT_RETURN_IF_ERROR(console_.WriteLine(json.EndObject().Take()));
    } else {
      VT_RETURN_IF_ERROR(console_.Write(ProfilesTable(model, fits)));
    }
    const auto best = std::min_element(fits.begin(), fits.end(), [](const auto& a, const auto& b) {
      return a.fit.verdict < b.fit.verdict;
    });
    return ExitCode(CodeOf(best->fit.verdict));
  }

  const FitOptions& options_;
  Console& console_;
  std::optional<ModelSource> source_;
  std::optional<ModelSpec> spec_;
  std::string unknown_;  // why there is no spec
  std::optional<ModelSource> draft_source_, projector_source_;
  std::optional<ModelSpec> draft_spec_;
  FitRequest request_;
  std::string plan_text_;  // of the plan that is passed on
};

Result<int> Run(const FitOptions& options, std::span<const Flag> table, Console& console) {
  FitTool tool(options, console);
  switch (options.mode) {
    case kFitHelp:
      return WriteAnswer(console, FitHelp(table));
    case kFitVersion:
      return WriteAnswer(console, VersionText("vt-fit"));
    case kFitPlan:
      return tool.RunPlan();
    case kFitProfiles:
      return tool.RunProfiles();
    case kFitModel:
      break;
  }
  return tool.RunModel();
}

}  // namespace

int RunFitTool(std::span<const std::string_view> args) {
  FitOptions options;
  const std::vector<Flag> table = FitFlags(&options);
  const auto parse = [&] {
    const Status parsed = ParseFitFlags(args, table, &options);
    return ToolStart{parsed, JsonWanted(options), options.quiet};
  };
  return ToolMain("vt-fit", args, parse,
                  [&](Console& console) { return Run(options, table, console); });
}

}  // namespace vt::cli
