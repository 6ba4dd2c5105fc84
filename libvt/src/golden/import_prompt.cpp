// Prompts of other programs' answers.
#include <algorithm>
#include <limits>

#include "base/json.h"
#include "golden/import_answer.h"
#include "golden/json_read.h"

namespace vt {

using nlohmann::ordered_json;

Result<TokenId> TokenTexts::Id(const std::string& text, const std::string& at) {
  if (NamesId(text)) {
    TokenId id = 0;
    for (const char c : text.substr(kIdPrefix.size())) {
      if (c < '0' || c > '9' || id > (std::numeric_limits<TokenId>::max() - 9) / 10) {
        return JsonError(at, "\"" + ValidUtf8(text) + "\" names no token id");
      }
      id = id * 10 + (c - '0');
    }
    return id;
  }
  if (text.empty()) {
    return JsonError(
        at, "the token's text is empty, as of a part of a character; " + std::string(kAskForIds));
  }
  if (!tokenizer_) {
    return JsonError(at, "the token is given as text; give --model, whose vocabulary has its id");
  }
  if (ids_.empty()) {
    for (TokenId id = 0; static_cast<std::uint64_t>(id) < tokenizer_->vocab_size(); ++id) {
      ids_.emplace(tokenizer_->Piece(id, true), id);  // the lowest id of a text
    }
  }
  const auto found = ids_.find(text);
  if (found == ids_.end()) {
    return JsonError(at, "no token of the model has the text \"" + ValidUtf8(text) + "\"; " +
                             std::string(kAskForIds));
  }
  return found->second;
}

const ordered_json* Find(const ordered_json& from, const char* key) {
  if (!from.is_object()) return nullptr;
  const auto found = from.find(key);
  return found == from.end() || found->is_null() ? nullptr : &*found;
}

bool IsIds(const ordered_json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), IsTokenId);
}

Result<std::vector<TokenId>> Ids(const ordered_json& value, const std::string& at) {
  if (!IsIds(value)) return JsonError(at, "must be an array of token ids");
  return value.get<std::vector<TokenId>>();
}

namespace {

bool HasTexts(const ordered_json& list) {
  return std::any_of(list.begin(), list.end(), [](const auto& one) { return one.is_string(); });
}
bool HasIds(const ordered_json& list) { return std::any_of(list.begin(), list.end(), IsTokenId); }

// Whether a prompt is several: texts, or lists of ids. Ids with texts between them (llama-server)
// are one.
bool IsSeveral(const ordered_json& prompt) {
  return prompt.is_array() && !prompt.empty() && !HasIds(prompt);
}

// The answer's own of a list of prompts; the value itself where it is one.
const ordered_json* OwnPrompt(const Answer& answer, const ordered_json* value) {
  if (!IsSeveral(*value)) return value;
  return answer.index < value->size() ? &(*value)[answer.index] : nullptr;
}

Result<std::vector<TokenId>> Encode(const Answer& answer, const std::string& text, bool begins,
                                    const std::string& at) {
  const Tokenizer* tokenizer = answer.texts.tokenizer();
  if (!tokenizer) {
    return JsonError(at, "the prompt is text; give --model, whose tokenizer makes its ids");
  }
  // These programs read special tokens in texts.
  return tokenizer->Encode(text, {.parse_special = true, .add_special = begins});
}

Result<std::vector<TokenId>> EncodeMixed(const Answer& answer, const ordered_json& parts,
                                         const std::string& at) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (IsTokenId(parts[i])) {
      ids.push_back(parts[i].get<TokenId>());
    } else if (parts[i].is_string()) {
      VT_ASSIGN_OR_RETURN(const std::vector<TokenId> more,
                          Encode(answer, parts[i].get<std::string>(), i == 0, Below(at, i)));
      ids.insert(ids.end(), more.begin(), more.end());
    } else {
      return JsonError(Below(at, i), "must be a token id or a text");
    }
  }
  return ids;
}

// The prompt as ids, where one of the documents has them.
bool TakePromptIds(Answer* answer) {
  const auto choices = answer->response.find("choices");
  const bool chooses =
      choices != answer->response.end() && choices->is_array() && answer->index < choices->size();
  const ordered_json* choice = chooses ? &(*choices)[answer->index] : nullptr;
  for (const ordered_json* from : {choice, &answer->response, answer->request}) {
    for (const char* key : {"prompt_token_ids", "prompt_tokens", "input_ids", "prompt"}) {
      const ordered_json* value = from ? Find(*from, key) : nullptr;
      if (value) value = OwnPrompt(*answer, value);
      if (!value || !IsIds(*value) || value->empty()) continue;
      answer->golden.prompt = value->get<std::vector<TokenId>>();
      return true;
    }
  }
  return false;
}

Status TakeConversation(Answer* answer, const ordered_json& messages) {
  const std::string at = "/request/messages";
  if (!answer->conversation) {
    return JsonError(at,
                     "the prompt is a conversation; give --model, whose template makes its ids");
  }
  ordered_json conversation = {{"messages", messages}};
  for (const char* key : {"tools", "chat_template_kwargs"}) {
    if (const ordered_json* value = Find(*answer->request, key)) conversation[key] = *value;
  }
  Result<std::vector<TokenId>> ids = answer->conversation(conversation.dump());
  if (!ids.ok()) return ids.status().Annotate("/request");
  answer->golden.prompt = std::move(*ids);
  return {};
}

}  // namespace

std::size_t PromptCount(const ordered_json* request) {
  const ordered_json* prompt = request ? Find(*request, "prompt") : nullptr;
  return prompt && IsSeveral(*prompt) ? prompt->size() : 1;
}

Status TakePrompt(Answer* answer) {
  if (TakePromptIds(answer)) return {};
  if (answer->request) {
    if (const ordered_json* messages = Find(*answer->request, "messages")) {
      return TakeConversation(answer, *messages);
    }
  }
  // The request before the response, whose text may show special tokens that were put in front.
  for (const auto& [from, place] :
       {std::pair(answer->request, std::string("/request")), {&answer->response, answer->at}}) {
    const ordered_json* value = from ? Find(*from, "prompt") : nullptr;
    if (value) value = OwnPrompt(*answer, value);
    const std::string at = Below(place, "prompt");
    if (value && value->is_string()) {
      answer->golden.prompt_text = value->get<std::string>();
      VT_ASSIGN_OR_RETURN(answer->golden.prompt,
                          Encode(*answer, *answer->golden.prompt_text, true, at));
      return {};
    }
    if (value && value->is_array() && HasTexts(*value)) {
      VT_ASSIGN_OR_RETURN(answer->golden.prompt, EncodeMixed(*answer, *value, at));
      return {};
    }
  }
  return JsonError(answer->at,
                   "has no prompt (prompt_token_ids, prompt_tokens, input_ids or prompt, in the "
                   "response or in a \"request\" beside it; there also messages)");
}

Status CheckPromptCount(const Answer& answer) {
  // Of several choices the count is of all.
  const ordered_json* usage = answer.count == 1 ? Find(answer.response, "usage") : nullptr;
  const ordered_json* count = usage ? Find(*usage, "prompt_tokens") : nullptr;
  std::string at = answer.at + "/usage/prompt_tokens";
  if (!count) {
    count = Find(answer.response, "tokens_evaluated");
    at = Below(answer.at, "tokens_evaluated");
  }
  if (!count || !IsTokenId(*count)) return {};
  const auto theirs = count->get<std::size_t>();
  if (theirs == answer.golden.prompt.size()) return {};
  return JsonError(at, "the program counted " + std::to_string(theirs) +
                           " tokens in the prompt, here it has " +
                           std::to_string(answer.golden.prompt.size()) +
                           ": another vocabulary or chat template, or another request; give the "
                           "prompt as ids (prompt_token_ids in the request)");
}

}  // namespace vt
