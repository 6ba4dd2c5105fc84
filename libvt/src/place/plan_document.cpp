#include "place/plan_document.h"

#include <algorithm>
#include <cmath>

#include "base/arena.h"
#include "base/json_writer.h"
#include "ops/resolve.h"
#include "place/plan_diff.h"
#include "place/plan_json.h"
#include "place/tensor_readers.h"
#include "plan/placement.h"

namespace vt {
namespace {

void Text(JsonWriter& json, std::string_view key, const std::string& text) {
  json.Key(key);
  if (text.empty()) {
    json.Null();
  } else {
    json.Value(text);
  }
}

// To a thousandth: more would be noise.
void Rate(JsonWriter& json, std::string_view key, const std::optional<double>& rate) {
  json.Key(key);
  if (rate) {
    json.Value(std::round(*rate * 1000) / 1000);
  } else {
    json.Null();
  }
}

class PlanWriter {
 public:
  PlanWriter(const GgufFile& file, const ModelSpec& spec, const PlanTool& tool,
             const PlannedModel& model, const PlaceRequest& request, const PlaceAnswer& answer)
      : file_(file),
        spec_(spec),
        tool_(tool),
        model_(model),
        request_(request),
        answer_(answer),
        plan_(answer.plan),
        placement_(answer.plan.placement),
        readers_(ReadersByTensor(file, spec)) {}

  std::string Write() {
    // The hash stands before the body and is of the text without it.
    json_.BeginObject().Field("schema", kPlanSchema).Key("tool").BeginObject();
    json_.Field("version", tool_.version).Field("commit", tool_.commit).EndObject();
    const std::string head = json_.Take();
    WriteModel();
    WriteSettings();
    WriteRequest();
    WriteDevices();
    WriteParts();
    WriteTensors();
    WriteKv();
    WritePrediction();
    json_.Key("notes").BeginArray();
    for (const std::string& note : answer_.notes) json_.Value(note);
    json_.EndArray().Field("exact", answer_.exact).EndObject();
    const std::string body = json_.Take();
    return head + ",\"hash\":\"" + TextHash(head + body) + "\"" + body;
  }

 private:
  const std::string& Device(int index) const {
    return placement_.devices[static_cast<std::size_t>(index)];
  }

  void WriteModel() {
    json_.Key("model").BeginObject();
    json_.Field("path", model_.path).Field("digest", model_.digest);
    json_.Field("architecture", model_.architecture);
    Text(json_, "name", model_.name);
    json_.Field("file_bytes", model_.file_bytes).Field("tensors", file_.tensors().size());
    json_.EndObject();
  }

  void WriteSettings() {
    const EngineOptions& o = plan_.options;
    json_.Key("settings").BeginObject();
    json_.Field("context", o.context).Field("sequences", o.sequences).Field("ubatch", o.ubatch);
    json_.Field("logit_rows", o.logit_rows).Field("kv_type", vt::NameOf(o.kv_type));
    json_.Field("threads", o.threads).Field("exact", o.exact);
    json_.Field("objective", vt::NameOf(request_.objective)).EndObject();
    json_.Key("chosen_context");
    if (answer_.chosen_context) {
      WriteContextChoice(json_, *answer_.chosen_context);
    } else {
      json_.Null();
    }
  }

  void WriteRequest() {
    json_.Key("request").BeginObject().Key("pins").BeginArray();
    for (const Pin& pin : request_.pins) json_.Value(pin.text());
    json_.EndArray().Field("cpu_moe", request_.cpu_moe);
    json_.Field("n_cpu_moe", request_.n_cpu_moe);
    json_.Field("expert_slots", request_.expert_slots).EndObject();
  }

  void WriteDevice(const DeviceInfo& device) {
    const auto budget = std::find_if(request_.budgets.begin(), request_.budgets.end(),
                                     [&](const Budget& b) { return b.device == device.id; });
    const bool known = budget != request_.budgets.end();
    json_.BeginObject().Field("id", device.id).Field("kind", vt::NameOf(device.kind));
    Text(json_, "name", device.name);
    json_.Field("budget_bytes", known ? budget->bytes : std::nullopt);
    Text(json_, "budget_source", known ? budget->source : std::string());
    json_.Field("reserve_bytes", known ? budget->reserve_bytes : 0);
    json_.Field("shares_host", known && budget->shares_host).Key("rows").BeginArray();
    std::uint64_t total = 0;
    for (const MemoryRow& row : plan_.rows) {
      if (row.device != device.id) continue;
      json_.BeginObject().Field("row", row.row).Field("bytes", row.predicted_bytes);
      Text(json_, "how", row.how);
      json_.EndObject();
      total += row.predicted_bytes;
    }
    json_.EndArray().Field("total_bytes", total).EndObject();
  }

  void WriteDevices() {
    json_.Key("devices").BeginArray();
    std::vector<std::string> written;
    for (const DevicePlan& device : plan_.devices) {
      WriteDevice(device.device);
      written.push_back(device.device.id);
    }
    for (const MemoryRow& row : plan_.rows) {
      if (std::find(written.begin(), written.end(), row.device) != written.end()) continue;
      DeviceInfo other;
      for (const DeviceInfo& device : request_.devices) {
        if (device.id == row.device) other = device;
      }
      other.id = row.device;
      WriteDevice(other);
      written.push_back(row.device);
    }
    json_.EndArray();
  }

  void WriteParts() {
    json_.Key("parts").BeginObject();
    json_.Field("input", Device(placement_.input)).Field("output", Device(placement_.output));
    json_.Key("layers").BeginArray();
    for (std::size_t i = 0; i < placement_.layers.size(); ++i) {
      const LayerPlacement& layer = placement_.layers[i];
      json_.BeginObject().Field("layer", i).Field("mixer", Device(layer.mixer));
      json_.Field("ffn", Device(layer.ffn)).Key("experts");
      if (spec_.layers[i].moe.experts > 0) {
        json_.Value(Device(layer.experts)).Field("expert_slots", layer.expert_slots);
      } else {
        json_.Null().Key("expert_slots").Null();
      }
      json_.EndObject();
    }
    json_.EndArray().EndObject();
  }

  // Why a tensor has no device: who reads it as values, and where.
  std::string ReadAs(std::size_t tensor) const {
    for (const RopeSpec& rope : spec_.ropes) {
      for (const WeightRef* ref : {&rope.factors, &rope.factors_long, &rope.factors_short}) {
        if (ref->tensor == static_cast<int>(tensor)) {
          return "read at the load, for the frequencies of rotations";
        }
      }
    }
    const std::vector<TensorReader>& readers = readers_[tensor];
    if (readers.empty()) return "unused";
    const TensorReader& first = readers.front();
    const int device =
        first.matrix >= 0
            ? placement_.tensors[static_cast<std::size_t>(first.matrix)]
            : DeviceOf(placement_, PartOf(first.layer, first.place), std::max(first.layer, 0));
    std::string reason = "read as f32 values by " + PlaceText(first.layer, first.place);
    if (device >= 0) reason += " on " + Device(device);
    if (readers.size() > 1) reason += " and " + std::to_string(readers.size() - 1) + " more";
    return reason;
  }

  void WriteTensors() {
    json_.Key("tensors").BeginArray();
    for (std::size_t i = 0; i < file_.tensors().size(); ++i) {
      const GgufTensor& tensor = file_.tensors()[i];
      const int device = placement_.tensors[i];
      json_.BeginObject().Field("name", tensor.name).Field("type", vt::NameOf(tensor.type));
      json_.Field("bytes", tensor.bytes).Key("device");
      if (device >= 0) {
        json_.Value(Device(device)).Field("held", vt::NameOf(placement_.held[i]));
      } else {
        json_.Null().Key("held").Null();
      }
      json_.Key("read_by").BeginArray();
      for (const TensorReader& reader : readers_[i]) {
        json_.Value(PlaceText(reader.layer, reader.place));
      }
      json_.EndArray();
      const bool reasoned = i < answer_.reasons.size() && !answer_.reasons[i].empty();
      if (device >= 0) {
        Text(json_, "reason", reasoned ? answer_.reasons[i] : std::string());
      } else {
        json_.Field("reason", ReadAs(i));
      }
      json_.EndObject();
    }
    json_.EndArray();
  }

  void WriteKvRow(std::size_t layer, std::string_view row, std::uint64_t bytes) {
    if (bytes == 0) return;
    json_.BeginObject().Field("layer", layer);
    json_.Field("device", Device(plan_.MixerOf(static_cast<int>(layer))));
    json_.Field("row", row).Field("bytes", bytes).EndObject();
  }

  // As the planner adds them up: every block of a layer by itself, aligned.
  void WriteKv() {
    json_.Key("kv").BeginArray();
    const auto sequences = static_cast<std::uint64_t>(plan_.options.sequences);
    for (std::size_t i = 0; i < plan_.kv.size(); ++i) {
      const KvLayerBytes& layer = plan_.kv[i];
      if (layer.group >= 0) {
        const auto cells = static_cast<std::uint64_t>(
            plan_.groups[static_cast<std::size_t>(layer.group)].pages * kPageCells);
        WriteKvRow(i, layer.row,
                   AlignUp(cells * layer.key_cell) + AlignUp(cells * layer.value_cell));
        WriteKvRow(i, kKvIndexer, AlignUp(cells * layer.index_cell));
      }
      if (i >= plan_.states.size()) continue;
      const auto bytes = [&](std::int64_t floats) {
        return AlignUp(sequences * static_cast<std::uint64_t>(floats) * sizeof(float));
      };
      WriteKvRow(i, "kv.state",
                 bytes(plan_.states[i].conv_floats) + bytes(plan_.states[i].state_floats));
    }
    json_.EndArray();
  }

  void WritePrediction() {
    const Prediction& p = answer_.prediction;
    json_.Key("prediction").BeginObject();
    Rate(json_, "decode_tok_per_s", p.decode_tok_per_s);
    Rate(json_, "prefill_tok_per_s", p.prefill_tok_per_s);
    json_.Key("bottlenecks").BeginObject();
    Text(json_, "decode", p.decode_bottleneck);
    Text(json_, "prefill", p.prefill_bottleneck);
    json_.EndObject();
    Text(json_, "missing", p.missing);
    json_.EndObject();
  }

  const GgufFile& file_;
  const ModelSpec& spec_;
  const PlanTool& tool_;
  const PlannedModel& model_;
  const PlaceRequest& request_;
  const PlaceAnswer& answer_;
  const EnginePlan& plan_;
  const Placement& placement_;
  const std::vector<std::vector<TensorReader>> readers_;
  JsonWriter json_;
};

}  // namespace

std::string WritePlanDocument(const GgufFile& file, const ModelSpec& spec,
                              const PlannedModel& model, const PlaceRequest& request,
                              const PlaceAnswer& answer, const PlanTool& tool) {
  return PlanWriter(file, spec, tool, model, request, answer).Write();
}

Result<PlaceAnswer> PlaceWhole(const GgufFile& file, const ModelSpec& spec,
                               const PlaceRequest& request) {
  const DeviceInfo& device = request.devices.front();
  Placement placement = WholePlacement(file, spec, device.id);
  PlaceAnswer answer;
  answer.reasons.resize(file.tensors().size());
  for (std::size_t i = 0; i < placement.tensors.size(); ++i) {
    if (placement.tensors[i] < 0) continue;
    answer.reasons[i] = "everything is on " + device.id;
    const Support kept = Keeps(device, file.tensors()[i].type);
    if (kept.yes) continue;
    placement.held[i] = Held::kExpanded;
    answer.reasons[i] += "; decoded: " + kept.reason;
  }
  EngineOptions options = request.options;
  options.placement = std::move(placement);
  VT_ASSIGN_OR_RETURN(answer.plan, MakePlan(file, spec, options, {device}));
  answer.exact = true;
  return answer;
}

}  // namespace vt
