// What each program calls what.
#include <algorithm>

#include "base/json.h"
#include "golden/import_answer.h"
#include "golden/json_read.h"

namespace vt {

using nlohmann::ordered_json;

namespace {

constexpr std::size_t kKeptOfDense = 40;

// The choice of the answer's index below `key`, and its place.
Result<std::pair<const ordered_json*, std::string>> ChoiceOf(const Answer& answer,
                                                             const char* key) {
  VT_ASSIGN_OR_RETURN(const ordered_json* list, ArrayOf(answer.response, key, answer.at));
  if (list->size() != answer.count) {
    return JsonError(Below(answer.at, key), "must have one entry for each prompt (" +
                                                std::to_string(list->size()) + " given, " +
                                                std::to_string(answer.count) +
                                                " expected); ask for one answer (n 1)");
  }
  const std::string at = Below(Below(answer.at, key), answer.index);
  const ordered_json& choice = (*list)[answer.index];
  const ordered_json* index = Find(choice, "index");
  if (index && *index != answer.index) {
    return JsonError(Below(at, "index"), "must be " + std::to_string(answer.index) +
                                             ": the choices are in the order of the prompts");
  }
  return std::pair(&choice, at);
}

Status CheckOnePrompt(const Answer& answer) {
  if (answer.count == 1) return {};
  return JsonError(answer.at, "is one answer to " + std::to_string(answer.count) + " prompts");
}

// llama-server has one entry for each piece of text that it sent: tokens that end inside a
// character have none of their own, nor have those of a stop text.
Status CheckEveryToken(const ordered_json& list, const ordered_json* count, const std::string& at) {
  if (!count || !IsTokenId(*count) || list.size() == count->get<std::size_t>()) return {};
  return JsonError(at, "has " + std::to_string(list.size()) + " entries for " +
                           std::to_string(count->get<std::size_t>()) +
                           " tokens: none for tokens that end inside a character or belong to a "
                           "stop text; ask for fewer tokens, or with another prompt");
}

// The logprobs of a choice in either of OpenAI's forms.
Status TakeChoice(Answer* answer, const ordered_json& choice, const std::string& at) {
  const ordered_json* logprobs = Find(choice, "logprobs");
  if (!logprobs) return JsonError(Below(at, "logprobs"), "is missing; ask for logprobs");
  const std::string here = Below(at, "logprobs");
  std::vector<TokenId> ids;
  const ordered_json* given = Find(choice, "token_ids");
  if (given) {
    VT_ASSIGN_OR_RETURN(ids, Ids(*given, Below(at, "token_ids")));
  }
  if (const ordered_json* content = Find(*logprobs, "content")) {
    if (!content->is_array()) return JsonError(Below(here, "content"), "must be an array");
    const ordered_json* usage = Find(answer->response, "usage");
    const bool of_llama_server = !content->empty() && Find((*content)[0], "id");
    if (usage && of_llama_server && answer->count == 1) {
      VT_RETURN_IF_ERROR(
          CheckEveryToken(*content, Find(*usage, "completion_tokens"), Below(here, "content")));
    }
    return TakeTokenLogprobs(answer, *content, given ? &ids : nullptr, Below(here, "content"));
  }
  return TakeLegacyLogprobs(answer, *logprobs, given ? &ids : nullptr, here);
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
  const std::size_t count = answer->golden.prompt.size();
  if (!list.is_array() || list.size() != count) {
    return JsonError(
        at, "must have an entry for each of the " + std::to_string(count) + " prompt tokens");
  }
  std::vector<GoldenRow> rows;
  for (std::size_t i = 1; i < list.size(); ++i) {
    VT_ASSIGN_OR_RETURN(GoldenRow row, ReadVllmRow(list[i], Below(at, i)));
    rows.push_back(std::move(row));
  }
  TakePromptRows(answer, std::move(rows));
  return {};
}

Result<GoldenRow> ReadScores(const ordered_json& from, const std::string& at) {
  const ordered_json& list =
      from.is_array() && from.size() == 1 && from[0].is_array() ? from[0] : from;
  std::vector<float> logits;
  if (!list.is_array() || list.empty()) return JsonError(at, "must be an array of logits");
  for (const ordered_json& value : list) {
    if (!value.is_number() || !IsFloat(value.get<double>())) {
      return JsonError(at, "must hold numbers alone, each within what a float holds");
    }
    logits.push_back(value.get<float>());
  }
  return TopRow(logits, kKeptOfDense);
}

}  // namespace

Status TakeLlamaServer(Answer* answer) {
  const char* key = "completion_probabilities";
  if (!Find(answer->response, key)) {
    const bool openai = Find(answer->response, "choices") != nullptr;
    return JsonError(Below(answer->at, key),
                     openai ? "is missing; this is an answer in OpenAI's form: --from "
                              "openai-logprobs"
                            : "is missing; ask for n_probs");
  }
  VT_RETURN_IF_ERROR(CheckOnePrompt(*answer));
  VT_ASSIGN_OR_RETURN(const ordered_json* list, ArrayOf(answer->response, key, answer->at));
  VT_RETURN_IF_ERROR(
      CheckEveryToken(*list, Find(answer->response, "tokens_predicted"), Below(answer->at, key)));
  return TakeTokenLogprobs(answer, *list, nullptr, Below(answer->at, key));
}

Status TakeOpenAi(Answer* answer) {
  VT_ASSIGN_OR_RETURN(const auto choice, ChoiceOf(*answer, "choices"));
  return TakeChoice(answer, *choice.first, choice.second);
}

Status TakeVllm(Answer* answer) {
  const bool offline = Find(answer->response, "outputs") != nullptr;  // RequestOutput as JSON
  VT_ASSIGN_OR_RETURN(const auto found, ChoiceOf(*answer, offline ? "outputs" : "choices"));
  const auto& [choice, at] = found;
  const ordered_json* logprobs = Find(*choice, "logprobs");
  if (logprobs && logprobs->is_array()) {
    const std::string here = Below(at, "logprobs");
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
  } else {
    VT_RETURN_IF_ERROR(TakeChoice(answer, *choice, at));
  }
  if (!answer->golden.rows.empty()) return {};  // of an echo
  for (const auto& [from, place] : {std::pair(&answer->response, answer->at), {choice, at}}) {
    if (const ordered_json* list = Find(*from, "prompt_logprobs")) {
      return TakePromptLogprobs(answer, *list, Below(place, "prompt_logprobs"));
    }
  }
  return {};
}

Status TakeHf(Answer* answer) {
  GoldenCase& golden = answer->golden;
  VT_RETURN_IF_ERROR(CheckOnePrompt(*answer));
  VT_ASSIGN_OR_RETURN(const ordered_json* sequences,
                      ArrayOf(answer->response, "sequences", answer->at));
  const std::string at = Below(answer->at, "sequences");
  const bool nested = !sequences->empty() && (*sequences)[0].is_array();
  if (nested && sequences->size() > 1) {
    return JsonError(at, "must hold one sequence (" + std::to_string(sequences->size()) +
                             " given); write one answer for each");
  }
  const ordered_json& first = nested ? (*sequences)[0] : *sequences;
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

}  // namespace vt
