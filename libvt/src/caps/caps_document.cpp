#include "caps/caps_document.h"

namespace vt {
namespace {

JsonWriter& TextOrNull(JsonWriter& json, std::string_view key, std::string_view text) {
  json.Key(key);
  return text.empty() ? json.Null() : json.Value(text);
}

template <class T>
void WriteFact(JsonWriter& json, std::string_view key, const std::optional<T>& value,
               std::string_view source) {
  json.Key(key).BeginObject().Field("value", value);
  TextOrNull(json, "source", source).EndObject();
}
void WriteFact(JsonWriter& json, std::string_view key, const MemoryFact& fact) {
  WriteFact(json, key, fact.bytes, fact.source);
}
void WriteFact(JsonWriter& json, std::string_view key, const Figure& figure) {
  WriteFact(json, key, figure.value, figure.source);
}
void WriteFact(JsonWriter& json, std::string_view key, const Answer& answer) {
  WriteFact(json, key, answer.yes, answer.source);
}

template <class List>
void WriteList(JsonWriter& json, std::string_view key, const List& values) {
  json.Key(key).BeginArray();
  for (const auto& value : values) json.Value(value);
  json.EndArray();
}

void WriteBackend(JsonWriter& json, const BackendInfo& backend) {
  json.BeginObject().Field("kind", NameOf(backend.kind)).Field("built", backend.built);
  TextOrNull(json, "configure", backend.configure);
  WriteList(json, "archs", backend.archs);
  json.Field("registered", backend.registered);
  TextOrNull(json, "reason", backend.reason).EndObject();
}

void WriteTopology(JsonWriter& json, const CpuTopology& topology) {
  json.Key("topology").BeginObject();
  json.Field("packages", topology.packages).Field("cores", topology.cores);
  json.Field("threads", topology.threads);
  WriteList(json, "allowed", topology.allowed);
  json.Field("allowed_cores", topology.allowed_cores);
  WriteFact(json, "quota_cpus", topology.quota_cpus);
  json.Key("numa").BeginArray();
  for (const NumaNode& node : topology.numa) {
    json.BeginObject().Field("id", node.id);
    WriteList(json, "cpus", node.cpus);
    json.Field("memory_bytes", node.memory_bytes).EndObject();
  }
  json.EndArray().Key("caches").BeginArray();
  for (const CacheLevel& cache : topology.caches) {
    json.BeginObject().Field("level", cache.level).Field("bytes", cache.bytes);
    json.Field("count", cache.count).EndObject();
  }
  json.EndArray().EndObject();
}

void WriteDevice(JsonWriter& json, const DeviceInfo& device) {
  json.BeginObject().Field("id", device.id).Field("kind", NameOf(device.kind));
  TextOrNull(json, "name", device.name);
  TextOrNull(json, "arch", device.arch).Field("cores", device.cores);
  WriteList(json, "features", FeatureNames(device.features));
  json.Key("feature_facts").BeginArray();
  for (const FeatureFact& fact : device.feature_facts) {
    json.BeginObject().Field("name", fact.name).Field("state", NameOf(fact.state));
    TextOrNull(json, "reason", fact.reason).EndObject();
  }
  json.EndArray();
  WriteTopology(json, device.topology);
  json.Key("memory").BeginObject();
  WriteFact(json, "total_bytes", device.memory_total);
  WriteFact(json, "available_bytes", device.memory_available);
  WriteFact(json, "limit_bytes", device.memory_limit);
  WriteFact(json, "reserve_bytes", device.memory_reserve);
  WriteFact(json, "ceiling_bytes", device.memory_ceiling);
  WriteFact(json, "usable_bytes", device.memory_usable());
  json.EndObject();
  WriteFact(json, "integrated", device.integrated);
  WriteFact(json, "host_memory_addressable", device.host_memory_addressable);
  WriteFact(json, "managed_allocations", device.managed_allocations);
  WriteFact(json, "pageable_memory_access", device.pageable_memory_access);
  WriteFact(json, "memory_gb_per_s", device.memory_gb_per_s);
  WriteFact(json, "link_gb_per_s", device.link_gb_per_s);
  json.Key("compute_tflops").BeginObject();
  for (const auto& [type, figure] : device.compute_tflops) WriteFact(json, type, figure);
  json.EndObject().Key("kept_quant_types");
  if (device.kept_quant_types) {
    json.BeginArray();
    for (const DType type : *device.kept_quant_types) json.Value(NameOf(type));
    json.EndArray();
  } else {
    json.Null();
  }
  WriteList(json, "lacks_ops", device.lacks_ops);
  json.EndObject();
}

void WriteFigures(JsonWriter& json, const VerifyFigures& figures) {
  json.BeginObject().Field("device", figures.device).Field("state", NameOf(figures.state));
  TextOrNull(json, "reason", figures.reason);
  // A process that did not come to its end has nothing to tell.
  if (figures.state == VerifyFigures::State::kCrash ||
      figures.state == VerifyFigures::State::kHang) {
    for (const char* key : {"cases", "values", "wrong_values", "max_error", "bound", "worst_case",
                            "nmse", "gb_per_s"}) {
      json.Key(key).Null();
    }
    json.EndObject();
    return;
  }
  json.Field("cases", figures.cases).Field("values", figures.values);
  json.Field("wrong_values", figures.wrong_values).Field("max_error", figures.max_error);
  json.Field("bound", figures.bound);
  TextOrNull(json, "worst_case", figures.worst_case);
  json.Field("nmse", figures.nmse).Field("gb_per_s", figures.gb_per_s).EndObject();
}

void WriteRow(JsonWriter& json, const CapsRow& row) {
  json.BeginObject().Field("op", row.op).Field("kernel", row.kernel);
  json.Field("device_kind", NameOf(row.kind)).Field("tier", NameOf(row.tier));
  json.Field("priority", row.priority);
  WriteList(json, "needs", FeatureNames(row.needs));
  WriteList(json, "types", row.types);
  WriteList(json, "activations", row.activations);
  json.Field("state", NameOf(row.state));
  TextOrNull(json, "reason", row.reason);
  WriteList(json, "devices", row.devices);
  json.Key("verify");
  if (row.verify.empty()) {
    json.Null();
  } else {
    json.BeginArray();
    for (const VerifyFigures& figures : row.verify) WriteFigures(json, figures);
    json.EndArray();
  }
  json.EndObject();
}

}  // namespace

void WriteCapsBody(const CapsReport& report, JsonWriter& json) {
  json.Key("filters").BeginObject();
  WriteList(json, "ops", report.filters.ops);
  WriteList(json, "dtypes", report.filters.dtypes);
  WriteList(json, "devices", report.filters.devices);
  json.EndObject().Key("backends").BeginArray();
  for (const BackendInfo& backend : report.machine.backends) WriteBackend(json, backend);
  json.EndArray().Key("devices").BeginArray();
  for (const DeviceInfo& device : report.machine.devices) WriteDevice(json, device);
  json.EndArray().Key("undriven").BeginArray();
  for (const UndrivenDevice& device : report.undriven) {
    json.BeginObject().Field("name", device.name).Field("reason", device.reason);
    WriteFact(json, "total_bytes", device.memory_total);
    json.EndObject();
  }
  json.EndArray().Key("kernels").BeginArray();
  for (const CapsRow& row : report.rows) WriteRow(json, row);
  json.EndArray();
}

}  // namespace vt
