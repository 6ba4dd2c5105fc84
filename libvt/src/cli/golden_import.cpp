// vt-golden import: what another program answered, as a golden.
#include <memory>
#include <optional>

#include "base/json.h"
#include "cli/golden_commands.h"
#include "golden/import.h"
#include "golden/record.h"

namespace vt::cli {
namespace {

// The prompt that the model's chat template makes of a conversation.
Result<std::vector<TokenId>> TokensOf(std::string_view text, const RunOptions& options,
                                      const OpenedModel& model,
                                      const std::atomic<bool>& interrupted) {
  VT_ASSIGN_OR_RETURN(Conversation conversation, ParseConversation(text));
  RunInput input;
  if (!options.chat_template_file.empty()) {
    VT_ASSIGN_OR_RETURN(input.chat_template, ReadInput(options.chat_template_file, interrupted));
  }
  input.items.emplace_back();
  input.items[0].conversation = std::make_shared<const Conversation>(std::move(conversation));
  VT_ASSIGN_OR_RETURN(const PromptMaker maker, PromptMaker::Make(options, input, &model));
  return maker.Tokens(input.items[0]);
}

}  // namespace

Result<int> RunGoldenImport(GoldenContext& context) {
  const GoldenOptions& options = context.options;
  const std::string& path = options.files[0];
  VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(path, context.interrupted));
  std::optional<OpenedModel> model;
  if (!options.run.model.empty()) {
    VT_ASSIGN_OR_RETURN(model, OpenModel(options.run.model, true));
  }
  ConversationTokens conversation;
  if (model) {
    conversation = [&](std::string_view said) {
      return TokensOf(said, options.run, *model, context.interrupted);
    };
  }
  Result<Golden> golden =
      ImportGolden(options.from, text, model ? TokenizerOf(*model) : nullptr, conversation);
  if (!golden.ok()) {
    return golden.status().Annotate(path == "-" ? "stdin" : ValidUtf8(path));
  }
  if (model) {
    const Status ids = CheckGoldenIds(*golden, model->spec->vocab);
    if (!ids.ok()) return ids.Annotate(ValidUtf8(path));
    golden->model = DescribeModel(model->file, model->spec->vocab);
  } else {
    context.console.Note("without --model the golden names no model, and check compares none");
  }
  if (!options.oracle_version.empty()) golden->oracle.version = options.oracle_version;
  VT_RETURN_IF_ERROR(WriteGoldenFile(options.out, *golden, context.console));
  return 0;
}

}  // namespace vt::cli
