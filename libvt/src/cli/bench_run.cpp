// vt-bench run: from flags to a record.
#include "bench/bench_run.h"

#include <unistd.h>

#include <algorithm>

#include "base/json.h"
#include "base/whole_file.h"
#include "bench/bench_export.h"
#include "bench/bench_page.h"
#include "cli/bench_commands.h"
#include "cli/bench_device.h"
#include "cli/bench_golden.h"
#include "cli/model_prompts.h"
#include "cli/plan_option.h"
#include "cli/version.h"

namespace vt::cli {
namespace {

enum class Form { kAuto, kTable, kJson, kMarkdown, kCsv, kLlamaBench, kSvg, kHtml };

struct Options {
  BenchSettings settings;
  BenchOutput output;
  std::string model, plan, kv_type = "f16", golden, sysroot;
  std::int64_t threads = 0, seed = 1, quiet_wait_s = 0;
  bool strict = false;
  Form form = Form::kAuto;
};

constexpr std::int64_t kMostTokens = 1 << 24;

Flag FormFlag(std::string_view name, Options* o, Form form) {
  Flag row = BenchRow(name, "", "");
  row.apply = [=](std::string_view) {
    if (o->form != Form::kAuto && o->form != form) {
      return InvalidError("contradicts another form of output; ask for one");
    }
    o->form = form;
    return Status();
  };
  return row;
}

std::vector<Flag> Table(Options* o) {
  BenchSettings& s = o->settings;
  EngineOptions& e = s.engine;
  std::vector<Flag> t;
  t.push_back(NameFlag(WithLetter('m', BenchRow("model", "FILE", "GGUF file")), &o->model));
  t.push_back(IntegerFlag(WithLetter('p', BenchRow("prompt", "N", "tokens of a prompt; 0: none")),
                          &s.prompt, 0, kMostTokens));
  t.push_back(IntegerFlag(WithLetter('n', BenchRow("gen", "N", "tokens to decode; 0: none")),
                          &s.gen, 0, kMostTokens));
  t.push_back(BenchCountsFlag(
      WithLetter('d', BenchRow("depths", "N,N,..", "tokens that stand before, untimed")), &s.depths,
      0, kMostTokens));
  t.push_back(
      BenchCountsFlag(WithLetter('b', BenchRow("batches", "N,N,..", "sequences decoded at once")),
                      &s.batches, 1, 4096));
  t.push_back(IntegerFlag(
      WithLetter('r', BenchRow("reps", "N", "samples of each test, after one for warmth")),
      &s.repetitions, 1, 10000));
  t.push_back(IntegerFlag(BenchRow("seed", "N", "of the random tokens"), &o->seed, 0));
  t.push_back(
      NameFlag(BenchRow("prompt-file", "FILE", "text instead of random tokens"), &s.prompt_file));
  t.push_back(KvTypeFlag(BenchRow("kv-type", "TYPE", "f32, f16, bf16 or q8_0"), &o->kv_type));
  t.push_back(IntegerFlag(BenchRow("threads", "N", "0: one per core"), &o->threads, 0, 1024));
  t.push_back(
      IntegerFlag(BenchRow("ubatch", "N", "most tokens of one step"), &e.ubatch, 1, 1 << 20));
  t.push_back(NameFlag(BenchRow("device", "ID", "a device that vt-caps lists"), &e.device));
  t.push_back(
      NameFlag(BenchRow("plan", "FILE", "devices and settings as vt-place planned"), &o->plan));
  t.push_back(IsaFlag(BenchRow("isa", "ISA", "scalar, avx2, avx512, avx512vnni at most"), &e.isa));
  t.push_back(KernelsFlag(BenchRow("kernel", "OP=NAME", "force a kernel; may be repeated"),
                          &e.forced_kernels));
  t.push_back(SwitchFlag(BenchRow("exact", "", "weights decoded, f32 throughout"), &e.exact));
  t.push_back(ChoiceFlag(BenchRow("tier", "TIER", "void below: native or composed"), &s.tier,
                         {"native", "composed", "reference"}));
  t.push_back(
      NameFlag(BenchRow("golden", "FILE", "void when the answers differ from it"), &o->golden));
  t.push_back(IntegerFlag(BenchRow("quiet-wait", "S", "seconds to wait for a quiet machine"),
                          &o->quiet_wait_s, 0, 86400));
  t.push_back(SwitchFlag(BenchRow("strict", "", "exit 1 when the record is void"), &o->strict));
  AddOutputFlags(t, &o->output, "also the record (JSON), kept as it grows");
  for (Flag& flag : t) {
    if (flag.name == "json") flag.doc = {};
  }
  t.push_back(FormFlag("table", o, Form::kTable));
  t.push_back(FormFlag("markdown", o, Form::kMarkdown));
  t.push_back(FormFlag("csv", o, Form::kCsv));
  t.push_back(FormFlag("llama-bench-json", o, Form::kLlamaBench));
  t.push_back(FormFlag("svg", o, Form::kSvg));
  t.push_back(FormFlag("html", o, Form::kHtml));
  t.push_back(NameFlag(BenchRow("sysroot", "DIR", ""), &o->sysroot));
  // Not in the help: it is for trying out comparisons.
  t.push_back(IntegerFlag(BenchRow("slow-down", "PERCENT", ""), &s.slow_down_percent, 0, 1000));
  return t;
}

std::string Rendered(const Options& options, const BenchRecord& record) {
  switch (options.form) {
    case Form::kTable:
      return BenchTable(record);
    case Form::kMarkdown:
      return BenchMarkdown(record);
    case Form::kCsv:
      return BenchCsv(record);
    case Form::kLlamaBench:
      return LlamaBenchJson(record) + "\n";
    case Form::kSvg:
      return BenchSvg(record);
    case Form::kHtml:
      return BenchHtml(record);
    case Form::kJson:
    case Form::kAuto:
      break;
  }
  return options.form == Form::kAuto && !options.output.json_wanted() ? BenchTable(record)
                                                                      : BenchJson(record) + "\n";
}

Status CheckOptions(const Options& options) {
  if (options.model.empty() && options.plan.empty()) {
    return InvalidError("--model: not given; write vt-bench run -m FILE");
  }
  if (options.settings.prompt == 0 && options.settings.gen == 0) {
    return InvalidError("--prompt 0 and --gen 0: nothing is left to measure");
  }
  if (options.output.json && options.form != Form::kAuto) {
    return InvalidError("--json contradicts another form of output; ask for one");
  }
  const EngineOptions& engine = options.settings.engine;
  if (!options.plan.empty() && (engine.device != "cpu" || engine.ubatch != EngineOptions().ubatch ||
                                engine.exact || options.threads != 0 || options.kv_type != "f16")) {
    return InvalidError(
        "--plan: settles device, threads, ubatch, KV type and exactness; leave their flags out");
  }
  VT_RETURN_IF_ERROR(CheckBenchDevice(options.settings.engine.device));
  if (options.settings.engine.exact && options.settings.engine.device != "cpu") {
    return InvalidError("--exact: is of the cpu; leave it or --device out");
  }
  return {};
}

Result<std::vector<TokenId>> PromptOf(const Options& options, const OpenedModel& model,
                                      const std::atomic<bool>& interrupted) {
  if (options.settings.prompt_file.empty()) return std::vector<TokenId>();
  VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(options.settings.prompt_file, interrupted));
  if (!model.tokenizer) return model.no_tokenizer;
  std::vector<TokenId> tokens = model.tokenizer->Encode(text);
  if (tokens.empty()) {
    return InvalidError("--prompt-file " + ValidUtf8(options.settings.prompt_file) +
                        ": has no tokens; give some text");
  }
  return tokens;
}

// What the plan settles; the rest is the benchmark's own.
Result<PlanDocument> ReadBenchPlan(const std::atomic<bool>& interrupted, Options* options) {
  RunOptions run;
  run.model = options->model;
  run.plan = options->plan;
  VT_ASSIGN_OR_RETURN(PlanDocument plan, ReadPlanOption(&run, interrupted));
  options->model = run.model;
  options->kv_type = run.kv_type;
  options->threads = run.threads;
  options->settings.engine.ubatch = run.ubatch;
  options->settings.engine.exact = run.exact;
  options->settings.engine.device = run.device;
  options->settings.plan_hash = plan.hash;
  return plan;
}

// Checks the plan as it stands, of which the benchmark takes the placement.
Status BindBenchPlan(const OpenedModel& model, const PlanDocument& plan, EngineOptions* engine) {
  EngineOptions whole = *engine;
  whole.context = plan.options.context;
  whole.sequences = plan.options.sequences;
  VT_RETURN_IF_ERROR(BindPlanOption(model.file, *model.spec, plan, false, &whole));
  engine->placement = whole.placement;
  return {};
}

}  // namespace

Result<int> BenchRunCommand(std::span<const std::string_view> args, Console& console) {
  Options options;
  const std::vector<Flag> table = Table(&options);
  VT_ASSIGN_OR_RETURN(
      const bool helped,
      ParseBenchFlags(
          args, table, "usage: vt-bench run -m FILE [flags]\n",
          "Output: --table, --json, --markdown, --csv, --llama-bench-json, --svg, --html\n",
          console));
  if (helped) return 0;
  VT_RETURN_IF_ERROR(CheckOptions(options));
  if (!options.output.file.empty()) VT_RETURN_IF_ERROR(CheckWritable(options.output.file));
  std::optional<PlanDocument> plan;
  if (!options.plan.empty()) {
    VT_ASSIGN_OR_RETURN(plan, ReadBenchPlan(console.interrupted_flag(), &options));
  }
  BenchRecord record;
  record.tool_version = ToolVersion();
  record.tool_commit = ToolCommit();
  record.settings = options.settings;
  record.settings.seed = static_cast<std::uint64_t>(options.seed);
  record.settings.quiet_wait_s = static_cast<double>(options.quiet_wait_s);
  record.settings.engine.threads = static_cast<int>(options.threads);
  record.settings.engine.kv_type = FindDType(options.kv_type)->type;

  VT_ASSIGN_OR_RETURN(const OpenedModel model, OpenModel(options.model, true));
  if (plan) VT_RETURN_IF_ERROR(BindBenchPlan(model, *plan, &record.settings.engine));
  BenchInput input{.file = &model.file,
                   .spec = &*model.spec,
                   .tokenizer = model.tokenizer ? &*model.tokenizer : nullptr,
                   .prompt = {}};
  VT_ASSIGN_OR_RETURN(input.prompt, PromptOf(options, model, console.interrupted_flag()));
  if (!options.golden.empty()) {
    record.golden_file = options.golden;
    VT_ASSIGN_OR_RETURN(record.golden_failure,
                        GoldenFailure(options.golden, model, record.settings.engine, console));
  }
  BenchHooks hooks;
  hooks.root = options.sysroot;
  hooks.cancel = &console.interrupted_flag();
  hooks.progress = [&](const std::string& label, std::uint64_t done, std::uint64_t total) {
    console.Progress(label, done, total);
  };
  const auto keep = [&](const BenchRecord& so_far) -> Status {
    if (options.output.file.empty()) return {};
    return WriteWhole(options.output.file, BenchJson(so_far) + "\n");
  };
  hooks.on_progress = keep;
  const Status status = RunBench(input, hooks, &record);
  console.ClearProgress();
  if (!status.ok() && record.results.empty()) return status;
  // What was measured is an answer, also when more was to come.
  VT_RETURN_IF_ERROR(keep(record));
  VT_RETURN_IF_ERROR(console.Write(Rendered(options, record)));
  if (!status.ok()) {
    console.Print("vt-bench: " + status.message() + "; the record is partial\n");
    return ExitCode(status.code());
  }
  for (const BenchVoid& one : record.voids) {
    const bool shown = options.form == Form::kTable || options.form == Form::kMarkdown;
    if (!shown) console.Note("void: " + one.code + ": " + one.message);
  }
  return options.strict && !record.voids.empty() ? 1 : 0;
}

}  // namespace vt::cli
