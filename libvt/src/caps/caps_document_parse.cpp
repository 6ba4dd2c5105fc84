#include <algorithm>
#include <climits>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "caps/caps_document.h"

namespace vt {
namespace {

using nlohmann::ordered_json;

// A value and its JSON pointer; null where the key is absent.
struct Place {
  const ordered_json* json = nullptr;
  std::string at;

  bool given() const { return json && !json->is_null(); }
};

std::string Escaped(std::string_view key) {
  std::string escaped;
  for (const char c : key) {
    if (c == '~' || c == '/') {
      escaped.append(c == '~' ? "~0" : "~1");
    } else {
      escaped.push_back(c);
    }
  }
  return escaped;
}

// After the first error every call gives a harmless value; look at status() at the end. A key that
// is absent reads as null.
class Reader {
 public:
  const Status& status() const { return status_; }

  void Fail(const Place& place, const std::string& message) {
    if (status_.ok()) status_ = JsonError(place.at, message);
  }
  bool Is(const Place& place, bool right, const char* what) {
    if (right) return true;
    Fail(place, std::string("must be ") + what + " (found " +
                    (place.json ? place.json->type_name() : "nothing") + ")");
    return false;
  }
  Place Member(const Place& object, const std::string& key) {
    Place place{nullptr, object.at + "/" + Escaped(key)};
    if (!object.given() || !Is(object, object.json->is_object(), "an object")) return place;
    const auto found = object.json->find(key);
    if (found != object.json->end()) place.json = &*found;
    return place;
  }
  std::vector<Place> Elements(const Place& array) {
    std::vector<Place> places;
    if (!array.given() || !Is(array, array.json->is_array(), "an array")) return places;
    for (const ordered_json& element : *array.json) {
      places.push_back({&element, array.at + "/" + std::to_string(places.size())});
    }
    return places;
  }
  std::string Text(const Place& place) {  // null: empty
    if (!place.given() || !Is(place, place.json->is_string(), "a text")) return {};
    return place.json->get<std::string>();
  }
  std::string Name(const Place& place) {  // must be there
    if (!place.given()) Fail(place, "must be a text (found nothing)");
    return Text(place);
  }
  std::vector<std::string> Texts(const Place& array) {
    std::vector<std::string> texts;
    for (const Place& element : Elements(array)) texts.push_back(Name(element));
    return texts;
  }
  std::optional<bool> Flag(const Place& place) {
    if (!place.given() || !Is(place, place.json->is_boolean(), "true or false")) return {};
    return place.json->get<bool>();
  }
  std::optional<std::uint64_t> Whole(const Place& place) {
    if (!place.given() ||
        !Is(place, place.json->is_number_unsigned(), "a whole number of at least 0")) {
      return {};
    }
    return place.json->get<std::uint64_t>();
  }
  std::optional<int> Count(const Place& place) {
    const auto whole = Whole(place);
    if (!whole || !Is(place, *whole <= INT_MAX, "a smaller number")) return {};
    return static_cast<int>(*whole);
  }
  std::optional<double> Number(const Place& place) {
    if (!place.given() || !Is(place, place.json->is_number(), "a number")) return {};
    return place.json->get<double>();
  }

  MemoryFact Bytes(const Place& fact) {
    return {Whole(Member(fact, "value")), Text(Member(fact, "source"))};
  }
  Figure Rate(const Place& fact) {
    return {Number(Member(fact, "value")), Text(Member(fact, "source"))};
  }
  Answer YesOrNo(const Place& fact) {
    return {Flag(Member(fact, "value")), Text(Member(fact, "source"))};
  }

  // The member of `all` with that name.
  template <class T, class List>
  T OneOf(const Place& place, const List& all) {
    const std::string name = Name(place);
    std::string names;
    for (const T value : all) {
      if (NameOf(value) == name) return value;
      names.append(names.empty() ? "" : ", ").append(NameOf(value));
    }
    Fail(place, "\"" + name + "\" is not known (allowed: " + names + ")");
    return *std::begin(all);
  }

 private:
  Status status_;
};

BackendInfo ReadBackend(Reader& reader, const Place& place) {
  BackendInfo backend;
  backend.kind = reader.OneOf<DeviceKind>(reader.Member(place, "kind"), kDeviceKinds);
  backend.built = reader.Flag(reader.Member(place, "built")).value_or(false);
  backend.configure = reader.Text(reader.Member(place, "configure"));
  backend.archs = reader.Texts(reader.Member(place, "archs"));
  backend.registered = reader.Flag(reader.Member(place, "registered")).value_or(false);
  backend.reason = reader.Text(reader.Member(place, "reason"));
  return backend;
}

CpuTopology ReadTopology(Reader& reader, const Place& place) {
  CpuTopology topology;
  topology.packages = reader.Count(reader.Member(place, "packages"));
  topology.cores = reader.Count(reader.Member(place, "cores"));
  topology.threads = reader.Count(reader.Member(place, "threads"));
  const auto counts = [&](const Place& array) {
    std::vector<int> values;
    for (const Place& element : reader.Elements(array)) {
      values.push_back(reader.Count(element).value_or(0));
    }
    return values;
  };
  topology.allowed = counts(reader.Member(place, "allowed"));
  topology.allowed_cores = reader.Count(reader.Member(place, "allowed_cores"));
  topology.quota_cpus = reader.Rate(reader.Member(place, "quota_cpus"));
  for (const Place& node : reader.Elements(reader.Member(place, "numa"))) {
    topology.numa.push_back({reader.Count(reader.Member(node, "id")).value_or(0),
                             counts(reader.Member(node, "cpus")),
                             reader.Whole(reader.Member(node, "memory_bytes"))});
  }
  for (const Place& cache : reader.Elements(reader.Member(place, "caches"))) {
    topology.caches.push_back({reader.Count(reader.Member(cache, "level")).value_or(0),
                               reader.Whole(reader.Member(cache, "bytes")).value_or(0),
                               reader.Count(reader.Member(cache, "count")).value_or(0)});
  }
  return topology;
}

DeviceInfo ReadDevice(Reader& reader, const Place& place) {
  using State = FeatureFact::State;
  constexpr State kStates[] = {State::kUsable, State::kAbsent, State::kRefused};
  const auto member = [&](const char* key) { return reader.Member(place, key); };
  DeviceInfo device;
  device.described = true;
  reader.Is(place, place.given() && place.json->is_object(), "an object");
  device.id = reader.Name(member("id"));
  device.kind = reader.OneOf<DeviceKind>(member("kind"), kDeviceKinds);
  device.name = reader.Text(member("name"));
  device.arch = reader.Text(member("arch"));
  device.cores = std::max(1, reader.Count(member("cores")).value_or(1));
  for (const std::string& name : reader.Texts(member("features"))) {
    if (const auto feature = FindFeature(name)) device.features |= *feature;
  }
  for (const Place& fact : reader.Elements(member("feature_facts"))) {
    device.feature_facts.push_back({reader.Name(reader.Member(fact, "name")),
                                    reader.OneOf<State>(reader.Member(fact, "state"), kStates),
                                    reader.Text(reader.Member(fact, "reason"))});
  }
  device.topology = ReadTopology(reader, member("topology"));
  const Place memory = member("memory");
  device.memory_total = reader.Bytes(reader.Member(memory, "total_bytes"));
  device.memory_available = reader.Bytes(reader.Member(memory, "available_bytes"));
  device.memory_limit = reader.Bytes(reader.Member(memory, "limit_bytes"));
  device.memory_reserve = reader.Bytes(reader.Member(memory, "reserve_bytes"));
  device.memory_ceiling = reader.Bytes(reader.Member(memory, "ceiling_bytes"));
  device.integrated = reader.YesOrNo(member("integrated"));
  device.host_memory_addressable = reader.YesOrNo(member("host_memory_addressable"));
  device.managed_allocations = reader.YesOrNo(member("managed_allocations"));
  device.pageable_memory_access = reader.YesOrNo(member("pageable_memory_access"));
  device.memory_gb_per_s = reader.Rate(member("memory_gb_per_s"));
  device.link_gb_per_s = reader.Rate(member("link_gb_per_s"));
  const Place compute = member("compute_tflops");
  if (compute.given() && reader.Is(compute, compute.json->is_object(), "an object")) {
    for (const auto& [type, unused] : compute.json->items()) {
      device.compute_tflops.emplace(type, reader.Rate(reader.Member(compute, type)));
    }
  }
  if (member("kept_quant_types").given()) {
    device.kept_quant_types.emplace();
    for (const std::string& name : reader.Texts(member("kept_quant_types"))) {
      if (const DTypeInfo* info = FindDType(name)) device.kept_quant_types->push_back(info->type);
    }
  }
  for (std::string& op : reader.Texts(member("lacks_ops"))) device.lacks_ops.insert(std::move(op));
  return device;
}

CapsRow ReadRow(Reader& reader, const Place& place) {
  using State = CapsRow::State;
  constexpr State kStates[] = {State::kUsable, State::kUnusable, State::kNotBuilt};
  constexpr Tier kTiers[] = {Tier::kReference, Tier::kComposed, Tier::kNative};
  const auto member = [&](const char* key) { return reader.Member(place, key); };
  CapsRow row;
  reader.Is(place, place.given() && place.json->is_object(), "an object");
  row.op = reader.Name(member("op"));
  row.kernel = reader.Name(member("kernel"));
  row.kind = reader.OneOf<DeviceKind>(member("device_kind"), kDeviceKinds);
  row.tier = reader.OneOf<Tier>(member("tier"), kTiers);
  row.priority = reader.Count(member("priority")).value_or(0);
  for (const std::string& name : reader.Texts(member("needs"))) {
    if (const auto feature = FindFeature(name)) row.needs |= *feature;
  }
  row.types = reader.Texts(member("types"));
  row.activations = reader.Texts(member("activations"));
  row.state = reader.OneOf<State>(member("state"), kStates);
  row.reason = reader.Text(member("reason"));
  row.devices = reader.Texts(member("devices"));
  return row;
}

}  // namespace

Result<CapsReport> ParseCapsDocument(std::string_view text) {
  VT_ASSIGN_OR_RETURN(const ordered_json document, ParseJson(text));
  Reader reader;
  const Place root{&document, ""};
  const Place schema = reader.Member(root, "schema");
  if (!reader.Is(root, document.is_object(), "an object")) return reader.status();
  if (const std::string name = reader.Name(schema); reader.status().ok() && name != kCapsSchema) {
    reader.Fail(schema, "\"" + ValidUtf8(name) + "\" must be \"" + std::string(kCapsSchema) + "\"");
  }
  CapsReport report;
  const Place filters = reader.Member(root, "filters");
  report.filters.ops = reader.Texts(reader.Member(filters, "ops"));
  report.filters.dtypes = reader.Texts(reader.Member(filters, "dtypes"));
  report.filters.devices = reader.Texts(reader.Member(filters, "devices"));
  for (const Place& place : reader.Elements(reader.Member(root, "backends"))) {
    report.machine.backends.push_back(ReadBackend(reader, place));
  }
  for (const char* key : {"devices", "kernels"}) {
    const Place list = reader.Member(root, key);
    if (!list.given()) reader.Fail(list, "must be an array (found nothing)");
  }
  for (const Place& place : reader.Elements(reader.Member(root, "devices"))) {
    report.machine.devices.push_back(ReadDevice(reader, place));
    report.machine.devices.back().usable_kernels.emplace();
  }
  for (const Place& place : reader.Elements(reader.Member(root, "undriven"))) {
    report.undriven.push_back({.name = reader.Name(reader.Member(place, "name")),
                               .reason = reader.Text(reader.Member(place, "reason")),
                               .memory_total = reader.Bytes(reader.Member(place, "total_bytes")),
                               .memory_gb_per_s = {},
                               .link_gb_per_s = {},
                               .compute_tflops = {}});
  }
  for (const Place& place : reader.Elements(reader.Member(root, "kernels"))) {
    CapsRow row = ReadRow(reader, place);
    for (const std::string& id : row.devices) {
      for (DeviceInfo& device : report.machine.devices) {
        if (device.id == id) device.usable_kernels->insert(row.op + " " + row.kernel);
      }
    }
    report.rows.push_back(std::move(row));
  }
  if (!reader.status().ok()) return reader.status();
  return report;
}

}  // namespace vt
