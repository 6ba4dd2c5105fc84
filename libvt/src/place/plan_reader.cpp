// Reads vt.plan/1 and binds it to its model.
#include <algorithm>
#include <climits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/json.h"
#include "base/json_writer.h"
#include "place/fit.h"
#include "place/plan_document.h"
#include "place/plan_json.h"
#include "plan/placement.h"

namespace vt {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kSchemaName = "vt.plan/";

// A value and its JSON pointer; null where the key is absent or its value null.
struct JsonAt {
  const ordered_json* json = nullptr;
  std::string at;

  bool given() const { return json != nullptr; }
};

// After the first error every call gives a harmless value; look at status() at the end.
class PlanReader {
 public:
  explicit PlanReader(const ordered_json& json) : root_{&json, ""} {}

  Result<PlanDocument> Read() {
    ReadModel();
    ReadSettings();
    ReadChosenContext();
    ReadRequest();
    ReadDevices();
    ReadParts();
    ReadTensors();
    ReadKv();
    ReadPrediction();
    for (const JsonAt& note : Elements(root_, "notes")) plan_.notes.push_back(TextOf(note));
    plan_.exact = Flag(root_, "exact");
    plan_.hash = Text(root_, "hash");
    ReadFit();
    if (!status_.ok()) return status_;
    plan_.options.placement = std::move(placement_);
    return std::move(plan_);
  }

 private:
  void Fail(const JsonAt& place, const std::string& message) {
    if (status_.ok()) status_ = JsonError(place.at, message);
  }
  bool Is(const JsonAt& place, bool right, const char* what) {
    if (right) return true;
    Fail(place, std::string("must be ") + what + " (found " +
                    (place.json ? place.json->type_name() : "nothing") + ")");
    return false;
  }
  JsonAt Member(const JsonAt& object, const char* key) {
    JsonAt place{nullptr, object.at + "/" + key};
    if (!object.given() || !Is(object, object.json->is_object(), "an object")) return place;
    const auto found = object.json->find(key);
    if (found != object.json->end() && !found->is_null()) place.json = &*found;
    return place;
  }
  std::vector<JsonAt> Elements(const JsonAt& object, const char* key) {
    const JsonAt array = Member(object, key);
    std::vector<JsonAt> places;
    if (!Is(array, array.given() && array.json->is_array(), "an array")) return places;
    places.reserve(array.json->size());
    for (const ordered_json& element : *array.json) {
      places.push_back(
          {element.is_null() ? nullptr : &element, array.at + "/" + std::to_string(places.size())});
    }
    return places;
  }
  std::string TextOf(const JsonAt& place) {
    if (!Is(place, place.given() && place.json->is_string(), "a text")) return {};
    return place.json->get<std::string>();
  }
  std::string Text(const JsonAt& object, const char* key) { return TextOf(Member(object, key)); }
  std::string TextOrNone(const JsonAt& object, const char* key) {
    const JsonAt place = Member(object, key);
    return place.given() ? TextOf(place) : std::string();
  }
  bool Flag(const JsonAt& object, const char* key) {
    const JsonAt place = Member(object, key);
    return Is(place, place.given() && place.json->is_boolean(), "true or false") &&
           place.json->get<bool>();
  }
  std::uint64_t Whole(const JsonAt& object, const char* key, std::uint64_t most = INT64_MAX) {
    const JsonAt place = Member(object, key);
    if (!Is(place, place.given() && place.json->is_number_unsigned(), "a whole number")) return 0;
    const auto value = place.json->get<std::uint64_t>();
    if (value > most) {
      Fail(place,
           std::to_string(value) + " is out of range (at most " + std::to_string(most) + ")");
      return 0;
    }
    return value;
  }
  // 0 where it is not given: what plans did not have from the start.
  std::int64_t WholeOrNone(const JsonAt& object, const char* key) {
    return Member(object, key).given() ? static_cast<std::int64_t>(Whole(object, key)) : 0;
  }
  std::optional<double> Rate(const JsonAt& object, const char* key) {
    const JsonAt place = Member(object, key);
    if (!place.given() || !Is(place, place.json->is_number(), "a number")) return std::nullopt;
    return place.json->get<double>();
  }

  // The index of the device that `key` names.
  int Device(const JsonAt& object, const char* key) {
    const JsonAt place = Member(object, key);
    const std::string id = TextOf(place);
    const auto& ids = placement_.devices;
    const auto found = std::find(ids.begin(), ids.end(), id);
    if (found != ids.end()) return static_cast<int>(found - ids.begin());
    std::string known;
    for (const std::string& one : ids) known.append(known.empty() ? "" : ", ").append(one);
    Fail(place, "device \"" + id + "\" is not among this plan's (" + known + ")");
    return 0;
  }

  void ReadModel() {
    const JsonAt model = Member(root_, "model");
    if (!Is(model, model.given(), "an object")) return;
    plan_.model.path = Text(model, "path");
    plan_.model.digest = Text(model, "digest");
    plan_.model.architecture = Text(model, "architecture");
    plan_.model.name = TextOrNone(model, "name");
    plan_.model.file_bytes = Whole(model, "file_bytes");
    tensor_count_ = Whole(model, "tensors");
  }

  void ReadSettings() {
    const JsonAt settings = Member(root_, "settings");
    if (!Is(settings, settings.given(), "an object")) return;
    EngineOptions& o = plan_.options;
    o.context = Whole(settings, "context", INT_MAX);
    o.sequences = static_cast<std::int64_t>(Whole(settings, "sequences", 4096));
    o.ubatch = static_cast<std::int64_t>(Whole(settings, "ubatch", 65536));
    o.logit_rows = static_cast<std::int64_t>(Whole(settings, "logit_rows", 65536));
    o.threads = static_cast<int>(Whole(settings, "threads", 1024));
    o.exact = Flag(settings, "exact");
    const std::string kv = Text(settings, "kv_type");
    if (const DTypeInfo* type = FindDType(std::string_view(kv))) {
      o.kv_type = type->type;
    } else {
      Fail(Member(settings, "kv_type"), "type \"" + kv + "\" is not known");
    }
    plan_.wishes.objective = Text(settings, "objective");
    const Result<Objective> objective = ParseObjective(plan_.wishes.objective);
    if (!objective.ok()) Fail(Member(settings, "objective"), objective.status().message());
  }

  // Not in plans from the start.
  void ReadChosenContext() {
    const JsonAt chosen = Member(root_, "chosen_context");
    if (!chosen.given()) return;
    plan_.chosen_context = {Whole(chosen, "from", INT_MAX), Whole(chosen, "to", INT_MAX),
                            TextOrNone(chosen, "why")};
    if (plan_.chosen_context->to == plan_.options.context) return;
    Fail(Member(chosen, "to"), "is " + std::to_string(plan_.chosen_context->to) +
                                   ", the settings have context " +
                                   std::to_string(plan_.options.context));
  }

  void ReadRequest() {
    const JsonAt request = Member(root_, "request");
    if (!Is(request, request.given(), "an object")) return;
    for (const JsonAt& pin : Elements(request, "pins")) plan_.wishes.pins.push_back(TextOf(pin));
    plan_.wishes.cpu_moe = Flag(request, "cpu_moe");
    plan_.wishes.n_cpu_moe = static_cast<std::int64_t>(Whole(request, "n_cpu_moe"));
    plan_.wishes.expert_slots = WholeOrNone(request, "expert_slots");
  }

  void ReadDevices() {
    for (const JsonAt& place : Elements(root_, "devices")) {
      DeviceInfo device;
      device.id = Text(place, "id");
      const std::string kind = Text(place, "kind");
      const Result<DeviceKind> known = ParseDeviceKind(kind);
      if (known.ok()) {
        device.kind = *known;
      } else {
        Fail(Member(place, "kind"), known.status().message());
      }
      device.name = TextOrNone(place, "name");
      auto& ids = placement_.devices;
      if (std::find(ids.begin(), ids.end(), device.id) != ids.end()) {
        Fail(Member(place, "id"), "device \"" + device.id + "\" stands there twice");
      }
      ids.push_back(device.id);
      Budget budget;
      budget.device = device.id;
      if (Member(place, "budget_bytes").given()) budget.bytes = Whole(place, "budget_bytes");
      budget.source = TextOrNone(place, "budget_source");
      budget.reserve_bytes = Whole(place, "reserve_bytes");
      budget.shares_host = Flag(place, "shares_host");
      ReadRows(place, device.id);
      plan_.devices.push_back(std::move(device));
      plan_.budgets.push_back(std::move(budget));
    }
    if (placement_.devices.empty()) Fail(Member(root_, "devices"), "must name a device");
  }

  void ReadRows(const JsonAt& device, const std::string& id) {
    std::uint64_t total = 0;
    for (const JsonAt& row : Elements(device, "rows")) {
      const std::uint64_t bytes = Whole(row, "bytes");
      plan_.rows.push_back({id, Text(row, "row"), bytes, 0, TextOrNone(row, "how")});
      total += bytes;
    }
    const std::uint64_t stated = Whole(device, "total_bytes");
    if (stated == total) return;
    Fail(Member(device, "total_bytes"),
         "says " + std::to_string(stated) + ", the rows together have " + std::to_string(total));
  }

  void ReadParts() {
    const JsonAt parts = Member(root_, "parts");
    if (!Is(parts, parts.given(), "an object")) return;
    placement_.input = Device(parts, "input");
    placement_.output = Device(parts, "output");
    for (const JsonAt& layer : Elements(parts, "layers")) {
      const std::uint64_t number = Whole(layer, "layer");
      if (number != placement_.layers.size()) {
        Fail(Member(layer, "layer"), "layers must stand in order (found " + std::to_string(number) +
                                         ", " + std::to_string(placement_.layers.size()) +
                                         " is next)");
      }
      LayerPlacement place;
      place.mixer = Device(layer, "mixer");
      place.ffn = Device(layer, "ffn");
      place.experts = Member(layer, "experts").given() ? Device(layer, "experts") : place.ffn;
      place.expert_slots = WholeOrNone(layer, "expert_slots");
      placement_.layers.push_back(place);
    }
  }

  void ReadTensors() {
    std::unordered_map<std::string, std::size_t> seen;
    for (const JsonAt& place : Elements(root_, "tensors")) {
      PlannedTensor tensor;
      tensor.name = Text(place, "name");
      tensor.type = Text(place, "type");
      tensor.bytes = Whole(place, "bytes");
      tensor.reason = TextOrNone(place, "reason");
      for (const JsonAt& reader : Elements(place, "read_by")) {
        tensor.read_by.push_back(TextOf(reader));
      }
      int device = -1;
      if (Member(place, "device").given()) {
        device = Device(place, "device");
        tensor.device = placement_.devices.empty()
                            ? std::string()
                            : placement_.devices[static_cast<std::size_t>(device)];
        const std::string held = Text(place, "held");
        if (held != "kept" && held != "expanded") {
          Fail(Member(place, "held"), "\"" + held + "\" is not known (kept, expanded)");
        }
        tensor.held = held == "expanded" ? Held::kExpanded : Held::kKept;
      }
      const auto [before, first] = seen.emplace(tensor.name, seen.size());
      if (!first) {
        Fail(Member(place, "name"), "tensor \"" + tensor.name +
                                        "\" stands there twice (also /tensors/" +
                                        std::to_string(before->second) + ")");
      }
      placement_.tensors.push_back(device);
      placement_.held.push_back(tensor.held.value_or(Held::kKept));
      plan_.tensors.push_back(std::move(tensor));
      if (!status_.ok()) return;
    }
    if (plan_.tensors.size() != tensor_count_) {
      Fail(Member(root_, "tensors"), "lists " + std::to_string(plan_.tensors.size()) +
                                         " tensors, the model has " +
                                         std::to_string(tensor_count_));
    }
  }

  void ReadKv() {
    for (const JsonAt& place : Elements(root_, "kv")) {
      PlannedKv kv;
      const std::uint64_t layer = Whole(place, "layer");
      if (layer >= placement_.layers.size()) {
        Fail(Member(place, "layer"), "layer " + std::to_string(layer) +
                                         " is out of range (there are " +
                                         std::to_string(placement_.layers.size()) + ")");
        return;
      }
      kv.layer = static_cast<int>(layer);
      const int device = Device(place, "device");
      if (status_.ok() && device != placement_.layers[layer].mixer) {
        Fail(Member(place, "device"), "the cells of a layer lie with its mixer");
      }
      kv.device = Text(place, "device");
      kv.row = Text(place, "row");
      kv.bytes = Whole(place, "bytes");
      plan_.kv.push_back(std::move(kv));
    }
  }

  void ReadPrediction() {
    const JsonAt prediction = Member(root_, "prediction");
    if (!Is(prediction, prediction.given(), "an object")) return;
    Prediction& p = plan_.prediction;
    p.decode_tok_per_s = Rate(prediction, "decode_tok_per_s");
    p.prefill_tok_per_s = Rate(prediction, "prefill_tok_per_s");
    const JsonAt bottlenecks = Member(prediction, "bottlenecks");
    p.decode_bottleneck = TextOrNone(bottlenecks, "decode");
    p.prefill_bottleneck = TextOrNone(bottlenecks, "prefill");
    p.missing = TextOrNone(prediction, "missing");
  }

  void ReadFit() {
    const JsonAt fit = Member(root_, "fit");
    if (!fit.given()) return;
    const std::string verdict = Text(fit, "verdict");
    plan_.verdict = verdict;
    std::string known;
    for (const FitVerdict one : {FitVerdict::kFits, FitVerdict::kFitsByPaging,
                                 FitVerdict::kDoesNotFit, FitVerdict::kCannotTell}) {
      if (verdict == vt::NameOf(one)) {
        if (one != FitVerdict::kCannotTell) plan_.fits = one == FitVerdict::kFits;
        return;
      }
      known.append(known.empty() ? "" : ", ").append(vt::NameOf(one));
    }
    Fail(Member(fit, "verdict"), "\"" + verdict + "\" is not known (" + known + ")");
  }

  JsonAt root_;
  Status status_;
  PlanDocument plan_;
  Placement placement_;
  std::uint64_t tensor_count_ = 0;
};

Status CheckSchema(const ordered_json& json) {
  if (!json.is_object()) return JsonError("", "a plan must be a JSON object");
  const auto found = json.find("schema");
  const std::string schema =
      found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  if (schema == kPlanSchema) return {};
  const std::string wanted = " (this program reads " + std::string(kPlanSchema) + ")";
  if (schema.starts_with(kSchemaName)) {
    return JsonError("/schema", "\"" + schema + "\" is newer than this program" + wanted +
                                    "; make the plan with this version's vt-place");
  }
  return JsonError("/schema", "\"" + schema + "\" is no plan" + wanted);
}

}  // namespace

Result<PlanDocument> ReadPlanDocument(std::string_view text) {
  VT_ASSIGN_OR_RETURN(const ordered_json json, ParseJson(text));
  VT_RETURN_IF_ERROR(CheckSchema(json));
  VT_ASSIGN_OR_RETURN(PlanDocument plan, PlanReader(json).Read());
  const std::string hash = TextHash(CanonicalJson(json, {"hash", "fit"}));
  if (hash != plan.hash) {
    return JsonError("/hash", "says " + plan.hash + ", what stands here has " + hash +
                                  ": the plan was changed after it was made; make it again with "
                                  "vt-place, whose --pin puts tensors where you want them");
  }
  plan.text = text;
  return plan;
}

Status BindPlan(const GgufFile& file, const ModelSpec& spec, PlanDocument& plan,
                std::string_view digest) {
  const std::string own = digest.empty() ? file.HeaderDigest() : std::string(digest);
  if (own != plan.model.digest) {
    return JsonError("/model/digest", "the plan is for another model, " + plan.model.path + " (" +
                                          plan.model.digest + "); this one has " + own +
                                          "; make a plan for it with vt-place");
  }
  Placement& placement = *plan.options.placement;
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) places.emplace(plan.tensors[i].name, i);
  Placement bound = placement;
  bound.tensors.assign(file.tensors().size(), -1);
  bound.held.assign(file.tensors().size(), Held::kKept);
  std::vector<PlannedTensor> tensors;
  tensors.reserve(file.tensors().size());
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const GgufTensor& tensor = file.tensors()[i];
    const std::string name = ValidUtf8(tensor.name);
    const auto found = places.find(name);
    if (found == places.end()) {
      return JsonError("/tensors", "the model's tensor \"" + name + "\" is not in the plan");
    }
    const PlannedTensor& planned = plan.tensors[found->second];
    const std::string at = "/tensors/" + std::to_string(found->second);
    if (planned.bytes != tensor.bytes) {
      return JsonError(at + "/bytes", "tensor " + name + " has " + std::to_string(tensor.bytes) +
                                          " bytes in the model, not " +
                                          std::to_string(planned.bytes));
    }
    bound.tensors[i] = placement.tensors[found->second];
    bound.held[i] = placement.held[found->second];
    tensors.push_back(planned);
  }
  if (plan.tensors.size() != file.tensors().size()) {
    return JsonError("/tensors", "the plan has " + std::to_string(plan.tensors.size()) +
                                     " tensors, the model has " +
                                     std::to_string(file.tensors().size()));
  }
  if (const Status fits = CheckPlacement(file, spec, bound); !fits.ok()) {
    const bool layers = bound.layers.size() != spec.layers.size();
    return JsonError(layers ? "/parts/layers" : "/parts", fits.message());
  }
  placement = std::move(bound);
  plan.tensors = std::move(tensors);
  return {};
}

}  // namespace vt
