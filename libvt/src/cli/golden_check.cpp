// vt-golden check: a model, or a finished run, against a golden.
#include <filesystem>
#include <optional>

#include "base/json.h"
#include "base/near_names.h"
#include "base/whole_file.h"
#include "cli/golden_commands.h"
#include "cli/version.h"
#include "golden/finished_run.h"
#include "golden/invariance.h"
#include "golden/locate.h"

namespace vt::cli {
namespace {

class CheckRun {
 public:
  explicit CheckRun(GoldenContext& context) : context_(context), options_(context.options) {}

  // The exit code. Whatever happens, the JUnit file says so.
  Result<int> Run();

 private:
  Status Check();
  Status SelectCases();
  Status CheckModel();
  Status CheckFinished();
  Status FindDifference(const OpenedModel& model, EngineOptions ours);
  Status TryVariants(const OpenedModel& model, const EngineOptions& engine_options);

  GoldenContext& context_;
  GoldenOptions& options_;
  Golden golden_;
  GoldenReport report_;
};

Status CheckRun::SelectCases() {
  if (options_.cases.empty()) return {};
  std::vector<GoldenCase> chosen;
  for (const std::string& name : options_.cases) {
    const auto found = std::find_if(golden_.cases.begin(), golden_.cases.end(),
                                    [&](const GoldenCase& one) { return one.name == name; });
    if (found == golden_.cases.end()) {
      std::vector<std::string_view> names;
      for (const GoldenCase& one : golden_.cases) names.push_back(one.name);
      return InvalidError("--case \"" + ValidUtf8(name) + "\": the golden has none of this name; " +
                          "the nearest is \"" + ValidUtf8(NearestName(name, names)) + "\"");
    }
    chosen.push_back(*found);
  }
  report_.notes.push_back("only " + std::to_string(chosen.size()) + " of " +
                          std::to_string(golden_.cases.size()) + " cases, as --case says");
  golden_.cases = std::move(chosen);
  return {};
}

Status CheckRun::CheckFinished() {
  const std::string& path = options_.files[0];
  const std::string name = path == "-" ? "stdin" : ValidUtf8(path);
  VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(path, context_.interrupted));
  const Result<FinishedRun> run = ParseFinishedRun(text);
  if (!run.ok()) return run.status().Annotate(name);
  report_.source = "run";
  report_.model_file = run->model_file.value_or("");
  if (run->model_digest && golden_.model.digest) {
    report_.digests = {{"digest", *golden_.model.digest, *run->model_digest}};
    if (!options_.any_digest) VT_RETURN_IF_ERROR(CheckDigests(golden_.model, report_.digests));
  } else {
    report_.notes.push_back("the model was not compared: " +
                            std::string(run->model_digest ? "the golden has no header digest"
                                                          : "the run does not name its model"));
  }
  if (HasCheckpoints(golden_)) {
    report_.notes.push_back(
        "the golden's checkpoints were not compared: a finished run has none; check with -m");
  }
  Result<std::vector<CaseReport>> cases = CheckFinishedRun(golden_, *run, options_.limits, nullptr);
  if (!cases.ok()) return cases.status().Annotate(name);
  report_.cases = std::move(*cases);
  return {};
}

Status CheckRun::CheckModel() {
  const std::string& path = options_.run.model;
  report_.model_file = path;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    const std::string what = "the model file " + ValidUtf8(path) + " is not there";
    if (options_.allow_skip) {
      report_.skipped = what;
      return {};
    }
    return CorruptError("check: " + what +
                        ", so nothing was compared; give the file (or --allow-skip, which makes "
                        "this exit code 77)");
  }
  VT_ASSIGN_OR_RETURN(const OpenedModel model, OpenModel(path, true));
  FileDigests digests(model.file);
  report_.digests = CompareDigests(golden_.model, digests);
  if (!options_.any_digest) VT_RETURN_IF_ERROR(CheckDigests(golden_.model, report_.digests));
  if (report_.digests.empty()) {
    report_.notes.push_back("the golden carries no digest, so any model would have done");
  }
  const Status ids = CheckGoldenIds(golden_, model.spec->vocab);
  if (!ids.ok()) return ids.Annotate(ValidUtf8(options_.golden_file));
  VT_ASSIGN_OR_RETURN(EngineOptions engine_options,
                      GoldenEngineOptions(options_.run, model, context_.interrupted));
  engine_options = EngineOptionsFor(golden_, std::move(engine_options));
  const std::unique_ptr<CheckpointRecorder> checkpoints = RecorderFor(golden_, *model.spec);
  EngineOptions watched = engine_options;
  if (checkpoints) watched.on_op = checkpoints->Hook();
  VT_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, LoadGoldenEngine(model, watched, context_));
  report_.settings_json = EngineSettingsJson(*engine);
  CheckWatch watch = WatchOf(context_, "checking");
  watch.checkpoints = checkpoints.get();
  VT_ASSIGN_OR_RETURN(report_.cases,
                      CheckCases(golden_, *engine, TokenizerOf(model), options_.limits, watch));
  engine.reset();
  if (golden_.cases.empty()) return {};
  if (options_.locate) VT_RETURN_IF_ERROR(FindDifference(model, engine_options));
  if (options_.invariance) VT_RETURN_IF_ERROR(TryVariants(model, engine_options));
  return {};
}

// The first case that is not the same, else the first, up to where its texts part.
Status CheckRun::FindDifference(const OpenedModel& model, EngineOptions ours) {
  VT_ASSIGN_OR_RETURN(const RunOptions other_run, ParseAgainst(options_.against, options_.run));
  std::optional<OpenedModel> opened;
  if (other_run.model != options_.run.model) {
    Result<OpenedModel> other = OpenModel(other_run.model, true);
    if (!other.ok()) return other.status().Annotate("--against");
    opened = std::move(*other);
    if (opened->spec->vocab < model.spec->vocab) {
      return InvalidError("--against: " + ValidUtf8(other_run.model) + " has a vocabulary of " +
                          std::to_string(opened->spec->vocab) + " tokens, the model checked " +
                          std::to_string(model.spec->vocab));
    }
  }
  const OpenedModel& other_model = opened ? *opened : model;
  VT_ASSIGN_OR_RETURN(EngineOptions against,
                      GoldenEngineOptions(other_run, other_model, context_.interrupted));
  against.context = std::max(against.context, ours.context);
  OpRecorder our_recorder;
  OpRecorder other_recorder;
  ours.on_op = our_recorder.Hook();
  against.on_op = other_recorder.Hook();
  VT_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> a, LoadGoldenEngine(model, ours, context_));
  Result<std::unique_ptr<Engine>> b = LoadGoldenEngine(other_model, against, context_);
  if (!b.ok()) return b.status().Annotate("--against");
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < report_.cases.size(); ++i) {
    if (report_.cases[i].state == CaseState::kSame) continue;
    chosen = i;
    break;
  }
  const GoldenCase& one = golden_.cases[chosen];
  const std::vector<Departure>& parts = report_.cases[chosen].departures;
  std::vector<TokenId> tokens = one.prompt;
  const std::size_t answer =
      parts.empty() ? std::max<std::size_t>(one.generated.size(), 1) - 1 : parts.front().index;
  tokens.insert(tokens.end(), one.generated.begin(),
                one.generated.begin() + static_cast<std::ptrdiff_t>(answer));
  VT_ASSIGN_OR_RETURN(
      LocateReport found,
      Locate({a.get(), &our_recorder, &model.file}, {b->get(), &other_recorder, &other_model.file},
             one.name, tokens, options_.tolerance, WatchOf(context_, "locating")));
  found.against = options_.against;
  JsonWriter json;
  WriteLocate(found, json);
  report_.locate_json = json.Take();
  report_.more_text += LocateText(found);
  return {};
}

Status CheckRun::TryVariants(const OpenedModel& model, const EngineOptions& engine_options) {
  const EngineLoader load = [&](const EngineOptions& options) {
    return LoadGoldenEngine(model, options, context_);
  };
  VT_ASSIGN_OR_RETURN(const InvarianceReport found,
                      CheckInvariance(golden_, engine_options, load, WatchOf(context_, "varying")));
  JsonWriter json;
  WriteInvariance(found, json);
  report_.invariance_json = json.Take();
  report_.more_text += InvarianceText(found);
  report_.variant = !found.same();
  return {};
}

Status CheckRun::Check() {
  VT_ASSIGN_OR_RETURN(golden_, ReadGoldenFile(options_.golden_file, context_.interrupted));
  report_.golden_file = options_.golden_file;
  report_.golden_model = golden_.model;
  report_.oracle = golden_.oracle;
  report_.limits = options_.limits;
  VT_RETURN_IF_ERROR(SelectCases());
  return options_.files.empty() ? CheckModel() : CheckFinished();
}

Result<int> CheckRun::Run() {
  const Status status = Check();
  context_.console.ClearProgress();
  if (status.ok()) return WriteGoldenReport(report_, context_);
  if (options_.github) context_.console.Print(GithubFailure(status));
  if (!options_.junit_file.empty()) {
    const Status written =
        WriteWhole(options_.junit_file, JUnitFailure(options_.golden_file, status));
    if (!written.ok()) context_.console.Note("--junit: " + written.message());
  }
  return status;
}

}  // namespace

Result<int> WriteGoldenReport(const GoldenReport& report, GoldenContext& context) {
  const GoldenOptions& options = context.options;
  if (!options.junit_file.empty()) {
    VT_RETURN_IF_ERROR(WriteWhole(options.junit_file, JUnitText(report)).Annotate("--junit"));
  }
  if (options.github) context.console.Print(GithubText(report));
  const std::string text = ReportText(report) + report.more_text;
  if (!GoldenJsonWanted(options)) {
    VT_RETURN_IF_ERROR(context.console.Write(text));
  } else {
    JsonWriter json;
    json.BeginObject().Field("schema", kGoldenReportSchema);
    WriteTool(json);
    WriteReportBody(report, json);
    VT_RETURN_IF_ERROR(context.console.WriteLine(json.EndObject().Take()));
    if (!options.quiet) context.console.Print(text);
  }
  for (const std::string& note : report.notes) context.console.Note(note);
  return ExitCodeOf(report);
}

Result<int> RunGoldenCheck(GoldenContext& context) { return CheckRun(context).Run(); }

}  // namespace vt::cli
