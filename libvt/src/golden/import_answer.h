// One answer of another program on its way to a case of a golden: what the forms share.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "golden/golden.h"
#include "golden/import.h"
#include "vt/status.h"
#include "vt/tokenizer.h"

namespace vt {

inline constexpr std::string_view kAskForIds = "ask for ids (return_tokens_as_token_ids of vLLM)";

// Token texts to ids.
class TokenTexts {
 public:
  explicit TokenTexts(const Tokenizer* tokenizer) : tokenizer_(tokenizer) {}

  const Tokenizer* tokenizer() const { return tokenizer_; }

  // The lowest id of a text. "token_id:123" (vLLM's return_tokens_as_token_ids) needs no tokenizer.
  Result<TokenId> Id(const std::string& text, const std::string& at);
  // Whether the text names an id itself.
  static bool NamesId(std::string_view text) { return text.starts_with(kIdPrefix); }

 private:
  static constexpr std::string_view kIdPrefix = "token_id:";
  const Tokenizer* tokenizer_;
  std::map<std::string, TokenId, std::less<>> ids_;
};

struct Answer {
  const nlohmann::ordered_json& response;
  const nlohmann::ordered_json* request;  // may be null
  std::string at;                         // of the response
  // Which of the request's prompts and of the response's choices; `count` of 1: there is one.
  std::size_t index = 0, count = 1;
  TokenTexts& texts;
  const ConversationTokens& conversation;
  GoldenCase golden;
};

// A member that is there and not null.
const nlohmann::ordered_json* Find(const nlohmann::ordered_json& from, const char* key);
bool IsIds(const nlohmann::ordered_json& value);
Result<std::vector<TokenId>> Ids(const nlohmann::ordered_json& value, const std::string& at);

// How many prompts the request has; 1 where it does not say.
std::size_t PromptCount(const nlohmann::ordered_json* request);
// The prompt, of the response or of the request: ids where one of them has any (a server may repeat
// ids that it was given as a text), else the request's text or messages, else the response's text.
Status TakePrompt(Answer* answer);
// kInvalid where the program counted other tokens than the prompt has now.
Status CheckPromptCount(const Answer& answer);

// Puts the likeliest first, each once, and drops what is only "unlikely".
Status FinishRow(GoldenRow* row, const std::string& at);
// The row that chose the next token of the answer.
Status AddChoice(Answer* answer, TokenId id, GoldenRow row, const std::string& at);
Result<double> LogProb(const nlohmann::ordered_json& from, const std::string& at);

// [{"id"?, "token", "bytes"?, "logprob", "top_logprobs": [the same]}] of chat completions and
// llama-server. `ids` names the chosen tokens where the program does; null: the entries do.
Status TakeTokenLogprobs(Answer* answer, const nlohmann::ordered_json& list,
                         const std::vector<TokenId>* ids, const std::string& at);
// {"tokens", "token_logprobs", "top_logprobs": [{text: logprob}]} of completions. An echo of the
// prompt, whose first token has a null, makes the prompt's rows.
Status TakeLegacyLogprobs(Answer* answer, const nlohmann::ordered_json& from,
                          const std::vector<TokenId>* ids, const std::string& at);
// Rows of the prompt, the first after its first token and one fewer than it has tokens. The row
// that chose the first token of the answer becomes the last of them.
void TakePromptRows(Answer* answer, std::vector<GoldenRow> rows);

// The forms.
Status TakeLlamaServer(Answer* answer);
Status TakeOpenAi(Answer* answer);
Status TakeVllm(Answer* answer);
Status TakeHf(Answer* answer);

}  // namespace vt
