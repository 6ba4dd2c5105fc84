#include "cli/dump_prompts.h"

#include <optional>
#include <vector>

#include "base/json_writer.h"
#include "cli/model_prompts.h"
#include "cli/prompt_items.h"

namespace vt::cli {
namespace {

JsonWriter LineStart(const PromptItem& item) {
  JsonWriter json;
  json.BeginObject();
  if (!item.id.empty()) json.Key("id").Raw(item.id);
  return json;
}

std::string TokensLine(const PromptItem& item, const std::vector<TokenId>& tokens,
                       const Tokenizer* tokenizer) {
  JsonWriter json = LineStart(item);
  json.Key("tokens").BeginArray();
  for (const TokenId id : tokens) json.Value(id);
  json.EndArray().Key("pieces");
  if (!tokenizer) return json.Null().EndObject().Take();
  json.BeginArray();
  for (const TokenId id : tokens) json.Value(tokenizer->Piece(id, true));
  return json.EndArray().EndObject().Take();
}

std::string ErrorLine(const PromptItem& item, const Status& status) {
  JsonWriter json = LineStart(item);
  json.Key("error").BeginObject().Field("code", CodeName(status.code()));
  json.Field("message", status.message()).Key("at");
  if (status.at().empty()) {
    json.Null();
  } else {
    json.Value(status.at());
  }
  return json.EndObject().EndObject().Take();
}

class PromptDump {
 public:
  PromptDump(const RunOptions& options, const OpenedModel* model, const PromptMaker& maker)
      : options_(options), model_(model), maker_(maker) {}

  // What is to be written for the prompt.
  Result<std::string> Dump(const PromptItem& item) const {
    if (!item.error.ok()) return item.error;
    if (options_.mode == kDumpTokens) {
      VT_ASSIGN_OR_RETURN(const std::vector<TokenId> tokens, maker_.Tokens(item));
      return TokensLine(item, tokens, model_->tokenizer ? &*model_->tokenizer : nullptr) + "\n";
    }
    VT_ASSIGN_OR_RETURN(std::string text, maker_.Text(item));
    if (!options_.jsonl) return text;
    JsonWriter json = LineStart(item);
    return json.Field("prompt", text).EndObject().Take() + "\n";
  }

 private:
  const RunOptions& options_;
  const OpenedModel* model_;
  const PromptMaker& maker_;
};

}  // namespace

Result<int> DumpPrompts(const RunOptions& options, Console& console,
                        const std::atomic<bool>& interrupted) {
  VT_ASSIGN_OR_RETURN(const RunInput input, ReadRunInput(options, interrupted));
  std::optional<OpenedModel> model;
  if (!options.model.empty()) {
    VT_ASSIGN_OR_RETURN(model, OpenModel(options.model, false));
  }
  const OpenedModel* opened = model ? &*model : nullptr;
  VT_ASSIGN_OR_RETURN(const PromptMaker maker, PromptMaker::Make(options, input, opened));
  const PromptDump dump(options, opened, maker);
  int code = 0;
  for (const PromptItem& item : input.items) {
    if (interrupted) return Status(Code::kInterrupted, "interrupted");
    Result<std::string> text = dump.Dump(item);
    if (!text.ok()) {
      Status status = text.status();
      if (!options.jsonl) return status;
      if (item.error.ok()) {
        status = Status(status.code(),
                        "line " + std::to_string(item.line) + ": " + status.message(), status.at());
      }
      console.Print("vt-run: error: " + status.message() + "\n");
      text = ErrorLine(item, status) + "\n";
      code = ExitCode(Code::kInvalid);
    }
    VT_RETURN_IF_ERROR(console.Write(*text));
  }
  return code;
}

}  // namespace vt::cli
