// What the subcommands of vt-golden share: files and engines.
#include "base/json.h"
#include "base/whole_file.h"
#include "cli/golden_commands.h"
#include "cli/plan_option.h"
#include "cli/run_settings.h"
#include "cli/sim_device.h"
#include "cli/version.h"
#include "vt/dtype.h"

namespace vt::cli {

Result<Golden> ReadGoldenFile(const std::string& path, const std::atomic<bool>& interrupted) {
  VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(path, interrupted));
  Result<Golden> golden = ParseGolden(text);
  if (!golden.ok()) return golden.status().Annotate(path == "-" ? "stdin" : ValidUtf8(path));
  return golden;
}

std::string GoldenDocument(const Golden& golden) {
  JsonWriter json;
  json.BeginObject().Field("schema", kGoldenSchema);
  WriteTool(json);
  WriteGoldenBody(golden, json);
  return json.EndObject().Take() + "\n";
}

Status WriteGoldenFile(const std::string& path, const Golden& golden, Console& console) {
  if (path == "-") return console.Write(GoldenDocument(golden));
  return WriteWhole(path, GoldenDocument(golden)).Annotate("--out");
}

Result<EngineOptions> GoldenEngineOptions(RunOptions run, const OpenedModel& model,
                                          const std::atomic<bool>& interrupted) {
  const ModelSpec& spec = *model.spec;
  std::optional<PlanDocument> plan;
  if (!run.plan.empty()) {
    VT_ASSIGN_OR_RETURN(plan, ReadPlanOption(&run, interrupted));
  }
  EngineOptions engine;
  engine.device = run.device;
  VT_ASSIGN_OR_RETURN(engine.sims, ReadSimDevices(run.sim_files, interrupted));
  engine.context = run.context > 0 ? static_cast<std::uint64_t>(run.context) : DefaultContext(spec);
  engine.ubatch = run.ubatch;
  engine.kv_type = FindDType(run.kv_type)->type;
  engine.threads = static_cast<int>(run.threads);
  engine.exact = run.exact;
  engine.prefix_reuse = false;
  engine.isa = run.isa;
  engine.lowest_tier = run.tier;
  engine.forced_kernels = run.kernels;
  if (plan) {
    VT_RETURN_IF_ERROR(BindPlanOption(model.file, spec, *plan, run.force, &engine));
  }
  return engine;
}

Result<std::unique_ptr<Engine>> LoadGoldenEngine(const OpenedModel& model,
                                                 const EngineOptions& options,
                                                 const GoldenContext& context) {
  LoadControl control;
  control.cancel = &context.interrupted;
  control.progress = [&](std::uint64_t done, std::uint64_t total) {
    context.console.Progress("loading", done, total);
  };
  Result<std::unique_ptr<Engine>> engine = Engine::Load(model.file, *model.spec, options, control);
  context.console.ClearProgress();
  return engine;
}

std::string EngineSettingsJson(const Engine& engine) {
  const EngineOptions& options = engine.options();
  JsonWriter json;
  json.BeginObject().Field("device", options.device).Field("device_name", engine.device().name);
  json.Field("ctx", options.context).Field("threads", options.threads);
  json.Field("ubatch", options.ubatch).Field("kv_type", NameOf(options.kv_type));
  json.Field("exact", options.exact).Key("isa");
  if (options.isa.empty()) {
    json.Null();
  } else {
    json.Value(options.isa);
  }
  json.Field("tier", options.lowest_tier).Key("kernels").BeginObject();
  for (const auto& [op, name] : options.forced_kernels) json.Field(op, name);
  return json.EndObject().EndObject().Take();
}

CheckWatch WatchOf(const GoldenContext& context, const char* label) {
  CheckWatch watch;
  watch.cancel = &context.interrupted;
  watch.progress = [&console = context.console, label](std::size_t done, std::size_t total) {
    if (done < total) {
      console.Progress(label, done, total);
    } else {
      console.ClearProgress();
    }
  };
  return watch;
}

const Tokenizer* TokenizerOf(const OpenedModel& model) {
  return model.tokenizer ? &*model.tokenizer : nullptr;
}

}  // namespace vt::cli
