// The prompts of a run, as the user gave them, before any model is opened.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/run_options.h"
#include "vt/sampler.h"
#include "vt/status.h"
#include "vt/tokenizer.h"

namespace vt::cli {

struct Conversation;

// One prompt in one of three forms, with its own settings.
struct PromptItem {
  std::size_t line = 0;  // of the --jsonl input, from 1; 0: the only prompt
  std::string id;        // the line's "id" as JSON text; empty: none
  Status error;          // what is wrong with the line; then the rest is unset

  std::optional<std::string> text;
  std::optional<std::vector<TokenId>> tokens;
  std::shared_ptr<const Conversation> conversation;

  std::int64_t max_tokens = 0;
  SamplerOptions sampler;
  std::vector<std::string> stop;
};

struct RunInput {
  std::vector<PromptItem> items;
  std::optional<std::string> chat_template;  // of --chat-template
};

// Reads all that the options name: flags, files, stdin. kInvalid and kNotFound (a --jsonl line that
// is wrong is an item with its error, and no failure).
Result<RunInput> ReadRunInput(const RunOptions& options, const std::atomic<bool>& interrupted);

// One line of --jsonl. `defaults` holds what --system and --tools add.
PromptItem ParsePromptLine(std::string_view text, std::size_t line, const RunOptions& options,
                           const Conversation& defaults);

}  // namespace vt::cli
