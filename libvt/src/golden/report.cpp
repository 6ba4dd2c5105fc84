#include "golden/report.h"

#include <algorithm>
#include <cmath>

namespace vt {
namespace {

void WriteDistance(std::string_view key, const Worst& worst, bool known, JsonWriter& json) {
  json.Key(key);
  if (!known) {
    json.Null();
    return;
  }
  json.BeginObject().Field("value", worst.value).Field("at", worst.row).EndObject();
}

void WriteToken(std::string_view key, TokenId id, const std::string& text, double golden_logit,
                double our_logit, JsonWriter& json) {
  json.Key(key).BeginObject().Field("id", id).Key("text");
  if (text.empty()) {
    json.Null();
  } else {
    json.Value(text);
  }
  // Numbers that are not known are not finite, and so null.
  json.Field("golden_logit", golden_logit).Field("our_logit", our_logit).EndObject();
}

void WriteCheckpointPlace(std::string_view key, const std::optional<CheckpointPlace>& place,
                          JsonWriter& json) {
  json.Key(key);
  if (!place) {
    json.Null();
    return;
  }
  json.BeginObject().Field("layer", place->layer).Field("what", NameOf(place->what));
  json.Field("at", place->row).Field("error", place->error).EndObject();
}

void WriteCheckpoints(const CaseReport& one, JsonWriter& json) {
  json.Key("checkpoints");
  if (one.checkpoint_rows == 0 && one.missing_checkpoints.empty()) {
    json.Null();
    return;
  }
  json.BeginObject().Field("rows", one.checkpoint_rows);
  WriteCheckpointPlace("max_error", one.worst_checkpoint, json);
  WriteCheckpointPlace("first_above_limit", one.first_checkpoint, json);
  json.Key("missing").BeginArray();
  for (const std::string& name : one.missing_checkpoints) json.Value(name);
  json.EndArray().EndObject();
}

void WriteDeparture(const Departure& part, JsonWriter& json) {
  json.BeginObject().Field("index", part.index).Field("verdict", NameOf(part.verdict));
  WriteToken("golden", part.golden, part.golden_text, part.golden_logit, part.our_logit_of_golden,
             json);
  WriteToken("ours", part.ours, part.our_text, part.golden_logit_of_ours, part.our_logit, json);
  json.Field("golden_margin", part.golden_margin).EndObject();
}

void WriteCase(const CaseReport& one, JsonWriter& json) {
  json.BeginObject().Field("name", one.name).Field("verdict", NameOf(one.state));
  json.Key("reasons").BeginArray();
  for (const std::string& reason : one.reasons) json.Value(reason);
  json.EndArray();
  json.Key("tokens").BeginObject();
  json.Field("count", one.tokens).Field("same", one.same).Field("near_ties", one.ties);
  json.Field("wrong", one.wrong).Field("unchecked", one.unchecked).EndObject();
  json.Key("departures").BeginArray();
  for (const Departure& part : one.departures) WriteDeparture(part, json);
  json.EndArray();
  json.Field("rows", one.rows).Field("mean_kl", one.mean_kl);
  const bool rows = one.rows > 0;
  WriteDistance("max_kl", one.kl, rows, json);
  WriteDistance("max_logprob_error", one.logprob, rows, json);
  WriteDistance("max_nmse", one.nmse, rows && one.dense, json);
  WriteDistance("max_margin_error", one.margin, one.margins > 0, json);
  json.Key("top_k");
  if (rows) {
    json.BeginObject().Field("k", one.top_k).Field("agreement", one.top_k_agreement).EndObject();
  } else {
    json.Null();
  }
  json.Field("nan_count", one.nan_count).Field("peer_mean_kl", one.peer_mean_kl);
  WriteCheckpoints(one, json);
  json.EndObject();
}

}  // namespace

ReportCounts Count(const GoldenReport& report) {
  ReportCounts n;
  for (const CaseReport& one : report.cases) {
    ++n.cases;
    n.cases_same += one.state == CaseState::kSame ? 1 : 0;
    n.cases_with_ties += one.state == CaseState::kNearTies ? 1 : 0;
    n.cases_wrong += one.state == CaseState::kWrong ? 1 : 0;
    n.cases_skipped += one.state == CaseState::kSkipped ? 1 : 0;
    n.tokens += one.tokens;
    n.same += one.same;
    n.ties += one.ties;
    n.wrong += one.wrong;
    n.unchecked += one.unchecked;
  }
  return n;
}

std::string_view VerdictOf(const GoldenReport& report) {
  if (!report.skipped.empty()) return "skipped";
  const ReportCounts n = Count(report);
  if (n.cases == n.cases_skipped) return "nothing";
  if (n.cases_wrong > 0 || n.cases_skipped > 0 || report.variant) return "wrong";
  return n.cases_with_ties > 0 ? "near-ties" : "same";
}

int ExitCodeOf(const GoldenReport& report) {
  constexpr int kSkipped = 77;
  const std::string_view verdict = VerdictOf(report);
  if (verdict == "skipped") return kSkipped;
  return verdict == "same" || verdict == "near-ties" ? 0 : 1;
}

std::string ReportName(const GoldenReport& report) {
  std::string name =
      report.model_file.empty() ? report.golden_model.file.value_or("") : report.model_file;
  name.erase(0, name.find_last_of('/') + 1);
  if (name.ends_with(".gguf")) name.erase(name.size() - 5);
  return name.empty() ? report.golden_file : name;
}

void WriteReportBody(const GoldenReport& report, JsonWriter& json) {
  json.Key("golden").BeginObject().Field("file", report.golden_file);
  json.Key("oracle").BeginObject().Field("name", report.oracle.name);
  json.Field("version", report.oracle.version).Field("settings", report.oracle.settings);
  json.EndObject().EndObject();
  json.Field("source", report.source).Key("model").BeginObject().Key("file");
  if (report.model_file.empty()) {
    json.Null();
  } else {
    json.Value(report.model_file);
  }
  json.Key("digests").BeginArray();
  for (const DigestCheck& one : report.digests) {
    json.BeginObject().Field("kind", one.kind).Field("golden", one.golden);
    json.Field("model", one.model).Field("same", one.same()).EndObject();
  }
  json.EndArray().EndObject();
  const CheckLimits& limits = report.limits;
  json.Key("limits").BeginObject().Field("tie", limits.tie).Field("allow_ties", limits.allow_ties);
  json.Field("kl", limits.kl).Field("logprob", limits.logprob).Field("margin", limits.margin);
  json.Field("nmse", limits.nmse).Field("layer", limits.layer).EndObject();
  json.Key("settings").Raw(report.settings_json);
  const ReportCounts n = Count(report);
  json.Key("counts").BeginObject();
  json.Key("cases").BeginObject().Field("count", n.cases).Field("same", n.cases_same);
  json.Field("near_ties", n.cases_with_ties).Field("wrong", n.cases_wrong);
  json.Field("skipped", n.cases_skipped).EndObject();
  json.Key("tokens").BeginObject().Field("count", n.tokens).Field("same", n.same);
  json.Field("near_ties", n.ties).Field("wrong", n.wrong).Field("unchecked", n.unchecked);
  json.EndObject().EndObject();
  json.Key("cases").BeginArray();
  for (const CaseReport& one : report.cases) WriteCase(one, json);
  json.EndArray();
  json.Key("locate").Raw(report.locate_json);
  json.Key("invariance").Raw(report.invariance_json);
  json.Key("notes").BeginArray();
  for (const std::string& note : report.notes) json.Value(note);
  json.EndArray();
  json.Key("skipped");
  if (report.skipped.empty()) {
    json.Null();
  } else {
    json.Value(report.skipped);
  }
  json.Field("verdict", VerdictOf(report)).Field("exit_code", ExitCodeOf(report));
}

}  // namespace vt
