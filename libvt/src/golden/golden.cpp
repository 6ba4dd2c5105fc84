#include "golden/golden.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace vt {
namespace {

// Six significant digits.
void WriteNumber(double value, JsonWriter& json) {
  if (!std::isfinite(value)) {
    json.Null();
    return;
  }
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 6);
  json.Raw(std::string_view(digits, static_cast<std::size_t>(end.ptr - digits)));
}

void WriteIds(std::string_view key, const std::vector<TokenId>& ids, JsonWriter& json) {
  json.Key(key).BeginArray();
  for (const TokenId id : ids) json.Value(id);
  json.EndArray();
}

void WriteRows(std::string_view key, const std::vector<GoldenRow>& rows, JsonWriter& json) {
  json.Key(key);
  if (rows.empty()) {
    json.Null();
    return;
  }
  const bool dense = !rows[0].dense.empty();
  json.BeginObject().Field("form", dense ? "dense" : "top").Key("rows").BeginArray();
  for (const GoldenRow& row : rows) {
    if (dense) {
      json.BeginArray();
      for (const float value : row.dense) WriteNumber(static_cast<double>(value), json);
      json.EndArray();
      continue;
    }
    json.BeginObject().Key("lse");
    WriteNumber(row.lse, json);
    json.Key("top").BeginArray();
    for (const auto& [id, logit] : row.top) {
      json.BeginArray().Value(id);
      WriteNumber(logit, json);
      json.EndArray();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
}

void WriteCheckpoints(const std::vector<GoldenCheckpoint>& points, JsonWriter& json) {
  json.Key("checkpoints");
  if (points.empty()) {
    json.Null();
    return;
  }
  json.BeginObject().Field("form", kCheckpointForm).Key("layers").BeginArray();
  for (const GoldenCheckpoint& point : points) {
    json.BeginObject().Field("layer", point.layer).Field("what", NameOf(point.what));
    json.Key("rows").BeginArray();
    for (const Sketch& row : point.rows) {
      json.BeginArray();
      WriteNumber(row.norm, json);
      for (const double sum : row.sums) WriteNumber(sum, json);
      json.EndArray();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
}

void WriteCase(const GoldenCase& one, JsonWriter& json) {
  json.BeginObject().Field("name", one.name).Field("prompt_text", one.prompt_text);
  WriteIds("prompt_tokens", one.prompt, json);
  WriteIds("generated_tokens", one.generated, json);
  json.Key("margins").BeginArray();
  for (const double margin : one.margins) WriteNumber(margin, json);
  json.EndArray();
  WriteRows("logits", one.rows, json);
  WriteRows("generated_logits", one.generated_rows, json);
  WriteCheckpoints(one.checkpoints, json);
  json.EndObject();
}

Status CheckIds(const std::vector<TokenId>& ids, std::int64_t vocab, const std::string& at) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < vocab) continue;
    const std::string here = at + "/" + std::to_string(i);
    return Status(Code::kInvalid,
                  here + ": token id " + std::to_string(ids[i]) +
                      " is outside the model's vocabulary (allowed: 0 to " +
                      std::to_string(vocab - 1) + ")",
                  here);
  }
  return {};
}

Status CheckRowIds(const std::vector<GoldenRow>& rows, std::int64_t vocab, const std::string& at) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string here = at + "/rows/" + std::to_string(i);
    if (!rows[i].dense.empty() && static_cast<std::int64_t>(rows[i].dense.size()) != vocab) {
      return Status(Code::kInvalid,
                    here + ": has " + std::to_string(rows[i].dense.size()) +
                        " logits, the model's vocabulary " + std::to_string(vocab) + " tokens",
                    here);
    }
    std::vector<TokenId> ids;
    for (const auto& entry : rows[i].top) ids.push_back(entry.first);
    VT_RETURN_IF_ERROR(CheckIds(ids, vocab, here + "/top"));
  }
  return {};
}

}  // namespace

std::string_view NameOf(CheckpointWhat what) {
  return what == CheckpointWhat::kExperts ? "experts" : "stream";
}

void WriteGoldenBody(const Golden& golden, JsonWriter& json) {
  const GoldenModel& model = golden.model;
  json.Key("model").BeginObject();
  json.Field("file", model.file).Field("digest", model.digest);
  json.Field("content_digest", model.content_digest).Field("sha256", model.sha256);
  json.Field("vocab", model.vocab).EndObject();
  json.Key("oracle").BeginObject();
  json.Field("name", golden.oracle.name).Field("version", golden.oracle.version);
  json.Field("settings", golden.oracle.settings).EndObject();
  json.Key("settings").Raw(golden.settings_json);
  const GoldenCounts counts = CountOf(golden);
  json.Key("counts").BeginObject().Field("cases", counts.cases);
  json.Field("prompt_tokens", counts.prompt_tokens);
  json.Field("generated_tokens", counts.generated_tokens);
  json.Field("checkpoint_rows", counts.checkpoint_rows).EndObject();
  json.Key("cases").BeginArray();
  for (const GoldenCase& one : golden.cases) WriteCase(one, json);
  json.EndArray();
}

GoldenCounts CountOf(const Golden& golden) {
  GoldenCounts counts;
  for (const GoldenCase& one : golden.cases) {
    ++counts.cases;
    counts.prompt_tokens += one.prompt.size();
    counts.generated_tokens += one.generated.size();
    for (const GoldenCheckpoint& point : one.checkpoints) {
      counts.checkpoint_rows += point.rows.size();
    }
  }
  return counts;
}

Status CheckGoldenIds(const Golden& golden, std::int64_t vocab) {
  for (std::size_t i = 0; i < golden.cases.size(); ++i) {
    const GoldenCase& one = golden.cases[i];
    const std::string at = "/cases/" + std::to_string(i);
    VT_RETURN_IF_ERROR(CheckIds(one.prompt, vocab, at + "/prompt_tokens"));
    VT_RETURN_IF_ERROR(CheckIds(one.generated, vocab, at + "/generated_tokens"));
    VT_RETURN_IF_ERROR(CheckRowIds(one.rows, vocab, at + "/logits"));
    VT_RETURN_IF_ERROR(CheckRowIds(one.generated_rows, vocab, at + "/generated_logits"));
  }
  return {};
}

const GoldenRow* RowThatChose(const GoldenCase& golden, std::size_t index) {
  if (!golden.rows.empty() && index == 0) return &golden.rows.back();
  const std::size_t at = index - (golden.rows.empty() ? 0 : 1);
  return at < golden.generated_rows.size() ? &golden.generated_rows[at] : nullptr;
}

double MarginAt(const GoldenCase& golden, std::size_t index) {
  if (!std::isnan(golden.margins[index])) return golden.margins[index];
  const GoldenRow* row = RowThatChose(golden, index);
  if (!row || !row->known()) return NAN;
  const GoldenRow best = row->dense.empty() ? *row : TopRow(row->dense, 2);
  return best.top.size() > 1 ? best.top[0].second - best.top[1].second : NAN;
}

TokenId SecondAt(const GoldenCase& golden, std::size_t index) {
  const GoldenRow* row = RowThatChose(golden, index);
  if (!row || !row->known()) return kNoToken;
  const GoldenRow best = row->dense.empty() ? *row : TopRow(row->dense, 2);
  for (std::size_t i = 0; i < best.top.size() && i < 2; ++i) {
    if (best.top[i].first != golden.generated[index]) return best.top[i].first;
  }
  return kNoToken;
}

double LogSumExp(std::span<const float> logits) {
  const double top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float value : logits) sum += std::exp(static_cast<double>(value) - top);
  return top + std::log(sum);
}

bool IsPossible(const GoldenRow& row) {
  // Six digits of the largest logit that a model makes leave this much open.
  constexpr double kRounding = 2e-3;
  double mass = 0;
  for (const auto& entry : row.top) mass += std::exp(entry.second - row.lse);
  return mass <= 1 + kRounding;
}

GoldenRow TopRow(std::span<const float> logits, std::size_t k) {
  std::vector<TokenId> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  k = std::min(k, ids.size());
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(k), ids.end(),
                    [&](TokenId a, TokenId b) {
                      const float x = logits[static_cast<std::size_t>(a)];
                      const float y = logits[static_cast<std::size_t>(b)];
                      return x > y || (x == y && a < b);
                    });
  GoldenRow row;
  row.lse = LogSumExp(logits);
  for (std::size_t i = 0; i < k; ++i) {
    row.top.emplace_back(ids[i], static_cast<double>(logits[static_cast<std::size_t>(ids[i])]));
  }
  return row;
}

}  // namespace vt
