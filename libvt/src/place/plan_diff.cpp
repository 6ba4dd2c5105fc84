#include "place/plan_diff.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace vt {
namespace {

class Differ {
 public:
  Differ(const PlanDocument& a, const PlanDocument& b) : a_(a), b_(b) {}

  PlanDiff Diff() {
    Settings();
    Parts();
    Tensors();
    Rows();
    Budgets();
    diff_.a_prediction = a_.prediction;
    diff_.b_prediction = b_.prediction;
    return std::move(diff_);
  }

 private:
  static std::string Text(const std::string& text) { return text; }
  static std::string Text(bool yes) { return yes ? "true" : "false"; }
  static std::string Text(std::int64_t value) { return std::to_string(value); }
  static std::string Text(std::uint64_t value) { return std::to_string(value); }
  static std::string Text(int value) { return std::to_string(value); }
  static std::string Text(DType type) { return std::string(NameOf(type)); }

  template <class T>
  void Setting(const char* name, const T& a, const T& b) {
    if (a != b) diff_.settings.push_back({name, Text(a), Text(b)});
  }

  void Settings() {
    Setting("model.digest", a_.model.digest, b_.model.digest);
    const EngineOptions& a = a_.options;
    const EngineOptions& b = b_.options;
    Setting("context", a.context, b.context);
    Setting("sequences", a.sequences, b.sequences);
    Setting("ubatch", a.ubatch, b.ubatch);
    Setting("logit_rows", a.logit_rows, b.logit_rows);
    Setting("kv_type", a.kv_type, b.kv_type);
    Setting("threads", a.threads, b.threads);
    Setting("exact", a.exact, b.exact);
  }

  static const std::string& Id(const PlanDocument& plan, int device) {
    return plan.options.placement->devices[static_cast<std::size_t>(device)];
  }

  void Part(ModelPart part, int layer, int a, int b) {
    if (Id(a_, a) == Id(b_, b)) return;
    diff_.parts.push_back({std::string(NameOf(part)), layer, Id(a_, a), Id(b_, b)});
  }

  void Parts() {
    const Placement& a = *a_.options.placement;
    const Placement& b = *b_.options.placement;
    Setting("layers", a.layers.size(), b.layers.size());
    Part(ModelPart::kInput, -1, a.input, b.input);
    for (std::size_t i = 0; i < std::min(a.layers.size(), b.layers.size()); ++i) {
      const int layer = static_cast<int>(i);
      Part(ModelPart::kMixer, layer, a.layers[i].mixer, b.layers[i].mixer);
      Part(ModelPart::kFfn, layer, a.layers[i].ffn, b.layers[i].ffn);
      // Of a layer without experts the document has none, and the feed-forward's device is read.
      const bool either =
          a.layers[i].experts != a.layers[i].ffn || b.layers[i].experts != b.layers[i].ffn;
      if (either) Part(ModelPart::kExperts, layer, a.layers[i].experts, b.layers[i].experts);
      const std::string slots = "blk." + std::to_string(i) + ".expert_slots";
      Setting(slots.c_str(), a.layers[i].expert_slots, b.layers[i].expert_slots);
    }
    Part(ModelPart::kOutput, -1, a.output, b.output);
  }

  void Tensors() {
    std::unordered_map<std::string_view, const PlannedTensor*> of_b;
    for (const PlannedTensor& tensor : b_.tensors) of_b.emplace(tensor.name, &tensor);
    for (const PlannedTensor& tensor : a_.tensors) {
      const PlanDiff::Place a{tensor.device, tensor.held};
      const auto found = of_b.find(tensor.name);
      if (found == of_b.end()) {
        diff_.tensors.push_back({tensor.name, tensor.bytes, a, std::nullopt});
        continue;
      }
      const PlanDiff::Place b{found->second->device, found->second->held};
      if (a != b) diff_.tensors.push_back({tensor.name, tensor.bytes, a, b});
      of_b.erase(found);
    }
    for (const PlannedTensor& tensor : b_.tensors) {
      if (!of_b.contains(tensor.name)) continue;
      diff_.tensors.push_back(
          {tensor.name, tensor.bytes, std::nullopt, PlanDiff::Place{tensor.device, tensor.held}});
    }
  }

  // The row of that name, made where there is none.
  PlanDiff::Row& RowOf(const MemoryRow& row) {
    for (PlanDiff::Row& one : diff_.rows) {
      if (one.device == row.device && one.row == row.row) return one;
    }
    return diff_.rows.emplace_back(PlanDiff::Row{row.device, row.row, 0, 0});
  }

  void Rows() {
    for (const MemoryRow& row : a_.rows) RowOf(row).a_bytes += row.predicted_bytes;
    for (const MemoryRow& row : b_.rows) RowOf(row).b_bytes += row.predicted_bytes;
    std::erase_if(diff_.rows, [](const auto& row) { return row.a_bytes == row.b_bytes; });
  }

  void Budgets() {
    std::vector<PlanDiff::DeviceBudget>& budgets = diff_.budgets;
    for (const Budget& budget : a_.budgets) {
      budgets.push_back({budget.device, budget.bytes, std::nullopt});
    }
    for (const Budget& budget : b_.budgets) {
      auto found = std::find_if(budgets.begin(), budgets.end(),
                                [&](const auto& one) { return one.device == budget.device; });
      if (found == budgets.end()) {
        found = budgets.insert(found, {budget.device, std::nullopt, std::nullopt});
      }
      found->b_bytes = budget.bytes;
    }
    std::erase_if(budgets, [](const auto& budget) { return budget.a_bytes == budget.b_bytes; });
  }

  const PlanDocument& a_;
  const PlanDocument& b_;
  PlanDiff diff_;
};

void WritePlace(JsonWriter& json, const char* key, const std::optional<PlanDiff::Place>& place) {
  json.Key(key);
  if (!place) {
    json.Null();
    return;
  }
  json.BeginObject().Field("device", place->device).Key("held");
  if (place->held) {
    json.Value(NameOf(*place->held));
  } else {
    json.Null();
  }
  json.EndObject();
}

void WriteSpeeds(JsonWriter& json, const char* key, const Prediction& prediction) {
  json.Key(key).BeginObject().Field("decode_tok_per_s", prediction.decode_tok_per_s);
  json.Field("prefill_tok_per_s", prediction.prefill_tok_per_s).EndObject();
}

}  // namespace

std::string_view NameOf(Held held) { return held == Held::kKept ? "kept" : "expanded"; }

PlanDiff DiffPlans(const PlanDocument& a, const PlanDocument& b) { return Differ(a, b).Diff(); }

void WriteDiffBody(const PlanDiff& diff, JsonWriter& json) {
  json.Field("same", diff.same()).Key("settings").BeginArray();
  for (const PlanDiff::Setting& one : diff.settings) {
    json.BeginObject().Field("name", one.name).Field("a", one.a).Field("b", one.b).EndObject();
  }
  json.EndArray().Key("parts").BeginArray();
  for (const PlanDiff::Part& one : diff.parts) {
    json.BeginObject().Field("part", one.part).Key("layer");
    if (one.layer < 0) {
      json.Null();
    } else {
      json.Value(one.layer);
    }
    json.Field("a", one.a).Field("b", one.b).EndObject();
  }
  json.EndArray().Key("tensors").BeginArray();
  for (const PlanDiff::Tensor& one : diff.tensors) {
    json.BeginObject().Field("name", one.name).Field("bytes", one.bytes);
    WritePlace(json, "a", one.a);
    WritePlace(json, "b", one.b);
    json.EndObject();
  }
  json.EndArray().Key("rows").BeginArray();
  for (const PlanDiff::Row& one : diff.rows) {
    json.BeginObject().Field("device", one.device).Field("row", one.row);
    json.Field("a_bytes", one.a_bytes).Field("b_bytes", one.b_bytes).EndObject();
  }
  json.EndArray().Key("budgets").BeginArray();
  for (const PlanDiff::DeviceBudget& one : diff.budgets) {
    json.BeginObject().Field("device", one.device);
    json.Field("a_bytes", one.a_bytes).Field("b_bytes", one.b_bytes).EndObject();
  }
  json.EndArray().Key("predictions").BeginObject();
  WriteSpeeds(json, "a", diff.a_prediction);
  WriteSpeeds(json, "b", diff.b_prediction);
  json.EndObject();
}

}  // namespace vt
