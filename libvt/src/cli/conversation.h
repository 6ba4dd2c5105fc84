// Conversations and the chat template that turns one into a prompt.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "vt/chat_template.h"
#include "vt/status.h"
#include "vt/tokenizer.h"

namespace vt::cli {

struct Conversation {
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  nlohmann::ordered_json tools;                                         // null: none
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();  // further ones
};

// `messages` as a conversation, after a check that it is an array of objects with a "role".
// Errors carry the JSON pointer, below `pointer`.
Status CheckMessages(const nlohmann::ordered_json& messages, const std::string& pointer);
Status CheckTools(const nlohmann::ordered_json& tools, const std::string& pointer);

// A conversation file: the array of messages, or an object with "messages" and perhaps "tools" and
// "chat_template_kwargs" (further variables of the template).
Result<Conversation> ParseConversation(std::string_view text);

// A prompt as the template wrote it.
struct RenderedPrompt {
  std::string text;
  // Byte offsets inside text that came from users and looks like a control token: no special token
  // may span one.
  std::vector<std::size_t> literal_offsets;
};

class ChatRenderer {
 public:
  struct Options {
    std::optional<std::string> bos_text;  // absent: the variable is undefined
    std::optional<std::string> eos_text;
    std::int64_t now = 0;
    // Texts of the control tokens, which a user's message must not be able to write.
    std::set<std::string, std::less<>> control_texts;  // none of them empty
  };
  // kInvalid: a template that does not parse.
  static Result<ChatRenderer> Make(std::string_view source, Options options);

  // The template sees messages, tools, bos_token, eos_token, the conversation's own variables and
  // add_generation_prompt: true, unless the last message is the assistant's.
  Result<RenderedPrompt> Render(const Conversation& conversation) const;

 private:
  ChatRenderer(ChatTemplate parsed, Options options)
      : template_(std::move(parsed)), options_(std::move(options)) {}
  ChatTemplate template_;
  Options options_;
};

// The local wall clock as seconds since 1970, as if it were UTC: what strftime_now() shows.
std::int64_t LocalNow();

}  // namespace vt::cli
