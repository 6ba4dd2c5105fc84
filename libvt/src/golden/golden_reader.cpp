#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "golden/golden.h"
#include "golden/json_read.h"

namespace vt {
namespace {

using nlohmann::ordered_json;

Result<double> ReadNumber(const ordered_json& value, const std::string& at) {
  if (!value.is_number()) return JsonError(at, "must be a number");
  return value.get<double>();
}

Result<TokenId> ReadId(const ordered_json& value, const std::string& at) {
  if (!IsTokenId(value)) return JsonError(at, "must be a token id (" + value.dump() + " given)");
  return value.get<TokenId>();
}

Result<std::vector<TokenId>> ReadIds(const ordered_json& from, const char* key,
                                     const std::string& at) {
  VT_ASSIGN_OR_RETURN(const ordered_json* list, ArrayOf(from, key, at));
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < list->size(); ++i) {
    VT_ASSIGN_OR_RETURN(const TokenId id, ReadId((*list)[i], Below(Below(at, key), i)));
    ids.push_back(id);
  }
  return ids;
}

Result<GoldenRow> ReadDenseRow(const ordered_json& from, const std::string& at) {
  if (!from.is_array() || from.empty()) return JsonError(at, "must be an array of logits");
  GoldenRow row;
  for (std::size_t i = 0; i < from.size(); ++i) {
    VT_ASSIGN_OR_RETURN(const double value, ReadNumber(from[i], Below(at, i)));
    if (!IsFloat(value)) return JsonError(Below(at, i), "is more than a float holds");
    row.dense.push_back(static_cast<float>(value));
  }
  row.lse = LogSumExp(row.dense);
  return row;
}

Result<GoldenRow> ReadTopRow(const ordered_json& from, const std::string& at) {
  if (!from.is_object()) return JsonError(at, "must be an object of lse and top");
  GoldenRow row;
  VT_ASSIGN_OR_RETURN(const ordered_json* lse, Member(from, "lse", at));
  VT_ASSIGN_OR_RETURN(row.lse, ReadNumber(*lse, Below(at, "lse")));
  VT_ASSIGN_OR_RETURN(const ordered_json* top, ArrayOf(from, "top", at));
  std::set<TokenId> seen;
  for (std::size_t i = 0; i < top->size(); ++i) {
    const std::string here = Below(Below(at, "top"), i);
    const ordered_json& pair = (*top)[i];
    if (!pair.is_array() || pair.size() != 2) return JsonError(here, "must be [id, logit]");
    VT_ASSIGN_OR_RETURN(const TokenId id, ReadId(pair[0], here));
    VT_ASSIGN_OR_RETURN(const double logit, ReadNumber(pair[1], here));
    if (!seen.insert(id).second) {
      return JsonError(here, "token " + std::to_string(id) + " stands in the row twice");
    }
    if (!row.top.empty() && logit > row.top.back().second) {
      return JsonError(here, "is higher than the logit before it; a row goes from the highest on");
    }
    row.top.emplace_back(id, logit);
  }
  if (row.top.empty()) return JsonError(Below(at, "top"), "is empty");
  if (!IsPossible(row)) {
    return JsonError(Below(at, "lse"), "is below the log-sum-exp of the row's own logits");
  }
  return row;
}

Result<std::vector<GoldenRow>> ReadRows(const ordered_json& from, const std::string& at) {
  if (!from.is_object()) return JsonError(at, "must be an object of form and rows");
  VT_ASSIGN_OR_RETURN(const std::string form, StringOf(from, "form", at));
  if (form != "dense" && form != "top") {
    return JsonError(Below(at, "form"), "\"" + ValidUtf8(form) + "\" is not dense or top");
  }
  VT_ASSIGN_OR_RETURN(const ordered_json* list, ArrayOf(from, "rows", at));
  std::vector<GoldenRow> rows;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string here = Below(Below(at, "rows"), i);
    Result<GoldenRow> row =
        form == "dense" ? ReadDenseRow((*list)[i], here) : ReadTopRow((*list)[i], here);
    if (!row.ok()) return row.status();
    if (form == "dense" && !rows.empty() && row->dense.size() != rows[0].dense.size()) {
      return JsonError(here, "has " + std::to_string(row->dense.size()) + " logits, the first " +
                                 std::to_string(rows[0].dense.size()));
    }
    rows.push_back(std::move(*row));
  }
  return rows;
}

Status ReadLogits(const ordered_json& from, const std::string& at, GoldenCase* one) {
  if (from.contains("logits") && !from["logits"].is_null()) {
    VT_ASSIGN_OR_RETURN(one->rows, ReadRows(from["logits"], Below(at, "logits")));
    if (one->rows.size() != one->prompt.size()) {
      return JsonError(Below(Below(at, "logits"), "rows"),
                       std::to_string(one->rows.size()) + " rows for " +
                           std::to_string(one->prompt.size()) + " prompt tokens");
    }
  }
  if (from.contains("generated_logits") && !from["generated_logits"].is_null()) {
    const std::string here = Below(at, "generated_logits");
    VT_ASSIGN_OR_RETURN(one->generated_rows, ReadRows(from["generated_logits"], here));
    // Without logits of the prompt, the row that chose the first token stands here too.
    const std::size_t wanted = one->generated.size() - (one->rows.empty() ? 0 : 1);
    if (one->generated.empty() || one->generated_rows.size() != wanted) {
      return JsonError(Below(here, "rows"),
                       std::to_string(one->generated_rows.size()) + " rows for " +
                           std::to_string(one->generated.size()) + " generated tokens");
    }
  }
  return {};
}

Result<Sketch> ReadSketch(const ordered_json& from, const std::string& at) {
  if (!from.is_array() || from.size() != kSketchSums + 1) {
    return JsonError(at, "must be an array of a norm and " + std::to_string(kSketchSums) + " sums");
  }
  Sketch row;
  VT_ASSIGN_OR_RETURN(row.norm, ReadNumber(from[0], Below(at, 0)));
  if (row.norm < 0) return JsonError(Below(at, 0), "a norm is not negative");
  for (std::size_t k = 0; k < kSketchSums; ++k) {
    VT_ASSIGN_OR_RETURN(row.sums[k], ReadNumber(from[k + 1], Below(at, k + 1)));
  }
  return row;
}

Result<GoldenCheckpoint> ReadCheckpoint(const ordered_json& from, const std::string& at,
                                        std::size_t rows) {
  if (!from.is_object()) return JsonError(at, "must be an object of layer, what and rows");
  GoldenCheckpoint point;
  VT_ASSIGN_OR_RETURN(const ordered_json* layer, Member(from, "layer", at));
  VT_ASSIGN_OR_RETURN(point.layer, ReadId(*layer, Below(at, "layer")));
  VT_ASSIGN_OR_RETURN(const std::string what, StringOf(from, "what", at));
  point.what = what == "experts" ? CheckpointWhat::kExperts : CheckpointWhat::kStream;
  if (what != NameOf(point.what)) {
    return JsonError(Below(at, "what"), "\"" + ValidUtf8(what) + "\" is not stream or experts");
  }
  VT_ASSIGN_OR_RETURN(const ordered_json* list, ArrayOf(from, "rows", at));
  if (list->size() != rows) {
    return JsonError(Below(at, "rows"), std::to_string(list->size()) + " rows for " +
                                            std::to_string(rows) + " positions");
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    VT_ASSIGN_OR_RETURN(const Sketch row, ReadSketch((*list)[i], Below(Below(at, "rows"), i)));
    point.rows.push_back(row);
  }
  return point;
}

Status ReadCheckpoints(const ordered_json& from, const std::string& at, GoldenCase* one) {
  if (!from.contains("checkpoints") || from["checkpoints"].is_null()) return {};
  const std::string here = Below(at, "checkpoints");
  const ordered_json& points = from["checkpoints"];
  if (!points.is_object()) return JsonError(here, "must be an object of form and layers");
  VT_ASSIGN_OR_RETURN(const std::string form, StringOf(points, "form", here));
  // Of another form they could not be compared, and what is not compared must not pass.
  if (form != kCheckpointForm) {
    return JsonError(Below(here, "form"),
                     "\"" + ValidUtf8(form) + "\" is not \"" + std::string(kCheckpointForm) + "\"");
  }
  VT_ASSIGN_OR_RETURN(const ordered_json* layers, ArrayOf(points, "layers", here));
  const std::size_t rows = one->prompt.size() + std::max<std::size_t>(one->generated.size(), 1) - 1;
  std::set<std::pair<int, CheckpointWhat>> seen;
  for (std::size_t i = 0; i < layers->size(); ++i) {
    const std::string place = Below(Below(here, "layers"), i);
    VT_ASSIGN_OR_RETURN(GoldenCheckpoint point, ReadCheckpoint((*layers)[i], place, rows));
    if (!seen.insert({point.layer, point.what}).second) {
      return JsonError(place, "layer " + std::to_string(point.layer) + " is there twice");
    }
    one->checkpoints.push_back(std::move(point));
  }
  return {};
}

Result<GoldenCase> ReadCase(const ordered_json& from, const std::string& at) {
  if (!from.is_object()) return JsonError(at, "must be an object");
  GoldenCase one;
  VT_ASSIGN_OR_RETURN(one.name, StringOf(from, "name", at));
  VT_ASSIGN_OR_RETURN(one.prompt_text, OptionalString(from, "prompt_text", at));
  VT_ASSIGN_OR_RETURN(one.prompt, ReadIds(from, "prompt_tokens", at));
  if (one.prompt.empty()) return JsonError(Below(at, "prompt_tokens"), "is empty");
  VT_ASSIGN_OR_RETURN(one.generated, ReadIds(from, "generated_tokens", at));
  if (from.contains("margins") && !from["margins"].is_null()) {
    VT_ASSIGN_OR_RETURN(const ordered_json* margins, ArrayOf(from, "margins", at));
    for (std::size_t i = 0; i < margins->size(); ++i) {
      const std::string here = Below(Below(at, "margins"), i);
      double margin = NAN;
      if (!(*margins)[i].is_null()) {
        VT_ASSIGN_OR_RETURN(margin, ReadNumber((*margins)[i], here));
        if (margin < 0) return JsonError(here, "is negative");
      }
      one.margins.push_back(margin);
    }
  } else {
    one.margins.assign(one.generated.size(), NAN);
  }
  if (one.margins.size() != one.generated.size()) {
    return JsonError(Below(at, "margins"), std::to_string(one.margins.size()) + " margins for " +
                                               std::to_string(one.generated.size()) +
                                               " generated tokens");
  }
  VT_RETURN_IF_ERROR(ReadLogits(from, at, &one));
  VT_RETURN_IF_ERROR(ReadCheckpoints(from, at, &one));
  if (from.contains("peer") && from["peer"].is_object() &&
      from["peer"].contains("mean_kl_to_exact") && from["peer"]["mean_kl_to_exact"].is_number()) {
    one.peer_mean_kl = from["peer"]["mean_kl_to_exact"].get<double>();
  }
  return one;
}

Status ReadModel(const ordered_json& document, GoldenModel* model) {
  VT_ASSIGN_OR_RETURN(const ordered_json* from, Member(document, "model", ""));
  if (!from->is_object()) return JsonError("/model", "must be an object");
  VT_ASSIGN_OR_RETURN(model->file, OptionalString(*from, "file", "/model"));
  VT_ASSIGN_OR_RETURN(model->digest, OptionalString(*from, "digest", "/model"));
  VT_ASSIGN_OR_RETURN(model->content_digest, OptionalString(*from, "content_digest", "/model"));
  VT_ASSIGN_OR_RETURN(model->sha256, OptionalString(*from, "sha256", "/model"));
  if (from->contains("vocab") && !(*from)["vocab"].is_null()) {
    VT_ASSIGN_OR_RETURN(const TokenId vocab, ReadId((*from)["vocab"], "/model/vocab"));
    model->vocab = vocab;
  }
  return {};
}

// The document's own counts, where it has them.
Status CheckCounts(const ordered_json& document, const Golden& golden) {
  const auto counts = document.find("counts");
  if (counts == document.end() || !counts->is_object()) return {};
  const GoldenCounts found = CountOf(golden);
  const std::pair<const char*, std::size_t> wanted[] = {
      {"cases", found.cases},
      {"prompt_tokens", found.prompt_tokens},
      {"generated_tokens", found.generated_tokens},
      {"checkpoint_rows", found.checkpoint_rows}};
  for (const auto& [key, count] : wanted) {
    const auto said = counts->find(key);
    if (said == counts->end() || (said->is_number_unsigned() && *said == count)) continue;
    return JsonError("/counts/" + std::string(key),
                     "is " + said->dump() + ", but the document holds " + std::to_string(count) +
                         "; a part of it is missing");
  }
  return {};
}

}  // namespace

Result<Golden> ParseGolden(std::string_view text) {
  VT_ASSIGN_OR_RETURN(const ordered_json document, ParseJsonWithByte(text));
  if (!document.is_object()) return JsonError("", "a golden is a JSON object");
  VT_ASSIGN_OR_RETURN(const std::string schema, StringOf(document, "schema", ""));
  if (schema != kGoldenSchema) {
    return JsonError("/schema",
                     "is \"" + ValidUtf8(schema) + "\", not " + std::string(kGoldenSchema));
  }
  Golden golden;
  VT_RETURN_IF_ERROR(ReadModel(document, &golden.model));
  if (document.contains("oracle") && document["oracle"].is_object()) {
    const ordered_json& oracle = document["oracle"];
    VT_ASSIGN_OR_RETURN(golden.oracle.name, OptionalString(oracle, "name", "/oracle"));
    VT_ASSIGN_OR_RETURN(golden.oracle.version, OptionalString(oracle, "version", "/oracle"));
    if (oracle.contains("settings") && !oracle["settings"].is_null()) {
      golden.oracle.settings = oracle["settings"].is_string()
                                   ? oracle["settings"].get<std::string>()
                                   : oracle["settings"].dump();
    }
  }
  if (document.contains("settings")) golden.settings_json = document["settings"].dump();
  VT_ASSIGN_OR_RETURN(const ordered_json* cases, ArrayOf(document, "cases", ""));
  std::set<std::string> names;
  for (std::size_t i = 0; i < cases->size(); ++i) {
    const std::string at = Below("/cases", i);
    VT_ASSIGN_OR_RETURN(GoldenCase one, ReadCase((*cases)[i], at));
    if (!names.insert(one.name).second) {
      return JsonError(Below(at, "name"), "\"" + ValidUtf8(one.name) + "\" is there twice");
    }
    golden.cases.push_back(std::move(one));
  }
  VT_RETURN_IF_ERROR(CheckCounts(document, golden));
  return golden;
}

}  // namespace vt
