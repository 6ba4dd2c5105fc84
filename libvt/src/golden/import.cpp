#include "golden/import.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "golden/json_read.h"

namespace vt {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kKeptOfDense = 40;
constexpr double kUnlikely = -9999;  // how OpenAI writes "below the list"

// Token texts to ids.
class TokenTexts {
 public:
  explicit TokenTexts(const Tokenizer* tokenizer) : tokenizer_(tokenizer) {}

  const Tokenizer* tokenizer() const { return tokenizer_; }

  // "token_id:123" (vLLM's return_tokens_as_token_ids) needs no tokenizer.
  Result<TokenId> Id(const std::string& text, const std::string& at) {
    constexpr std::string_view kPrefix = "token_id:";
    if (text.starts_with(kPrefix)) {
      TokenId id = 0;
      for (const char c : text.substr(kPrefix.size())) {
        if (c < '0' || c > '9' || id > (std::numeric_limits<TokenId>::max() - 9) / 10) {
          return JsonError(at, "\"" + ValidUtf8(text) + "\" names no token id");
        }
        id = id * 10 + (c - '0');
      }
      return id;
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
      return JsonError(at, "no token of the model has the text \"" + ValidUtf8(text) + "\"");
    }
    return found->second;
  }

 private:
  const Tokenizer* tokenizer_;
  std::map<std::string, TokenId, std::less<>> ids_;
};

// One answer on its way to a case.
struct Answer {
  const ordered_json& response;
  const ordered_json* request;  // may be null
  std::string at;               // of the response
  TokenTexts& texts;
  GoldenCase golden;
};

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

// The prompt, of the response or of the request: ids where one of them has any (a server may repeat
// ids that it was given as a text), else text.
Status TakePrompt(Answer* answer) {
  constexpr const char* kKeys[] = {"prompt_token_ids", "prompt_tokens", "input_ids", "prompt"};
  for (const bool want_ids : {true, false}) {
    for (const ordered_json* from : {&answer->response, answer->request}) {
      for (const char* key : kKeys) {
        const ordered_json* value = from ? Find(*from, key) : nullptr;
        if (!value) continue;
        if (value->is_array() && value->size() == 1 && IsIds((*value)[0])) value = &(*value)[0];
        if (want_ids && IsIds(*value)) {
          VT_ASSIGN_OR_RETURN(answer->golden.prompt, Ids(*value, Below(answer->at, key)));
          return {};
        }
        if (want_ids || !value->is_string()) continue;
        answer->golden.prompt_text = value->get<std::string>();
        if (!answer->texts.tokenizer()) {
          return JsonError(Below(answer->at, key),
                           "the prompt is text; give --model, whose tokenizer makes its ids");
        }
        answer->golden.prompt = answer->texts.tokenizer()->Encode(*answer->golden.prompt_text);
        return {};
      }
    }
  }
  return JsonError(answer->at,
                   "has no prompt (prompt_token_ids, prompt_tokens, input_ids or prompt, in the "
                   "response or in a \"request\" beside it)");
}

// Sorts and keeps what is likely; the margin is that of the first two.
Status FinishRow(GoldenRow* row, const std::string& at) {
  std::erase_if(row->top, [](const auto& entry) { return entry.second <= kUnlikely; });
  std::stable_sort(row->top.begin(), row->top.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::pair<TokenId, double>> unique;
  for (const auto& entry : row->top) {
    const bool seen = std::any_of(unique.begin(), unique.end(),
                                  [&](const auto& one) { return one.first == entry.first; });
    if (!seen) unique.push_back(entry);
  }
  row->top = std::move(unique);
  if (row->top.empty()) return JsonError(at, "has no log-probabilities");
  return {};
}

// The row that chose the next token of the answer.
Status AddChoice(Answer* answer, TokenId id, GoldenRow row, const std::string& at) {
  GoldenCase& golden = answer->golden;
  VT_RETURN_IF_ERROR(FinishRow(&row, at));
  const auto chosen = std::find_if(row.top.begin(), row.top.end(),
                                   [&](const auto& entry) { return entry.first == id; });
  if (chosen == row.top.end() || chosen->second < row.top[0].second) {
    return JsonError(at, "token " + std::to_string(id) +
                             " was chosen, but it is not the likeliest: the answer was sampled; "
                             "make it with temperature 0");
  }
  std::rotate(row.top.begin(), chosen, chosen + 1);  // first among equals
  golden.generated.push_back(id);
  golden.margins.push_back(row.top.size() > 1 ? row.top[0].second - row.top[1].second : NAN);
  golden.generated_rows.push_back(std::move(row));
  return {};
}

Result<double> LogProb(const ordered_json& from, const std::string& at) {
  const ordered_json* value = Find(from, "logprob");
  if (!value || !value->is_number()) return JsonError(Below(at, "logprob"), "must be a number");
  return value->get<double>();
}

// {"id"?, "token", "bytes"?, "logprob"} of llama-server and OpenAI's chat completions.
Result<std::pair<TokenId, double>> ReadTokenLogprob(Answer* answer, const ordered_json& from,
                                                    const std::string& at) {
  VT_ASSIGN_OR_RETURN(const double logprob, LogProb(from, at));
  if (const ordered_json* id = Find(from, "id")) {
    if (!IsTokenId(*id)) return JsonError(Below(at, "id"), "must be a token id");
    return std::pair(id->get<TokenId>(), logprob);
  }
  std::string text;
  const ordered_json* bytes = Find(from, "bytes");
  if (bytes && IsIds(*bytes)) {
    for (const ordered_json& byte : *bytes) text.push_back(static_cast<char>(byte.get<int>()));
  } else {
    VT_ASSIGN_OR_RETURN(text, StringOf(from, "token", at));
  }
  VT_ASSIGN_OR_RETURN(const TokenId id, answer->texts.Id(text, at));
  return std::pair(id, logprob);
}

// An array of the above, each with its "top_logprobs".
Status TakeTokenLogprobs(Answer* answer, const ordered_json& list, const std::string& at) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string here = Below(at, i);
    if (Find(list[i], "top_probs") || Find(list[i], "prob")) {
      return JsonError(here,
                       "holds probabilities after sampling; ask for log-probabilities "
                       "(post_sampling_probs false)");
    }
    VT_ASSIGN_OR_RETURN(const auto chosen, ReadTokenLogprob(answer, list[i], here));
    GoldenRow row;
    row.top.push_back(chosen);
    VT_ASSIGN_OR_RETURN(const ordered_json* top, ArrayOf(list[i], "top_logprobs", here));
    for (std::size_t k = 0; k < top->size(); ++k) {
      VT_ASSIGN_OR_RETURN(
          const auto entry,
          ReadTokenLogprob(answer, (*top)[k], Below(Below(here, "top_logprobs"), k)));
      row.top.push_back(entry);
    }
    VT_RETURN_IF_ERROR(AddChoice(answer, chosen.first, std::move(row), here));
  }
  return {};
}

Status TakeLlamaServer(Answer* answer) {
  VT_ASSIGN_OR_RETURN(const ordered_json* list,
                      ArrayOf(answer->response, "completion_probabilities", answer->at));
  return TakeTokenLogprobs(answer, *list, Below(answer->at, "completion_probabilities"));
}

Result<const ordered_json*> FirstOf(const ordered_json& from, const char* key,
                                    const std::string& at) {
  VT_ASSIGN_OR_RETURN(const ordered_json* list, ArrayOf(from, key, at));
  if (list->size() != 1) {
    return JsonError(Below(at, key), "must have one entry (" + std::to_string(list->size()) +
                                         " given); ask for one answer");
  }
  return &(*list)[0];
}

// {"tokens", "token_logprobs", "top_logprobs": [{text: logprob}]} of OpenAI's completions.
Status TakeLegacyLogprobs(Answer* answer, const ordered_json& from, const std::string& at) {
  VT_ASSIGN_OR_RETURN(const ordered_json* tokens, ArrayOf(from, "tokens", at));
  VT_ASSIGN_OR_RETURN(const ordered_json* logprobs, ArrayOf(from, "token_logprobs", at));
  VT_ASSIGN_OR_RETURN(const ordered_json* tops, ArrayOf(from, "top_logprobs", at));
  if (tokens->size() != logprobs->size() || tokens->size() != tops->size()) {
    return JsonError(at, "tokens, token_logprobs and top_logprobs differ in length");
  }
  for (std::size_t i = 0; i < tokens->size(); ++i) {
    const std::string here = Below(Below(at, "top_logprobs"), i);
    if (!(*tokens)[i].is_string() || !(*logprobs)[i].is_number() || !(*tops)[i].is_object()) {
      return JsonError(here, "must have a token, its log-probability and an object of others");
    }
    VT_ASSIGN_OR_RETURN(const TokenId id, answer->texts.Id((*tokens)[i].get<std::string>(), here));
    GoldenRow row;
    row.top.emplace_back(id, (*logprobs)[i].get<double>());
    for (const auto& [text, value] : (*tops)[i].items()) {
      if (!value.is_number()) return JsonError(Below(here, text), "must be a number");
      VT_ASSIGN_OR_RETURN(const TokenId other, answer->texts.Id(text, here));
      row.top.emplace_back(other, value.get<double>());
    }
    VT_RETURN_IF_ERROR(AddChoice(answer, id, std::move(row), here));
  }
  return {};
}

Status TakeOpenAi(Answer* answer) {
  VT_ASSIGN_OR_RETURN(const ordered_json* choice, FirstOf(answer->response, "choices", answer->at));
  const std::string at = answer->at + "/choices/0";
  const ordered_json* logprobs = Find(*choice, "logprobs");
  if (!logprobs) return JsonError(Below(at, "logprobs"), "is missing; ask for logprobs");
  const std::string here = Below(at, "logprobs");
  if (const ordered_json* content = Find(*logprobs, "content")) {
    return TakeTokenLogprobs(answer, *content, Below(here, "content"));
  }
  return TakeLegacyLogprobs(answer, *logprobs, here);
}

// {"id": {"logprob", "rank", "decoded_token"}} of vLLM, or {"id": logprob}.
Result<GoldenRow> ReadVllmRow(const ordered_json& from, const std::string& at) {
  if (!from.is_object()) return JsonError(at, "must be an object of token ids");
  GoldenRow row;
  for (const auto& [key, value] : from.items()) {
    TokenId id = 0;
    const bool digits =
        !key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) return JsonError(Below(at, key), "is no token id");
    id = static_cast<TokenId>(std::stol(key));
    double logprob = 0;
    if (value.is_number()) {
      logprob = value.get<double>();
    } else {
      VT_ASSIGN_OR_RETURN(logprob, LogProb(value, Below(at, key)));
    }
    row.top.emplace_back(id, logprob);
  }
  VT_RETURN_IF_ERROR(FinishRow(&row, at));
  return row;
}

// Rows of the prompt: entry i says what came at token i, so it is the row after token i - 1.
Status TakePromptLogprobs(Answer* answer, const ordered_json& list, const std::string& at) {
  GoldenCase& golden = answer->golden;
  if (!list.is_array() || list.size() != golden.prompt.size()) {
    return JsonError(at, "must have an entry for each of the " +
                             std::to_string(golden.prompt.size()) + " prompt tokens");
  }
  if (golden.generated_rows.empty()) return {};  // nothing says what follows the last token
  std::vector<GoldenRow> rows;
  for (std::size_t i = 1; i < list.size(); ++i) {
    VT_ASSIGN_OR_RETURN(GoldenRow row, ReadVllmRow(list[i], Below(at, i)));
    rows.push_back(std::move(row));
  }
  rows.push_back(std::move(golden.generated_rows.front()));
  golden.generated_rows.erase(golden.generated_rows.begin());
  golden.rows = std::move(rows);
  return {};
}

Status TakeVllm(Answer* answer) {
  const bool offline = Find(answer->response, "outputs") != nullptr;  // RequestOutput as JSON
  const char* key = offline ? "outputs" : "choices";
  VT_ASSIGN_OR_RETURN(const ordered_json* choice, FirstOf(answer->response, key, answer->at));
  const std::string at = Below(Below(answer->at, key), 0);
  const ordered_json* logprobs = Find(*choice, "logprobs");
  if (!logprobs) return JsonError(Below(at, "logprobs"), "is missing; ask for logprobs");
  const std::string here = Below(at, "logprobs");
  if (logprobs->is_array()) {
    VT_ASSIGN_OR_RETURN(const ordered_json* list, ArrayOf(*choice, "token_ids", at));
    VT_ASSIGN_OR_RETURN(const std::vector<TokenId> ids, Ids(*list, Below(at, "token_ids")));
    if (ids.size() != logprobs->size()) {
      return JsonError(here, "has " + std::to_string(logprobs->size()) + " entries for " +
                                 std::to_string(ids.size()) + " tokens");
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      VT_ASSIGN_OR_RETURN(GoldenRow row, ReadVllmRow((*logprobs)[i], Below(here, i)));
      VT_RETURN_IF_ERROR(AddChoice(answer, ids[i], std::move(row), Below(here, i)));
    }
  } else if (const ordered_json* content = Find(*logprobs, "content")) {
    VT_RETURN_IF_ERROR(TakeTokenLogprobs(answer, *content, Below(here, "content")));
  } else {
    VT_RETURN_IF_ERROR(TakeLegacyLogprobs(answer, *logprobs, here));
  }
  for (const auto& [from, place] : {std::pair(&answer->response, answer->at), {choice, at}}) {
    if (const ordered_json* list = Find(*from, "prompt_logprobs")) {
      return TakePromptLogprobs(answer, *list, Below(place, "prompt_logprobs"));
    }
  }
  return {};
}

Result<GoldenRow> ReadScores(const ordered_json& from, const std::string& at) {
  const ordered_json& list =
      from.is_array() && from.size() == 1 && from[0].is_array() ? from[0] : from;
  std::vector<float> logits;
  if (!list.is_array() || list.empty()) return JsonError(at, "must be an array of logits");
  for (const ordered_json& value : list) {
    if (!value.is_number()) return JsonError(at, "must hold numbers alone");
    logits.push_back(value.get<float>());
  }
  return TopRow(logits, kKeptOfDense);
}

Status TakeHf(Answer* answer) {
  GoldenCase& golden = answer->golden;
  VT_ASSIGN_OR_RETURN(const ordered_json* sequences,
                      ArrayOf(answer->response, "sequences", answer->at));
  const std::string at = Below(answer->at, "sequences");
  const ordered_json& first =
      sequences->size() == 1 && (*sequences)[0].is_array() ? (*sequences)[0] : *sequences;
  VT_ASSIGN_OR_RETURN(const std::vector<TokenId> ids, Ids(first, at));
  if (ids.size() < golden.prompt.size() ||
      !std::equal(golden.prompt.begin(), golden.prompt.end(), ids.begin())) {
    return JsonError(at, "does not begin with the prompt's tokens");
  }
  const char* key = Find(answer->response, "logits") ? "logits" : "scores";
  VT_ASSIGN_OR_RETURN(const ordered_json* rows, ArrayOf(answer->response, key, answer->at));
  const std::string here = Below(answer->at, key);
  if (rows->size() != ids.size() - golden.prompt.size()) {
    return JsonError(here, "has " + std::to_string(rows->size()) + " rows for " +
                               std::to_string(ids.size() - golden.prompt.size()) +
                               " generated tokens");
  }
  for (std::size_t i = 0; i < rows->size(); ++i) {
    VT_ASSIGN_OR_RETURN(GoldenRow row, ReadScores((*rows)[i], Below(here, i)));
    VT_RETURN_IF_ERROR(
        AddChoice(answer, ids[golden.prompt.size() + i], std::move(row), Below(here, i)));
  }
  return {};
}

// One answer, an array, or one a line.
Result<ordered_json> ReadAnswers(std::string_view text) {
  Result<ordered_json> whole = ParseJsonWithByte(text);
  if (whole.ok()) return whole->is_array() ? *whole : ordered_json::array({*whole});
  ordered_json list = ordered_json::array();
  std::size_t line = 0;
  while (!text.empty()) {
    ++line;
    const std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    Result<ordered_json> value = ParseJson(one);
    // A text that does not even begin with a line of its own is one broken document.
    if (!value.ok()) {
      return list.empty() ? whole.status()
                          : value.status().Annotate("line " + std::to_string(line));
    }
    list.push_back(std::move(*value));
  }
  return list;
}

}  // namespace

Result<Golden> ImportGolden(std::string_view form, std::string_view text,
                            const Tokenizer* tokenizer) {
  const std::map<std::string_view, Status (*)(Answer*)> forms = {{"llama-server", TakeLlamaServer},
                                                                 {"vllm", TakeVllm},
                                                                 {"openai-logprobs", TakeOpenAi},
                                                                 {"hf", TakeHf}};
  const auto take = forms.find(form);
  if (take == forms.end()) return InvalidError("\"" + ValidUtf8(form) + "\" is no known form");
  VT_ASSIGN_OR_RETURN(const ordered_json answers, ReadAnswers(text));
  if (answers.empty()) return InvalidError("holds no answer");
  TokenTexts texts(tokenizer);
  Golden golden;
  golden.oracle.name = std::string(form);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const ordered_json& one = answers[i];
    std::string at = answers.size() == 1 ? "" : Below("", i);
    if (!one.is_object()) return JsonError(at, "an answer must be an object");
    const ordered_json* wrapped = Find(one, "response");
    if (wrapped) at = Below(at, "response");
    Answer answer{wrapped ? *wrapped : one, Find(one, "request"), at, texts, {}};
    const ordered_json* name = Find(one, "name");
    answer.golden.name =
        name && name->is_string() ? name->get<std::string>() : "answer-" + std::to_string(i + 1);
    VT_RETURN_IF_ERROR(TakePrompt(&answer));
    VT_RETURN_IF_ERROR(take->second(&answer));
    if (answer.golden.prompt.empty()) return JsonError(at, "the prompt has no tokens");
    if (answer.golden.generated.empty()) return JsonError(at, "the answer has no tokens");
    golden.cases.push_back(std::move(answer.golden));
  }
  return golden;
}

}  // namespace vt
