// Lists of log-probabilities in the forms that several programs share.
#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "golden/import_answer.h"
#include "golden/json_read.h"

namespace vt {

using nlohmann::ordered_json;

namespace {

constexpr double kUnlikely = -9999;  // how OpenAI and vLLM write "below the list"

// The id of {"id"?, "token", "bytes"?}. Bytes are the token's own, where its text may be a part of
// a character; but where the text names the id, vLLM's bytes are those of the text that it
// replaces.
Result<TokenId> ReadToken(Answer* answer, const ordered_json& from, const std::string& at) {
  if (const ordered_json* id = Find(from, "id")) {
    if (!IsTokenId(*id)) return JsonError(Below(at, "id"), "must be a token id");
    return id->get<TokenId>();
  }
  VT_ASSIGN_OR_RETURN(std::string text, StringOf(from, "token", at));
  const ordered_json* bytes = Find(from, "bytes");
  if (bytes && IsIds(*bytes) && !TokenTexts::NamesId(text)) {
    text.clear();
    for (const ordered_json& byte : *bytes) text.push_back(static_cast<char>(byte.get<int>()));
  }
  return answer->texts.Id(text, at);
}

Status CheckCount(const std::vector<TokenId>* ids, std::size_t count, const std::string& at) {
  if (!ids || ids->size() == count) return {};
  return JsonError(at, "has " + std::to_string(count) + " entries for " +
                           std::to_string(ids->size()) + " tokens");
}

// Entry `i` of the lists of completions.
Result<std::pair<TokenId, GoldenRow>> ReadLegacyRow(Answer* answer, const ordered_json& from,
                                                    std::size_t i, const std::vector<TokenId>* ids,
                                                    const std::string& at) {
  const ordered_json& token = from["tokens"][i];
  const ordered_json& logprob = from["token_logprobs"][i];
  const ordered_json& top = from["top_logprobs"][i];
  if (!token.is_string() || !logprob.is_number() || !top.is_object()) {
    return JsonError(at, "must have a token, its log-probability and an object of others");
  }
  const auto text = token.get<std::string>();
  TokenId id = ids ? (*ids)[i] : 0;
  if (!ids) {
    VT_ASSIGN_OR_RETURN(id, answer->texts.Id(text, at));
  }
  GoldenRow row;
  row.top.emplace_back(id, logprob.get<double>());
  for (const auto& [other_text, value] : top.items()) {
    if (!value.is_number()) return JsonError(Below(at, other_text), "must be a number");
    if (other_text == text && !text.empty()) {
      if (value == logprob) continue;  // the one above
      return JsonError(Below(at, other_text),
                       "two tokens have this text; " + std::string(kAskForIds));
    }
    VT_ASSIGN_OR_RETURN(const TokenId other, answer->texts.Id(other_text, at));
    row.top.emplace_back(other, value.get<double>());
  }
  return std::pair(id, std::move(row));
}

}  // namespace

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
  if (!IsPossible(*row)) {
    return JsonError(at, "are no log-probabilities: their probabilities are above 1 in all");
  }
  return {};
}

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

Status TakeTokenLogprobs(Answer* answer, const ordered_json& list, const std::vector<TokenId>* ids,
                         const std::string& at) {
  VT_RETURN_IF_ERROR(CheckCount(ids, list.size(), at));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string here = Below(at, i);
    if (!list[i].is_object()) return JsonError(here, "must be an object");
    if (Find(list[i], "top_probs") || Find(list[i], "prob")) {
      return JsonError(here,
                       "holds probabilities after sampling; ask for log-probabilities "
                       "(post_sampling_probs false)");
    }
    VT_ASSIGN_OR_RETURN(const double logprob, LogProb(list[i], here));
    TokenId id = ids ? (*ids)[i] : 0;
    if (!ids) {
      VT_ASSIGN_OR_RETURN(id, ReadToken(answer, list[i], here));
    }
    GoldenRow row;
    row.top.emplace_back(id, logprob);
    VT_ASSIGN_OR_RETURN(const ordered_json* top, ArrayOf(list[i], "top_logprobs", here));
    for (std::size_t k = 0; k < top->size(); ++k) {
      const ordered_json& other = (*top)[k];
      const std::string place = Below(Below(here, "top_logprobs"), k);
      VT_ASSIGN_OR_RETURN(const double other_logprob, LogProb(other, place));
      // The chosen one's text may be that of several tokens.
      const bool chosen = ids && other.contains("token") &&
                          other["token"] == list[i].value("token", ordered_json());
      if (other_logprob <= kUnlikely || chosen) continue;
      VT_ASSIGN_OR_RETURN(const TokenId other_id, ReadToken(answer, other, place));
      row.top.emplace_back(other_id, other_logprob);
    }
    VT_RETURN_IF_ERROR(AddChoice(answer, id, std::move(row), here));
  }
  return {};
}

Status TakeLegacyLogprobs(Answer* answer, const ordered_json& from, const std::vector<TokenId>* ids,
                          const std::string& at) {
  VT_ASSIGN_OR_RETURN(const ordered_json* tokens, ArrayOf(from, "tokens", at));
  VT_ASSIGN_OR_RETURN(const ordered_json* logprobs, ArrayOf(from, "token_logprobs", at));
  VT_ASSIGN_OR_RETURN(const ordered_json* tops, ArrayOf(from, "top_logprobs", at));
  if (tokens->size() != logprobs->size() || tokens->size() != tops->size()) {
    return JsonError(at, "tokens, token_logprobs and top_logprobs differ in length");
  }
  // Nothing comes before the first token of a prompt that is repeated.
  const std::vector<TokenId>& prompt = answer->golden.prompt;
  const bool echoes = !logprobs->empty() && (*logprobs)[0].is_null();
  const std::size_t echoed = echoes ? prompt.size() : 0;
  if (tokens->size() < echoed) {
    return JsonError(Below(at, "tokens"), "repeats a prompt of " + std::to_string(echoed) +
                                              " tokens, but has " + std::to_string(tokens->size()));
  }
  std::vector<TokenId> all;
  if (ids) {
    VT_RETURN_IF_ERROR(CheckCount(ids, tokens->size() - echoed, Below(at, "tokens")));
    all.assign(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(echoed));
    all.insert(all.end(), ids->begin(), ids->end());
    ids = &all;
  }
  std::vector<GoldenRow> rows;
  for (std::size_t i = echoed > 0 ? 1 : 0; i < tokens->size(); ++i) {
    const std::string here = Below(Below(at, "top_logprobs"), i);
    VT_ASSIGN_OR_RETURN(auto read, ReadLegacyRow(answer, from, i, ids, here));
    auto& [id, row] = read;
    if (i >= echoed) {
      VT_RETURN_IF_ERROR(AddChoice(answer, id, std::move(row), here));
      continue;
    }
    if (id != prompt[i]) {
      return JsonError(here, "token " + std::to_string(id) + " stands where the prompt has " +
                                 std::to_string(prompt[i]));
    }
    VT_RETURN_IF_ERROR(FinishRow(&row, here));
    rows.push_back(std::move(row));
  }
  if (echoed > 0) TakePromptRows(answer, std::move(rows));
  return {};
}

void TakePromptRows(Answer* answer, std::vector<GoldenRow> rows) {
  GoldenCase& golden = answer->golden;
  if (golden.generated_rows.empty()) return;  // nothing says what follows the last token
  // The prompt's own token stands in each row however unlikely it is: below the others it is not
  // one of the highest.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& top = rows[i].top;
    if (top.size() > 1 && top.back().first == golden.prompt[i + 1]) top.pop_back();
  }
  rows.push_back(std::move(golden.generated_rows.front()));
  golden.generated_rows.erase(golden.generated_rows.begin());
  golden.rows = std::move(rows);
}

}  // namespace vt
