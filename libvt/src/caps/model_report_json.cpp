// The members of vt.caps-model/1.
#include <string_view>

#include "caps/model_report.h"
#include "caps/model_shapes.h"

namespace vt {
namespace {

void WriteText(JsonWriter& json, std::string_view key, std::string_view text) {
  json.Key(key);
  if (text.empty()) {
    json.Null();
  } else {
    json.Value(text);
  }
}

void WriteTier(JsonWriter& json, std::string_view key, std::optional<Tier> tier) {
  WriteText(json, key, tier ? NameOf(*tier) : std::string_view());
}

void WriteTexts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.Key(key).BeginArray();
  for (const std::string& text : texts) json.Value(text);
  json.EndArray();
}

void WriteModel(JsonWriter& json, const ModelReport& report) {
  json.Key("model").BeginObject().Field("file", report.file).Field("digest", report.digest);
  WriteText(json, "architecture", report.architecture);
  WriteText(json, "name", report.name);
  json.Field("bytes", report.bytes).EndObject();
  json.Key("options").BeginObject();
  json.Field("context", report.options.context).Field("ubatch", report.options.ubatch);
  json.Field("kv_type", NameOf(report.options.kv_type)).Field("exact", report.options.exact);
  json.EndObject();
  json.Field("from", report.from_forward ? "forward pass" : "tensor table");
  WriteText(json, "unknown_reason", report.unknown_reason);
}

void WriteDevices(JsonWriter& json, const ModelReport& report) {
  json.Key("devices").BeginArray();
  for (const DeviceVerdict& device : report.devices) {
    json.BeginObject().Field("id", device.info.id).Field("kind", NameOf(device.info.kind));
    WriteText(json, "name", device.info.name);
    WriteText(json, "arch", device.info.arch);
    json.Field("described", device.info.described);
    json.Key("build").BeginObject().Field("built", device.built);
    WriteText(json, "configure", device.configure);
    json.EndObject();
    json.Field("native", device.native).Field("composed", device.composed);
    json.Field("reference", device.reference).Field("missing", device.missing);
    WriteTier(json, "lowest", device.lowest);
    json.EndObject();
  }
  json.EndArray();
}

void WriteShape(JsonWriter& json, const NeededGroup& need) {
  if (need.calls.empty()) {
    json.Key("type").Null().Key("form").Null().Key("shape").Null();
    return;
  }
  const OpShape shape = ShapeOf(need.calls.front().call);
  WriteText(json, "type", shape.type);
  WriteText(json, "form", shape.form);
  json.Key("shape").BeginObject();
  for (const NamedSize& size : shape.sizes) json.Field(size.name, size.value);
  json.EndObject();
}

void WriteGroup(JsonWriter& json, const ModelReport& report, const AnsweredGroup& group) {
  const NeededGroup& need = group.need;
  json.BeginObject().Field("op", need.op);
  WriteShape(json, need);
  json.Field("calls", need.count);
  WriteTexts(json, "places", GatherLayers(need.places));
  WriteTexts(json, "tensors", need.tensors);
  json.Key("answers").BeginArray();
  for (const GroupAnswer& answer : group.answers) {
    json.BeginObject().Field("device", report.devices[answer.device].info.id);
    json.Key("tokens").BeginArray();
    for (const std::int64_t tokens : answer.tokens) json.Value(tokens);
    json.EndArray();
    WriteTier(json, "tier", answer.tier);
    WriteText(json, "kernel", answer.kernel);
    WriteText(json, "refusal", answer.tier ? std::string_view() : NameOf(answer.refusal));
    WriteText(json, "reason", answer.reason);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace

void WriteModelReport(JsonWriter& json, const ModelReport& report) {
  WriteModel(json, report);
  WriteDevices(json, report);
  json.Key("ops").BeginArray();
  for (const AnsweredGroup& group : report.groups) WriteGroup(json, report, group);
  json.EndArray();
  json.Key("tensors").BeginObject();
  json.Field("count", report.tensors).Field("read", report.tensors - report.left.size());
  json.Key("left").BeginArray();
  for (const LeftTensor& tensor : report.left) {
    json.BeginObject().Field("name", tensor.name).Field("reason", tensor.reason).EndObject();
  }
  json.EndArray().EndObject();
  json.Key("verdict").BeginObject();
  WriteTier(json, "require", report.require);
  json.Field("yes", report.yes()).Field("below", report.below);
  WriteTexts(json, "nowhere", report.nowhere);
  json.EndObject();
}

}  // namespace vt
