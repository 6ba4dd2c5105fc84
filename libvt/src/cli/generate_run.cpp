#include "cli/generate_run.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/whole_file.h"
#include "cli/draft_option.h"
#include "cli/grammar_option.h"
#include "cli/kernel_report.h"
#include "cli/logits_file.h"
#include "cli/model_prompts.h"
#include "cli/plan_option.h"
#include "cli/run_records.h"
#include "cli/run_settings.h"
#include "cli/sim_device.h"
#include "cli/version.h"
#include "place/overhead.h"
#include "plan/memory_plan.h"
#include "vt/dtype.h"
#include "vt/engine.h"
#include "vt/generate.h"

namespace vt::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t NsSince(Clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

Status Interrupted(const char* when) {
  return Status(Code::kInterrupted, std::string("interrupted ") + when);
}

class GenerateRun {
 public:
  GenerateRun(RunOptions* options, std::span<const Flag> table, Console& console)
      : options_(*options),
        table_(table),
        console_(console),
        interrupted_(console.interrupted_flag()) {}

  // The exit code of a run that got to its end, or why it did not.
  Result<int> Run();

 private:
  Status ChooseContext();
  Status MakeRequests();
  Status CheckRequest(const GenerationRequest& request) const;
  Result<EngineOptions> MakeEngineOptions() const;
  Status Load();
  Status Generate();
  GenerationHooks MakeHooks();
  Status OnToken(std::size_t request, const GeneratedToken& token);
  Status OnEnd(std::size_t request, const GenerationResult& result);
  Status WriteFinishedLines();
  Status WriteCalibration() const;
  Result<int> Finish();
  Status FinishLines();
  void ReportToPeople() const;
  int ReportBadLines();

  bool text_mode() const { return !options_.json && !options_.jsonl; }
  bool has_text() const { return model_->tokenizer.has_value(); }
  ResultForm form() const { return {has_text(), draft_.drafter() != nullptr}; }

  RunOptions& options_;
  std::span<const Flag> table_;
  Console& console_;
  const std::atomic<bool>& interrupted_;
  Clock::time_point started_ = Clock::now();
  RunTimes times_;

  RunInput input_;
  std::optional<Grammar> grammar_;
  std::optional<PlanDocument> plan_;
  std::optional<OpenedModel> model_;
  std::vector<GenerationRequest> requests_;
  std::vector<std::size_t> item_of_request_;  // index into input_.items
  std::unique_ptr<Engine> engine_;
  DraftOption draft_;
  std::optional<LogitsFile> logits_file_;

  std::vector<GenerationResult> results_;  // by request
  std::size_t tokens_written_ = 0;         // of the only prompt
  bool ends_with_newline_ = true;
  std::vector<std::vector<GeneratedToken>> logprobs_;  // by request, with --jsonl --logprobs
  std::map<std::size_t, std::string> finished_lines_;  // item -> record, waiting for its turn
  std::size_t next_line_ = 0;                          // item
};

Status GenerateRun::ChooseContext() {
  const std::uint64_t trained = model_->spec->context_train;
  if (options_.context == 0) {
    const std::uint64_t context = DefaultContext(*model_->spec);
    options_.context = static_cast<std::int64_t>(context);
    if (context < kDefaultContext) options_.origins["ctx"] = "model";
  } else if (trained > 0 && static_cast<std::uint64_t>(options_.context) > trained) {
    console_.Note("--ctx " + std::to_string(options_.context) + " is more than the " +
                  std::to_string(trained) + " positions the model was trained on");
  }
  if (options_.jsonl && options_.sequences == 0) {
    constexpr std::size_t kMost = 4;
    options_.sequences =
        static_cast<std::int64_t>(std::clamp<std::size_t>(input_.items.size(), 1, kMost));
    options_.origins["sequences"] = "input";
  } else if (options_.sequences == 0) {
    options_.sequences = 1;
  }
  return Status();
}

Status GenerateRun::CheckRequest(const GenerationRequest& request) const {
  VT_RETURN_IF_ERROR(CheckContext(request.prompt.size(), options_.context, *model_->spec));
  VT_RETURN_IF_ERROR(CheckSamplerOptions(request.sampler, model_->spec->vocab));
  if (!request.stop.empty() && !has_text()) {
    return InvalidError("stop texts need a tokenizer: " + model_->no_tokenizer.message());
  }
  if (request.grammar && !has_text()) {
    return InvalidError("a grammar needs a tokenizer: " + model_->no_tokenizer.message());
  }
  return Status();
}

Status GenerateRun::MakeRequests() {
  VT_ASSIGN_OR_RETURN(const PromptMaker maker, PromptMaker::Make(options_, input_, &*model_));
  for (std::size_t i = 0; i < input_.items.size(); ++i) {
    PromptItem& item = input_.items[i];
    if (interrupted_) return Interrupted("before the load");
    if (!item.error.ok()) continue;
    GenerationRequest request;
    Result<std::vector<TokenId>> tokens = maker.Tokens(item);
    Status status = tokens.status();
    if (status.ok()) {
      request.prompt = std::move(*tokens);
      request.max_tokens = item.max_tokens;
      request.sampler = item.sampler;
      request.stop = item.stop;
      request.grammar = grammar_;
      request.logprobs = static_cast<std::size_t>(options_.logprobs);
      request.prompt_logits = !options_.dump_logits.empty();
      request.starts_text = item.text && item.text->empty();
      if (has_text()) {
        for (const auto& end : model_->tokenizer->facts().end_tokens) {
          request.end_tokens.push_back(end.id);
        }
      }
      status = CheckRequest(request);
    }
    if (status.ok()) {
      requests_.push_back(std::move(request));
      item_of_request_.push_back(i);
    } else if (options_.jsonl) {
      item.error =
          Status(status.code(), "line " + std::to_string(item.line) + ": " + status.message(),
                 status.at());
    } else {
      return status;
    }
  }
  if (options_.logprobs > model_->spec->vocab) {
    return InvalidError("--logprobs: " + std::to_string(options_.logprobs) +
                        " is more than the vocabulary has (" + std::to_string(model_->spec->vocab) +
                        ")");
  }
  return Status();
}

Result<EngineOptions> GenerateRun::MakeEngineOptions() const {
  EngineOptions engine;
  engine.device = options_.device;
  VT_ASSIGN_OR_RETURN(engine.sims, ReadSimDevices(options_.sim_files, interrupted_));
  engine.context = static_cast<std::uint64_t>(options_.context);
  engine.sequences = options_.sequences;
  engine.ubatch = options_.ubatch;
  if (!options_.dump_logits.empty()) {
    engine.logit_rows = std::min<std::int64_t>(
        options_.ubatch, static_cast<std::int64_t>(requests_.front().prompt.size()));
  }
  if (options_.draft) {
    const std::int64_t rows = engine.logit_rows;
    AllowGuesses(options_.draft_max, &engine);
    engine.logit_rows = std::max(engine.logit_rows, rows);
  }
  engine.kv_type = FindDType(options_.kv_type)->type;
  engine.threads = static_cast<int>(options_.threads);
  engine.exact = options_.exact;
  engine.check = options_.check;
  engine.prefix_reuse = options_.prefix_reuse;
  engine.isa = options_.isa;
  engine.lowest_tier = options_.tier;
  engine.forced_kernels = options_.kernels;
  if (plan_) {
    VT_RETURN_IF_ERROR(
        BindPlanOption(model_->file, *model_->spec, *plan_, options_.force, &engine));
  }
  return engine;
}

Status GenerateRun::Load() {
  const Clock::time_point start = Clock::now();
  LoadControl control;
  control.cancel = &interrupted_;
  control.progress = [this](std::uint64_t done, std::uint64_t total) {
    console_.Progress("loading", done, total);
  };
  VT_ASSIGN_OR_RETURN(const EngineOptions engine_options, MakeEngineOptions());
  VT_ASSIGN_OR_RETURN(engine_, Engine::Load(model_->file, *model_->spec, engine_options, control));
  VT_RETURN_IF_ERROR(draft_.Load(options_, *engine_, control));
  console_.ClearProgress();
  times_.load_ns = NsSince(start);
  if (options_.threads == 0) {
    options_.threads = engine_->options().threads;
    options_.origins["threads"] = "machine";
  }
  return Status();
}

Status GenerateRun::OnToken(std::size_t request, const GeneratedToken& token) {
  if (options_.jsonl) {
    if (options_.logprobs > 0 && token.id != kNoToken) logprobs_[request].push_back(token);
    return Status();
  }
  const std::size_t index = tokens_written_++;
  if (options_.json) {
    return console_.WriteLine(TokenRecord(index, token, has_text(), options_.logprobs > 0));
  }
  if (!has_text()) {
    ends_with_newline_ = false;
    return console_.Write((index == 0 ? "" : " ") + std::to_string(token.id));
  }
  if (token.text.empty()) return Status();
  ends_with_newline_ = token.text.ends_with('\n');
  return console_.Write(token.text);
}

Status GenerateRun::WriteFinishedLines() {
  for (; next_line_ < input_.items.size(); ++next_line_) {
    const PromptItem& item = input_.items[next_line_];
    if (!item.error.ok()) {
      VT_RETURN_IF_ERROR(console_.WriteLine(ErrorResultRecord(next_line_, item)));
      continue;
    }
    const auto finished = finished_lines_.find(next_line_);
    if (finished == finished_lines_.end()) return Status();
    VT_RETURN_IF_ERROR(console_.WriteLine(std::move(finished->second)));
    finished_lines_.erase(finished);
  }
  return Status();
}

Status GenerateRun::OnEnd(std::size_t request, const GenerationResult& result) {
  if (!options_.jsonl) return Status();
  const std::size_t index = item_of_request_[request];
  finished_lines_[index] = ResultRecord(index, input_.items[index], result, form(),
                                        options_.logprobs > 0 ? &logprobs_[request] : nullptr);
  if (options_.logprobs > 0) logprobs_[request] = {};
  return WriteFinishedLines();
}

GenerationHooks GenerateRun::MakeHooks() {
  GenerationHooks hooks;
  hooks.on_token = [this](std::size_t request, const GeneratedToken& token) {
    return OnToken(request, token);
  };
  hooks.on_end = [this](std::size_t request, const GenerationResult& result) {
    return OnEnd(request, result);
  };
  if (logits_file_) {
    hooks.on_prompt_logits = [this](std::size_t, std::size_t position,
                                    std::span<const float> logits) {
      return logits_file_->Write(position, logits);
    };
  }
  if (!options_.jsonl) {
    hooks.on_prompt_progress = [this](std::size_t, std::size_t done, std::size_t total) {
      if (done < total) {
        console_.Progress("prompt ", done, total);
      } else {
        console_.ClearProgress();
      }
    };
  }
  return hooks;
}

Status GenerateRun::Generate() {
  if (options_.json) {
    const GenerationRequest* prompt = options_.jsonl ? nullptr : &requests_.front();
    VT_RETURN_IF_ERROR(console_.WriteLine(StartRecord(options_, table_, *model_, draft_.model(),
                                                      *engine_, prompt, input_.items.size())));
  }
  if (options_.jsonl) {
    logprobs_.resize(requests_.size());
    VT_RETURN_IF_ERROR(WriteFinishedLines());
  }
  VT_ASSIGN_OR_RETURN(results_,
                      vt::Generate(*engine_, has_text() ? &*model_->tokenizer : nullptr, requests_,
                                   MakeHooks(), &interrupted_, draft_.drafter()));
  console_.ClearProgress();
  return Status();
}

void GenerateRun::ReportToPeople() const {
  if (options_.explain) console_.Print(KernelReport(*engine_, options_));
  if (options_.explain && draft_.engine()) {
    console_.Print("draft model's " + KernelReport(*draft_.engine(), options_));
  }
  if (options_.measure) {
    console_.Print(MemoryReport(MemoryOf(*engine_, draft_.engine()), MeasureResidentMemory()));
  }
  if (options_.quiet) return;
  std::size_t prompt_tokens = 0, reused = 0, generated = 0, steps = 0, drafted = 0, accepted = 0;
  std::uint64_t prompt_ns = 0, decode_ns = 0;
  for (const GenerationResult& result : results_) {
    prompt_tokens += result.prompt_tokens;
    reused += result.reused_tokens;
    generated += result.tokens.size();
    steps += result.steps;
    drafted += result.drafted;
    accepted += result.accepted;
    prompt_ns += result.prompt_ns;
    decode_ns += result.decode_ns;
  }
  char line[256];
  if (options_.jsonl) {
    const double seconds = static_cast<double>(times_.total_ns - times_.load_ns) * 1e-9;
    std::snprintf(
        line, sizeof line,
        "vt-run: prompts: %zu, %zu prompt tokens (%zu reused), %zu tokens generated, %.2f s"
        " after the load\n",
        results_.size(), prompt_tokens, reused, generated, seconds);
  } else {
    const std::size_t after_first = generated == 0 ? 0 : generated - 1;
    std::snprintf(line, sizeof line,
                  "vt-run: prompt %zu tokens, %.1f tok/s; generated %zu tokens, %.1f tok/s; stop: "
                  "%.*s\n",
                  prompt_tokens, Rate(prompt_tokens - reused, prompt_ns).value_or(0), generated,
                  Rate(after_first, decode_ns).value_or(0),
                  static_cast<int>(NameOf(results_.front().stop).size()),
                  NameOf(results_.front().stop).data());
  }
  console_.Print(line);
  if (draft_.drafter()) {
    std::snprintf(line, sizeof line, "vt-run: drafts: %zu of %zu guesses accepted, %zu steps\n",
                  accepted, drafted, steps);
    console_.Print(line);
  }
  const auto unfinished =
      std::count_if(results_.begin(), results_.end(),
                    [](const GenerationResult& result) { return result.grammar_unfinished; });
  if (unfinished > 0) {
    console_.Note(
        (options_.jsonl ? std::to_string(unfinished) + " answers end" : "the answer ends") +
        std::string(" before the grammar does; raise --max-tokens or --ctx"));
  }
  if (const std::string note = ReferenceNote(*engine_); !note.empty()) console_.Note(note);
  if (!draft_.engine()) return;
  if (const std::string note = ReferenceNote(*draft_.engine()); !note.empty()) {
    console_.Note("draft model: " + note);
  }
}

// Records of prompts that an interruption kept from ending by themselves.
Status GenerateRun::FinishLines() {
  for (std::size_t request = 0; request < results_.size(); ++request) {
    const std::size_t index = item_of_request_[request];
    if (index < next_line_ || finished_lines_.contains(index)) continue;
    VT_RETURN_IF_ERROR(OnEnd(request, results_[request]));
  }
  return WriteFinishedLines();
}

// What the process holds beyond the rows of the plan is the host's runtime. Simulated devices are
// memory of the same process.
Status GenerateRun::WriteCalibration() const {
  const ResidentMemory resident = MeasureResidentMemory();
  std::uint64_t planned = 0;
  for (const MemoryRow& row : MemoryOf(*engine_, draft_.engine())) planned += row.allocated_bytes;
  CalibratedDevice host;
  host.id = std::string(kHostDevice);
  host.name = ProbeCpu().name;
  host.runtime_bytes = resident.peak_bytes - std::min(resident.peak_bytes, planned);
  host.header_bytes = HeaderBytes(model_->file);
  JsonWriter json;
  json.BeginObject().Field("schema", kCalibrationSchema);
  WriteTool(json);
  json.Field("model", model_->file.shards().front().path);
  WriteCalibratedDevices(json, {host});
  return WriteWhole(options_.calibrate_file, json.EndObject().Take() + "\n")
      .Annotate("--calibrate");
}

Result<int> GenerateRun::Finish() {
  if (options_.jsonl) VT_RETURN_IF_ERROR(FinishLines());
  if (text_mode() && !ends_with_newline_) VT_RETURN_IF_ERROR(console_.Write("\n"));
  times_.total_ns = NsSince(started_);
  if (options_.json) {
    const std::optional<ResidentMemory> resident =
        options_.measure ? std::optional(MeasureResidentMemory()) : std::nullopt;
    VT_RETURN_IF_ERROR(
        console_.WriteLine(EndRecord(options_.jsonl ? nullptr : &results_.front(), form(), times_,
                                     *engine_, draft_.engine(), resident ? &*resident : nullptr)));
  }
  ReportToPeople();
  if (!options_.calibrate_file.empty()) VT_RETURN_IF_ERROR(WriteCalibration());
  const bool cut_short = std::any_of(results_.begin(), results_.end(), [](const auto& result) {
    return result.stop == StopReason::kInterrupted;
  });
  if (cut_short) {
    // The records, or the text so far, are out; people get the reason.
    if (!options_.quiet) console_.Print("vt-run: interrupted; the output ends early\n");
    return ExitCode(Code::kInterrupted);
  }
  return ReportBadLines();
}

int GenerateRun::ReportBadLines() {
  int code = 0;
  for (const PromptItem& item : input_.items) {
    if (item.error.ok()) continue;
    console_.Print("vt-run: error: " + item.error.message() + "\n");
    code = ExitCode(Code::kInvalid);
  }
  return code;
}

Result<int> GenerateRun::Run() {
  if (!options_.plan.empty()) {
    VT_ASSIGN_OR_RETURN(plan_, ReadPlanOption(&options_, interrupted_));
  }
  if (!options_.calibrate_file.empty()) {
    VT_RETURN_IF_ERROR(CheckWritable(options_.calibrate_file).Annotate("--calibrate"));
  }
  VT_ASSIGN_OR_RETURN(input_, ReadRunInput(options_, interrupted_));
  VT_ASSIGN_OR_RETURN(grammar_, ReadGrammar(options_, interrupted_));
  VT_ASSIGN_OR_RETURN(model_, OpenModel(options_.model, true));
  VT_ASSIGN_OR_RETURN(draft_, DraftOption::Open(&options_, *model_));
  VT_RETURN_IF_ERROR(ChooseContext());
  VT_RETURN_IF_ERROR(MakeRequests());
  if (!options_.dump_logits.empty()) {
    VT_ASSIGN_OR_RETURN(LogitsFile file,
                        LogitsFile::Create(options_.dump_logits, requests_.front().prompt.size()));
    logits_file_.emplace(std::move(file));
  }
  if (options_.jsonl && requests_.empty() && !options_.json) {
    VT_RETURN_IF_ERROR(WriteFinishedLines());
    return ReportBadLines();
  }
  VT_RETURN_IF_ERROR(Load());
  if (text_mode() && !has_text()) {
    console_.Note("token ids instead of text: " + model_->no_tokenizer.message());
  }
  VT_RETURN_IF_ERROR(Generate());
  return Finish();
}

}  // namespace

Result<int> RunGenerate(RunOptions* options, std::span<const Flag> table, Console& console) {
  return GenerateRun(options, table, console).Run();
}

}  // namespace vt::cli
