#include "cli/prompt_items.h"

#include <unistd.h>

#include <algorithm>

#include "base/json.h"
#include "cli/conversation.h"

namespace vt::cli {
namespace {

using nlohmann::ordered_json;

PromptItem NewItem(const RunOptions& options) {
  PromptItem item;
  item.max_tokens = options.max_tokens;
  item.sampler = options.sampler;
  item.stop = options.stop;
  return item;
}

// What --tools and --system add to every conversation.
Result<Conversation> ConversationDefaults(const RunOptions& options,
                                          const std::atomic<bool>& interrupted) {
  Conversation defaults;
  if (options.system) {
    defaults.messages.push_back({{"role", "system"}, {"content", *options.system}});
  }
  if (options.tools_file.empty()) return defaults;
  VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(options.tools_file, interrupted));
  Result<ordered_json> tools = ParseJson(text);
  if (!tools.ok()) return tools.status().Annotate(options.tools_file);
  Status status = CheckTools(*tools, "");
  if (!status.ok()) return status.Annotate(options.tools_file);
  defaults.tools = std::move(*tools);
  return defaults;
}

std::shared_ptr<const Conversation> UserTurn(const Conversation& defaults,
                                             const std::string& text) {
  auto conversation = std::make_shared<Conversation>(defaults);
  conversation->messages.push_back({{"role", "user"}, {"content", text}});
  return conversation;
}

Result<std::string> ReadPromptText(const RunOptions& options,
                                   const std::atomic<bool>& interrupted) {
  if (options.prompt) return *options.prompt;
  if (!options.prompt_file.empty()) return ReadInput(options.prompt_file, interrupted);
  const std::string how = "give -p TEXT, -f FILE, --tokens IDS or --messages FILE";
  if (isatty(STDIN_FILENO)) {
    return InvalidError((options.jsonl ? "--jsonl: no input: stdin is a terminal; give -f FILE"
                                       : "no prompt given: stdin is a terminal; " + how));
  }
  VT_ASSIGN_OR_RETURN(std::string text, ReadInput("-", interrupted));
  if (text.empty() && !options.jsonl) {
    return InvalidError("no prompt given: stdin is empty; " + how);
  }
  return text;
}

// JSON strings of a conversation hold UTF-8 only.
Status CheckChatText(std::string_view text, std::string_view what) {
  if (ValidUtf8(text) == text) return Status();
  return InvalidError(std::string(what) + ": is not UTF-8, which a chat template needs");
}

Result<std::vector<PromptItem>> ReadLines(const RunOptions& options, const Conversation& defaults,
                                          const std::atomic<bool>& interrupted) {
  VT_ASSIGN_OR_RETURN(const std::string text, ReadPromptText(options, interrupted));
  std::vector<PromptItem> items;
  std::string_view rest = text;
  for (std::size_t line = 1; !rest.empty(); ++line) {
    const std::string_view one = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    items.push_back(ParsePromptLine(one, line, options, defaults));
  }
  return items;
}

Result<std::shared_ptr<const Conversation>> ReadConversation(const RunOptions& options,
                                                             const Conversation& defaults,
                                                             const std::atomic<bool>& interrupted) {
  const std::string& path = options.messages_file;
  VT_ASSIGN_OR_RETURN(const std::string text, ReadInput(path, interrupted));
  Result<Conversation> conversation = ParseConversation(text);
  if (!conversation.ok()) return conversation.status().Annotate(path);
  if (!defaults.tools.is_null()) {
    if (!conversation->tools.is_null()) {
      return InvalidError("--tools: " + path + " has tools of its own; leave one of them out");
    }
    conversation->tools = defaults.tools;
  }
  return std::shared_ptr<const Conversation>(
      std::make_shared<Conversation>(std::move(*conversation)));
}

Result<PromptItem> ReadOnlyPrompt(const RunOptions& options, const Conversation& defaults,
                                  const std::atomic<bool>& interrupted) {
  PromptItem item = NewItem(options);
  if (options.tokens) {
    item.tokens = options.tokens;
  } else if (!options.messages_file.empty()) {
    VT_ASSIGN_OR_RETURN(item.conversation, ReadConversation(options, defaults, interrupted));
  } else {
    VT_ASSIGN_OR_RETURN(std::string text, ReadPromptText(options, interrupted));
    if (options.chat) {
      VT_RETURN_IF_ERROR(CheckChatText(text, "prompt"));
      item.conversation = UserTurn(defaults, text);
    } else {
      item.text = std::move(text);
    }
  }
  return item;
}

}  // namespace

Result<RunInput> ReadRunInput(const RunOptions& options, const std::atomic<bool>& interrupted) {
  RunInput input;
  VT_RETURN_IF_ERROR(CheckChatText(options.system.value_or(""), "--system"));
  VT_RETURN_IF_ERROR(CheckChatText(options.bos_text.value_or(""), "--bos-token"));
  VT_RETURN_IF_ERROR(CheckChatText(options.eos_text.value_or(""), "--eos-token"));
  if (!options.chat_template_file.empty()) {
    VT_ASSIGN_OR_RETURN(input.chat_template, ReadInput(options.chat_template_file, interrupted));
  }
  VT_ASSIGN_OR_RETURN(const Conversation defaults, ConversationDefaults(options, interrupted));
  if (options.jsonl) {
    VT_ASSIGN_OR_RETURN(input.items, ReadLines(options, defaults, interrupted));
  } else {
    VT_ASSIGN_OR_RETURN(PromptItem item, ReadOnlyPrompt(options, defaults, interrupted));
    input.items.push_back(std::move(item));
  }
  return input;
}

}  // namespace vt::cli
