// Prompts against a model's vocabulary: which text, which tokens, and whether they can run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/conversation.h"
#include "cli/prompt_items.h"
#include "cli/run_options.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/status.h"
#include "vt/tokenizer.h"

namespace vt::cli {

// A model file as far as its header goes.
struct OpenedModel {
  GgufFile file;
  std::optional<ModelSpec> spec;       // when it was asked for
  std::optional<Tokenizer> tokenizer;  // absent: `no_tokenizer` says why
  Status no_tokenizer;
};
// A tokenizer that is unsupported is no failure; one that is damaged is.
Result<OpenedModel> OpenModel(const std::string& path, bool with_spec);

// Makes text and tokens of prompts. Holds on to what it was made of.
class PromptMaker {
 public:
  // `model` may be null where only templates are rendered. Parses the chat template when one of the
  // prompts needs it: kInvalid when there is none or it does not parse.
  static Result<PromptMaker> Make(const RunOptions& options, const RunInput& input,
                                  const OpenedModel* model);

  // The prompt as text: of a conversation, what the template makes of it. kInvalid for token ids.
  Result<std::string> Text(const PromptItem& item) const;
  // The prompt as tokens, each in the vocabulary. None at all is kInvalid when generating.
  Result<std::vector<TokenId>> Tokens(const PromptItem& item) const;

 private:
  PromptMaker(const RunOptions& options, const OpenedModel* model)
      : options_(&options), model_(model) {}
  Result<std::vector<TokenId>> Encode(const PromptItem& item) const;

  const RunOptions* options_;
  const OpenedModel* model_;
  std::optional<ChatRenderer> renderer_;
};

// kInvalid with both numbers when the prompt is longer than the context.
Status CheckContext(std::size_t prompt_tokens, std::int64_t context, const ModelSpec& spec);

}  // namespace vt::cli
