#include "cli/conversation.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "base/json.h"

namespace vt::cli {
namespace {

using nlohmann::ordered_json;

// Marks the place inside a user's text where a control token's text must not be read as one: a
// character of the private planes.
constexpr std::string_view kMark = "\xF4\x8F\xBF\xBD";  // U+10FFFD

void MarkControlTexts(std::string& text, const std::set<std::string, std::less<>>& control_texts) {
  std::array<bool, 256> starts = {};
  for (const std::string& control : control_texts) {
    starts[static_cast<unsigned char>(control[0])] = true;
  }
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::string_view rest = std::string_view(text).substr(at);
    const bool control =
        starts[static_cast<unsigned char>(rest[0])] &&
        std::any_of(control_texts.begin(), control_texts.end(),
                    [&](const std::string& candidate) { return rest.starts_with(candidate); });
    out.push_back(text[at++]);
    if (control) out.append(kMark);
  }
  text = std::move(out);
}

// The texts of a message that come from outside: its content, as a string or in parts.
void MarkMessage(ordered_json& message, const std::set<std::string, std::less<>>& control_texts) {
  const auto content = message.find("content");
  if (content == message.end()) return;
  if (content->is_string()) {
    MarkControlTexts(content->get_ref<std::string&>(), control_texts);
  } else if (content->is_array()) {
    for (ordered_json& part : *content) {
      if (!part.is_object()) continue;
      const auto text = part.find("text");
      if (text != part.end() && text->is_string()) {
        MarkControlTexts(text->get_ref<std::string&>(), control_texts);
      }
    }
  }
}

bool ComesFromOutside(const ordered_json& message) {
  const std::string& role = message.at("role").get_ref<const std::string&>();
  return role == "user" || role == "tool" || role == "function" || role == "ipython";
}

RenderedPrompt TakeMarksOut(const std::string& text) {
  RenderedPrompt prompt;
  std::size_t at = 0;
  for (std::size_t mark; (mark = text.find(kMark, at)) != std::string::npos;) {
    prompt.text.append(text, at, mark - at);
    prompt.literal_offsets.push_back(prompt.text.size());
    at = mark + kMark.size();
  }
  prompt.text.append(text, at);
  return prompt;
}

}  // namespace

Status CheckMessages(const ordered_json& messages, const std::string& pointer) {
  if (!messages.is_array()) {
    return JsonError(pointer,
                     std::string("messages must be an array (") + messages.type_name() + " given)");
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string at = pointer + "/" + std::to_string(i);
    if (!messages[i].is_object()) {
      return JsonError(
          at, std::string("a message must be an object (") + messages[i].type_name() + " given)");
    }
    const auto role = messages[i].find("role");
    if (role == messages[i].end() || !role->is_string()) {
      return JsonError(at + "/role", "a message needs a role, as in {\"role\": \"user\"}");
    }
  }
  return Status();
}

Status CheckTools(const ordered_json& tools, const std::string& pointer) {
  if (!tools.is_array()) {
    return JsonError(pointer,
                     std::string("tools must be an array (") + tools.type_name() + " given)");
  }
  return Status();
}

Result<Conversation> ParseConversation(std::string_view text) {
  VT_ASSIGN_OR_RETURN(ordered_json json, ParseJson(text));
  Conversation conversation;
  if (json.is_array()) {
    VT_RETURN_IF_ERROR(CheckMessages(json, ""));
    conversation.messages = std::move(json);
    return conversation;
  }
  if (!json.is_object() || !json.contains("messages")) {
    return JsonError("", "must be an array of messages, or an object with \"messages\"");
  }
  for (auto& [key, value] : json.items()) {
    const std::string at = "/" + key;
    if (key == "messages") {
      VT_RETURN_IF_ERROR(CheckMessages(value, at));
      conversation.messages = std::move(value);
    } else if (key == "tools") {
      VT_RETURN_IF_ERROR(CheckTools(value, at));
      conversation.tools = std::move(value);
    } else if (key == "chat_template_kwargs") {
      if (!value.is_object()) return JsonError(at, "must be an object");
      conversation.variables = std::move(value);
    } else {
      return JsonError(at, "unknown key (allowed: messages, tools, chat_template_kwargs)");
    }
  }
  return conversation;
}

Result<ChatRenderer> ChatRenderer::Make(std::string_view source, Options options) {
  VT_ASSIGN_OR_RETURN(ChatTemplate parsed, ChatTemplate::Parse(source));
  return ChatRenderer(std::move(parsed), std::move(options));
}

Result<RenderedPrompt> ChatRenderer::Render(const Conversation& conversation) const {
  ordered_json context = ordered_json::object();
  context["messages"] = conversation.messages;
  // Messages that hold the mark itself cannot be marked.
  const bool mark = !options_.control_texts.empty() &&
                    conversation.messages.dump().find(kMark) == std::string::npos;
  for (ordered_json& message : context["messages"]) {
    if (mark && ComesFromOutside(message)) MarkMessage(message, options_.control_texts);
  }
  if (!conversation.tools.is_null()) context["tools"] = conversation.tools;
  const ordered_json& messages = conversation.messages;
  context["add_generation_prompt"] = messages.empty() || messages.back()["role"] != "assistant";
  if (options_.bos_text) context["bos_token"] = *options_.bos_text;
  if (options_.eos_text) context["eos_token"] = *options_.eos_text;
  for (const auto& [key, value] : conversation.variables.items()) context[key] = value;
  RenderOptions render;
  render.now = options_.now;
  VT_ASSIGN_OR_RETURN(std::string text, template_.Render(context, render));
  return mark ? TakeMarksOut(text) : RenderedPrompt{std::move(text), {}};
}

std::int64_t LocalNow() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  return timegm(&local);
}

}  // namespace vt::cli
