#include "golden/finished_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "golden/json_read.h"

namespace vt {
namespace {

using nlohmann::ordered_json;

std::string TextOf(const ordered_json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<std::vector<TokenId>> IdsOf(const ordered_json& from, const char* key) {
  std::vector<TokenId> ids;
  VT_ASSIGN_OR_RETURN(const ordered_json* list, ArrayOf(from, key, ""));
  for (const ordered_json& id : *list) {
    if (!IsTokenId(id)) return JsonError("/" + std::string(key), "must hold token ids");
    ids.push_back(id.get<TokenId>());
  }
  return ids;
}

// The value of a number in from[a][b], where it is one.
std::optional<double> NumberIn(const ordered_json& from, const char* a, const char* b) {
  const auto outer = from.find(a);
  if (outer == from.end() || !outer->is_object()) return std::nullopt;
  const auto inner = outer->find(b);
  if (inner == outer->end()) return std::nullopt;
  if (inner->is_number()) return inner->get<double>();
  if (inner->is_object() && inner->contains("value") && (*inner)["value"].is_number()) {
    return (*inner)["value"].get<double>();
  }
  return std::nullopt;
}

Status ReadAnswer(const ordered_json& record, RunAnswer* answer) {
  if (record.contains("error") && record["error"].is_object()) {
    answer->error = TextOf(record["error"], "message");
    return {};
  }
  VT_ASSIGN_OR_RETURN(answer->tokens, IdsOf(record, "ids"));
  if (record.contains("stop") && record["stop"].is_object()) {
    answer->stop = TextOf(record["stop"], "reason");
  }
  if (record.contains("prompt_token_count") && record["prompt_token_count"].is_number_unsigned()) {
    answer->prompt_tokens = record["prompt_token_count"].get<std::size_t>();
  }
  return {};
}

// Reads records one after the other.
struct RunReader {
  FinishedRun run;
  std::optional<std::vector<TokenId>> prompt;  // of the start record
  bool started = false, ended = false;

  Status Start(const ordered_json& record) {
    started = true;
    if (record.contains("model") && record["model"].is_object()) {
      VT_ASSIGN_OR_RETURN(run.model_file, OptionalString(record["model"], "file", "/model"));
      VT_ASSIGN_OR_RETURN(run.model_digest, OptionalString(record["model"], "digest", "/model"));
    }
    run.temperature = NumberIn(record, "settings", "temperature");
    if (record.contains("prompt_tokens") && record["prompt_tokens"].is_array()) {
      VT_ASSIGN_OR_RETURN(prompt, IdsOf(record, "prompt_tokens"));
    }
    return {};
  }

  Status Take(const ordered_json& record, std::size_t line) {
    const std::string type = TextOf(record, "type");
    if (type == "start") return Start(record);
    if (type == "token") return {};
    if (type == "error") {
      return InvalidError("the run failed: " + TextOf(record, "message"));
    }
    if (type == "end") {
      ended = true;
      if (!record.contains("ids") || record["ids"].is_null()) return {};  // of --jsonl
      RunAnswer answer;
      answer.line = line;
      answer.prompt = prompt;
      VT_RETURN_IF_ERROR(ReadAnswer(record, &answer));
      run.answers.push_back(std::move(answer));
      return {};
    }
    if (type == "result") {
      RunAnswer answer;
      answer.line = line;
      if (record.contains("id") && !record["id"].is_null()) {
        answer.name =
            record["id"].is_string() ? record["id"].get<std::string>() : record["id"].dump();
      }
      if (record.contains("line") && record["line"].is_number_unsigned()) {
        answer.line_name = "line-" + record["line"].dump();
      }
      VT_RETURN_IF_ERROR(ReadAnswer(record, &answer));
      run.answers.push_back(std::move(answer));
      return {};
    }
    return InvalidError("is no record of vt.run/1; make the run with vt-run --json or --jsonl");
  }
};

CaseReport CompareAnswer(const GoldenCase& golden, const RunAnswer& answer,
                         const CheckLimits& limits, const Tokenizer* tokenizer) {
  CaseReport report;
  report.name = golden.name;
  report.tokens = golden.generated.size();
  report.peer_mean_kl = golden.peer_mean_kl;
  if (!answer.error.empty()) {
    report.state = CaseState::kWrong;
    report.wrong = report.tokens;
    report.reasons = {"the run gave no answer: " + answer.error};
    return report;
  }
  const bool same_prompt =
      answer.prompt ? *answer.prompt == golden.prompt
                    : answer.prompt_tokens.value_or(golden.prompt.size()) == golden.prompt.size();
  if (!same_prompt) {
    report.state = CaseState::kWrong;
    report.wrong = report.tokens;
    report.reasons = {"the run's prompt has other tokens than the golden's"};
    return report;
  }
  const std::size_t both = std::min(golden.generated.size(), answer.tokens.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (answer.tokens[i] == golden.generated[i]) {
      ++report.same;
      continue;
    }
    Departure part = DepartureAt(golden, i, answer.tokens[i], limits, tokenizer);
    if (part.golden_margin < limits.tie && SecondAt(golden, i) == kNoToken) {
      report.reasons.push_back("at token " + std::to_string(i) +
                               " the golden's margin is below the limit of a tie, but it keeps no "
                               "logits there, which would tell whether the run's token was second");
    }
    ++(part.verdict == TokenVerdict::kNearTie ? report.ties : report.wrong);
    report.departures.push_back(std::move(part));
    break;
  }
  report.unchecked = report.tokens - report.same - report.ties - report.wrong;
  JudgeCase(limits, &report);
  const bool short_run = report.departures.empty() && report.unchecked > 0;
  if (short_run && answer.stop != "end_token") {
    report.state = CaseState::kWrong;
    report.reasons.push_back("the run ends after " + std::to_string(answer.tokens.size()) +
                             " tokens (" + (answer.stop.empty() ? "no reason" : answer.stop) +
                             "), the golden has " + std::to_string(report.tokens) +
                             "; run it with -n " + std::to_string(report.tokens));
  }
  if (report.tokens == 0) {
    report.state = CaseState::kSkipped;
    report.reasons = {"the golden has no generated tokens, and a run has no logits"};
  }
  return report;
}

}  // namespace

Result<FinishedRun> ParseFinishedRun(std::string_view text) {
  RunReader reader;
  std::size_t line = 0;
  bool any = false;
  while (!text.empty()) {
    ++line;
    const std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    any = true;
    Result<ordered_json> record = ParseJsonWithByte(one);
    Status status = record.status();
    if (status.ok() && !record->is_object()) status = InvalidError("is no JSON object");
    if (status.ok()) status = reader.Take(*record, line);
    if (!status.ok()) return status.Annotate("line " + std::to_string(line));
  }
  if (!any) return InvalidError("is empty; did the run fail?");
  if (reader.started && !reader.ended) {
    return InvalidError("has no end record: the run was cut off");
  }
  return std::move(reader.run);
}

Result<std::vector<CaseReport>> CheckFinishedRun(const Golden& golden, const FinishedRun& run,
                                                 const CheckLimits& limits,
                                                 const Tokenizer* tokenizer) {
  if (run.temperature.value_or(0) != 0) {
    return InvalidError("the run was sampled (temperature " + std::to_string(*run.temperature) +
                        "); make it with --temperature 0");
  }
  const auto named_by_line = [&](const GoldenCase& one) {
    return std::any_of(run.answers.begin(), run.answers.end(),
                       [&](const RunAnswer& answer) { return answer.line_name == one.name; });
  };
  const bool by_order = std::none_of(golden.cases.begin(), golden.cases.end(), named_by_line) &&
                        run.answers.size() == golden.cases.size() &&
                        std::none_of(run.answers.begin(), run.answers.end(),
                                     [](const auto& one) { return one.name || one.prompt; });
  std::vector<CaseReport> reports;
  for (std::size_t i = 0; i < golden.cases.size(); ++i) {
    const GoldenCase& one = golden.cases[i];
    const RunAnswer* found = by_order ? &run.answers[i] : nullptr;
    for (const RunAnswer& answer : run.answers) {
      if (!found && answer.name == one.name) found = &answer;
    }
    for (const RunAnswer& answer : run.answers) {
      if (!found && !answer.name && answer.line_name == one.name) found = &answer;
    }
    for (const RunAnswer& answer : run.answers) {
      if (!found && answer.prompt == one.prompt) found = &answer;
    }
    if (found) {
      reports.push_back(CompareAnswer(one, *found, limits, tokenizer));
      continue;
    }
    CaseReport missing;
    missing.name = one.name;
    missing.tokens = one.generated.size();
    missing.reasons = {"the run has no answer with this id or prompt"};
    reports.push_back(std::move(missing));
  }
  return reports;
}

}  // namespace vt
