#include "golden/damage.h"

#include <algorithm>

namespace vt {
namespace {

using nlohmann::ordered_json;

ordered_json* Tokens(ordered_json& document) {
  ordered_json& list = document["cases"][0]["generated_tokens"];
  return list.empty() ? nullptr : &list;
}

// Another id that every vocabulary with `id` has.
void MakeOther(ordered_json& id) { id = id.get<TokenId>() == 0 ? 1 : id.get<TokenId>() - 1; }

std::function<bool(ordered_json&)> OtherToken(double where) {
  return [where](ordered_json& document) {
    ordered_json* list = Tokens(document);
    if (!list) return false;
    MakeOther((*list)[static_cast<std::size_t>(where * static_cast<double>(list->size() - 1))]);
    return true;
  };
}

// The row in the middle of the prompt; its logits as [id, logit] pairs or plain numbers.
ordered_json* Row(ordered_json& document, const char* key = "logits") {
  ordered_json& logits = document["cases"][0][key];
  if (!logits.is_object() || logits["rows"].empty()) return nullptr;
  return &logits["rows"][logits["rows"].size() / 2];
}

// The k-th highest logit of the row.
ordered_json* Logit(ordered_json* row, std::size_t k) {
  if (!row) return nullptr;
  if (row->is_object()) {
    ordered_json& top = (*row)["top"];
    return k < top.size() ? &top[k][1] : nullptr;
  }
  std::vector<std::size_t> order(row->size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return (*row)[a].get<double>() > (*row)[b].get<double>();
  });
  return k < order.size() ? &(*row)[order[k]] : nullptr;
}

bool Add(ordered_json* value, double amount) {
  if (!value || !value->is_number()) return false;
  *value = value->get<double>() + amount;
  return true;
}

bool AddToLse(ordered_json& document, double amount) {
  ordered_json* row = Row(document);
  return row && row->is_object() && Add(&(*row)["lse"], amount);
}

// The ids of the highest and of the lowest logit of the row; the logits stay in order.
bool SwapIds(ordered_json& document) {
  ordered_json* row = Row(document);
  if (!row) return false;
  if (!row->is_object()) {
    std::swap(*Logit(row, 0), *Logit(row, row->size() - 1));
    return true;
  }
  ordered_json& top = (*row)["top"];
  if (top.size() < 2) return false;
  std::swap(top.front()[0], top.back()[0]);
  return true;
}

bool RotateRows(ordered_json& document) {
  ordered_json& logits = document["cases"][0]["logits"];
  if (!logits.is_object() || logits["rows"].size() < 2) return false;
  std::rotate(logits["rows"].begin(), logits["rows"].begin() + 1, logits["rows"].end());
  return true;
}

bool ChangeDigest(ordered_json& document, const char* key) {
  ordered_json& value = document["model"][key];
  if (!value.is_string()) return false;
  std::string text = value.get<std::string>();
  text.back() = text.back() == '0' ? '1' : '0';
  value = text;
  return true;
}

bool SetMargin(ordered_json& document, double amount) {
  ordered_json& margins = document["cases"][0]["margins"];
  for (ordered_json& margin : margins) {
    if (margin.is_number() && margin.get<double>() + amount >= 0) return Add(&margin, amount);
  }
  return false;
}

bool DropLast(ordered_json& list) {
  if (!list.is_array() || list.empty()) return false;
  list.erase(list.size() - 1);
  return true;
}

// The last layer of which there is a checkpoint, and its row in the middle.
ordered_json* CheckpointLayer(ordered_json& document) {
  ordered_json& points = document["cases"][0]["checkpoints"];
  return points.is_object() && !points["layers"].empty() ? &points["layers"].back() : nullptr;
}
ordered_json* CheckpointRow(ordered_json& document) {
  ordered_json* layer = CheckpointLayer(document);
  return layer ? &(*layer)["rows"][(*layer)["rows"].size() / 2] : nullptr;
}

GoldenDamage Edit(std::string what, std::function<bool(ordered_json&)> edit) {
  return {std::move(what), std::move(edit), nullptr};
}

}  // namespace

std::vector<GoldenDamage> GoldenDamages() {
  using Json = ordered_json;
  std::vector<GoldenDamage> all;
  all.push_back(Edit("token: the first one is another", OtherToken(0)));
  all.push_back(Edit("token: one in the middle is another", OtherToken(0.5)));
  all.push_back(Edit("token: the last one is another", OtherToken(1)));
  all.push_back(Edit("tokens: the last one is missing", [](Json& d) {
    return DropLast(d["cases"][0]["generated_tokens"]) && DropLast(d["cases"][0]["margins"]);
  }));
  all.push_back(Edit("token: an id beyond the vocabulary", [](Json& d) {
    if (!Tokens(d)) return false;
    Tokens(d)->back() = 2000000000;
    return true;
  }));
  all.push_back(Edit("prompt: a token is another", [](Json& d) {
    MakeOther(d["cases"][0]["prompt_tokens"][0]);
    return true;
  }));
  all.push_back(Edit("prompt: the last token is missing", [](Json& d) {
    Json& one = d["cases"][0];
    return one["prompt_tokens"].size() > 1 && DropLast(one["prompt_tokens"]) &&
           (!one["logits"].is_object() || DropLast(one["logits"]["rows"]));
  }));
  all.push_back(Edit("margin: higher by 1", [](Json& d) { return SetMargin(d, 1); }));
  all.push_back(Edit("margin: lower by a tenth", [](Json& d) { return SetMargin(d, -0.1); }));
  all.push_back(
      Edit("margins: one is missing", [](Json& d) { return DropLast(d["cases"][0]["margins"]); }));
  all.push_back(Edit("logit: the highest of a row is higher by 0.3", [](Json& d) {
    Json* row = Row(d);
    // Its log-sum-exp follows, so that the row stays one that logits could have.
    return Add(Logit(row, 0), 0.3) && (!row->is_object() || Add(&(*row)["lse"], 0.3));
  }));
  all.push_back(Edit("logit: the lowest of ten is lower by 0.3", [](Json& d) {
    Json* row = Row(d);
    if (!row || !row->is_object()) return Add(Logit(row, 9), -0.3);
    Json& top = (*row)["top"];
    if (top.size() < 10) return false;
    for (std::size_t k = 9; k < top.size(); ++k) Add(&top[k][1], -0.3);
    return true;
  }));
  all.push_back(Edit("logits: two ids of a row change places", SwapIds));
  all.push_back(Edit("logits: a row holds no number", [](Json& d) {
    Json* value = Logit(Row(d), 0);
    if (!value) return false;
    *value = nullptr;
    return true;
  }));
  all.push_back(Edit("logits: all rows are one position off", RotateRows));
  all.push_back(Edit("logits: the last row is missing", [](Json& d) {
    return d["cases"][0]["logits"].is_object() && DropLast(d["cases"][0]["logits"]["rows"]);
  }));
  all.push_back(Edit("logits of the answer: one row is spoilt", [](Json& d) {
    Json* row = Row(d, "generated_logits");
    return row && row->is_object() && Add(&(*row)["lse"], 0.3);
  }));
  all.push_back(Edit("lse: higher by 0.3", [](Json& d) { return AddToLse(d, 0.3); }));
  all.push_back(Edit("lse: lower by 0.3", [](Json& d) { return AddToLse(d, -0.3); }));
  for (const char* key : {"digest", "content_digest", "sha256"}) {
    all.push_back(Edit(std::string(key) + ": one digit is another",
                       [key](Json& d) { return ChangeDigest(d, key); }));
  }
  all.push_back(
      Edit("cases: the last one is missing", [](Json& d) { return DropLast(d["cases"]); }));
  all.push_back(Edit("cases: none is left", [](Json& d) {
    d["cases"] = Json::array();
    d["counts"] = nullptr;
    return true;
  }));
  all.push_back(Edit("cases: one is there twice", [](Json& d) {
    d["cases"].push_back(d["cases"][0]);
    d["counts"] = nullptr;
    return true;
  }));
  all.push_back(Edit("schema: of another document", [](Json& d) {
    d["schema"] = "vt.golden/2";
    return true;
  }));
  all.push_back(Edit("checkpoint: a norm is higher by a fifth", [](Json& d) {
    Json* row = CheckpointRow(d);
    return row && Add(&(*row)[0], 0.2 * (*row)[0].get<double>());
  }));
  all.push_back(Edit("checkpoint: one sum is off by the norm", [](Json& d) {
    Json* row = CheckpointRow(d);
    return row && Add(&(*row)[3], (*row)[0].get<double>());
  }));
  all.push_back(Edit("checkpoint: two positions change places", [](Json& d) {
    Json* layer = CheckpointLayer(d);
    if (!layer || (*layer)["rows"].size() < 2) return false;
    std::swap((*layer)["rows"].front(), (*layer)["rows"].back());
    return true;
  }));
  all.push_back(Edit("checkpoint: of a layer that the model has not", [](Json& d) {
    Json* layer = CheckpointLayer(d);
    if (!layer) return false;
    (*layer)["layer"] = 1000000;
    return true;
  }));
  all.push_back(Edit("checkpoints: a position is missing", [](Json& d) {
    Json* layer = CheckpointLayer(d);
    return layer && DropLast((*layer)["rows"]);
  }));
  all.push_back(Edit("checkpoints: none is left", [](Json& d) {
    if (!CheckpointLayer(d)) return false;
    d["cases"][0]["checkpoints"] = nullptr;
    return true;
  }));
  all.push_back({"document: cut in half", nullptr,
                 [](const std::string& text) { return text.substr(0, text.size() / 2); }});
  return all;
}

}  // namespace vt
