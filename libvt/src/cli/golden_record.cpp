// vt-golden record: prompts in, a golden out.
#include <set>

#include "cli/golden_commands.h"
#include "cli/prompt_items.h"
#include "cli/version.h"
#include "golden/record.h"

namespace vt::cli {
namespace {

Status CheckGreedy(const PromptItem& item) {
  const SamplerOptions& s = item.sampler;
  if (s.temperature != 0) {
    return InvalidError("/temperature: a golden is greedy; leave it out");
  }
  if (s.repeat_penalty != 1 || s.presence_penalty != 0 || s.frequency_penalty != 0 ||
      !s.logit_bias.empty()) {
    return InvalidError(
        "a golden is greedy over the model's own logits; leave penalties and "
        "logit_bias out");
  }
  if (!item.stop.empty()) return InvalidError("/stop: a golden has no stop texts; leave it out");
  if (item.max_tokens < 0) return InvalidError("/max_tokens: a golden needs a number of tokens");
  return {};
}

// The name of a case: the line's "id".
std::string NameOfItem(const PromptItem& item) {
  if (item.id.empty()) return "line-" + std::to_string(item.line);
  if (item.id.front() == '"') {
    const auto text = nlohmann::json::parse(item.id, nullptr, false);
    if (text.is_string()) return text.get<std::string>();
  }
  return item.id;
}

Result<RecordPrompt> MakePrompt(const PromptItem& item, const PromptMaker& maker,
                                std::int64_t context, const ModelSpec& spec) {
  VT_RETURN_IF_ERROR(item.error);
  VT_RETURN_IF_ERROR(CheckGreedy(item));
  RecordPrompt prompt;
  prompt.name = NameOfItem(item);
  prompt.max_tokens = static_cast<std::size_t>(item.max_tokens);
  if (!item.tokens) {
    VT_ASSIGN_OR_RETURN(prompt.text, maker.Text(item));
  }
  VT_ASSIGN_OR_RETURN(prompt.tokens, maker.Tokens(item));
  const std::size_t needed = prompt.tokens.size() + prompt.max_tokens;
  VT_RETURN_IF_ERROR(CheckContext(needed, context, spec));
  return prompt;
}

// Null when none are asked for.
Result<std::unique_ptr<CheckpointRecorder>> CheckpointsFor(const GoldenOptions& options,
                                                           const ModelSpec& spec) {
  if (!options.checkpoints) return std::unique_ptr<CheckpointRecorder>();
  const auto count = static_cast<int>(spec.layers.size());
  for (const int layer : options.checkpoint_layers) {
    if (layer < count) continue;
    return InvalidError("--checkpoints: the model has no layer " + std::to_string(layer) +
                        " (allowed: 0 to " + std::to_string(count - 1) + ")");
  }
  return std::make_unique<CheckpointRecorder>(options.checkpoint_layers, spec.width);
}

}  // namespace

Result<int> RunGoldenRecord(GoldenContext& context) {
  GoldenOptions& options = context.options;
  VT_ASSIGN_OR_RETURN(const RunInput input, ReadRunInput(options.run, context.interrupted));
  if (input.items.empty()) {
    return InvalidError(ValidUtf8(options.run.prompt_file) + ": has no prompts");
  }
  VT_ASSIGN_OR_RETURN(const OpenedModel model, OpenModel(options.run.model, true));
  VT_ASSIGN_OR_RETURN(const PromptMaker maker, PromptMaker::Make(options.run, input, &model));
  VT_ASSIGN_OR_RETURN(EngineOptions engine_options,
                      GoldenEngineOptions(options.run, model, context.interrupted));
  engine_options.logit_rows = std::min<std::int64_t>(16, engine_options.ubatch);
  std::vector<RecordPrompt> prompts;
  std::set<std::string> names;
  for (const PromptItem& item : input.items) {
    Result<RecordPrompt> prompt =
        MakePrompt(item, maker, static_cast<std::int64_t>(engine_options.context), *model.spec);
    if (!prompt.ok()) {
      const std::string line = "line " + std::to_string(item.line);
      return prompt.status().message().starts_with(line) ? prompt.status()
                                                         : prompt.status().Annotate(line);
    }
    if (!names.insert(prompt->name).second) {
      return InvalidError("line " + std::to_string(item.line) + ": the id \"" +
                          ValidUtf8(prompt->name) + "\" is given twice; it names the case");
    }
    prompts.push_back(std::move(*prompt));
  }
  VT_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointRecorder> checkpoints,
                      CheckpointsFor(options, *model.spec));
  if (checkpoints) engine_options.on_op = checkpoints->Hook();
  VT_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine,
                      LoadGoldenEngine(model, engine_options, context));
  RecordOptions record;
  record.checkpoints = checkpoints.get();
  record.top_k = static_cast<std::size_t>(options.top_k);
  if (model.tokenizer) {
    for (const auto& end : model.tokenizer->facts().end_tokens) record.end_tokens.push_back(end.id);
  }
  Golden golden;
  VT_ASSIGN_OR_RETURN(golden.cases,
                      RecordCases(*engine, prompts, record, WatchOf(context, "recording")));
  golden.model = DescribeModel(model.file, model.spec->vocab);
  golden.oracle.name = "vt";
  golden.oracle.version = std::string(ToolVersion()) + " (" + std::string(ToolCommit()) + ")";
  golden.oracle.settings =
      options.run.exact ? "weights decoded, f32 throughout" : "as vt-run by default";
  golden.settings_json = EngineSettingsJson(*engine);
  VT_RETURN_IF_ERROR(WriteGoldenFile(options.out, golden, context.console));
  if (!options.quiet && options.out != "-") {
    std::size_t tokens = 0;
    for (const GoldenCase& one : golden.cases) tokens += one.generated.size();
    context.console.Print(ValidUtf8(options.out) + ": " + std::to_string(golden.cases.size()) +
                          " cases, " + std::to_string(tokens) + " tokens recorded\n");
  }
  return 0;
}

}  // namespace vt::cli
