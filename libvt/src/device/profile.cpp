#include "device/profile.h"

#include <charconv>
#include <set>
#include <utility>

#include "base/json.h"
#include "device/profile_reader.h"

namespace vt {
namespace {

constexpr std::string_view kSchema = "vt.profile/1";

// What a feature is built upon: no processor has the first without the second.
constexpr std::pair<CpuFeature, CpuFeature> kBuiltUpon[] = {
    {kFeatureAvx512, kFeatureAvx2},
    {kFeatureAvx512Vnni, kFeatureAvx512},
};

DeviceKind ReadKind(ProfileReader& reader, const JsonPlace& place) {
  const std::string name = reader.Text(place);
  std::string names;
  for (const DeviceKind kind : kDeviceKinds) {
    if (name == NameOf(kind)) return kind;
    names.append(names.empty() ? "" : ", ").append(NameOf(kind));
  }
  reader.Fail(place.at, "\"" + name + "\" is no kind of device (allowed: " + names +
                            "); list what no backend drives under \"undriven\"");
  return DeviceKind::kCpu;
}

// "cpu" for the cpu; "cuda:0" and so on for the others.
std::string ReadId(ProfileReader& reader, const JsonPlace& place, DeviceKind kind) {
  std::string id = reader.Text(place);
  const std::string kind_name(NameOf(kind));
  if (kind == DeviceKind::kCpu) {
    if (id != kind_name) reader.Fail(place.at, "\"" + id + "\" must be \"cpu\" for this kind");
    return id;
  }
  int number = -1;
  if (id.starts_with(kind_name + ":")) {
    const char* digits = id.data() + kind_name.size() + 1;
    std::from_chars(digits, id.data() + id.size(), number);
  }
  if (number < 0 || id != kind_name + ":" + std::to_string(number)) {
    reader.Fail(place.at, "\"" + id + "\" must be \"" + kind_name + ":\" and a number, \"" +
                              kind_name + ":0\" for the first");
  }
  return id;
}

void ReadFeatures(ProfileReader& reader, const JsonPlace& place, DeviceInfo& device) {
  std::string names;
  for (const std::string_view name : FeatureNames(~0u)) {
    names.append(names.empty() ? "" : ", ").append(name);
  }
  for (const JsonPlace& element : reader.Elements(place)) {
    const std::string name = reader.Text(element);
    const auto feature = FindFeature(name);
    if (!feature) {
      reader.Fail(element.at, "\"" + name + "\" is no feature of a cpu (allowed: " + names + ")");
      return;
    }
    if (device.features & *feature) reader.Fail(element.at, "\"" + name + "\" is given twice");
    device.features |= *feature;
  }
  for (const auto& [feature, base] : kBuiltUpon) {
    if ((device.features & feature) && !(device.features & base)) {
      reader.Fail(place.at, std::string("\"")
                                .append(FeatureNames(feature)[0])
                                .append("\" needs \"")
                                .append(FeatureNames(base)[0])
                                .append("\"; add it"));
    }
  }
  for (const std::string_view name : FeatureNames(~0u)) {
    const bool usable = (device.features & *FindFeature(name)) != 0;
    device.feature_facts.push_back(
        {std::string(name), usable ? FeatureFact::State::kUsable : FeatureFact::State::kAbsent,
         usable ? "" : "not among the features of the profile"});
  }
}

CpuTopology ReadTopology(ProfileReader& reader, const JsonPlace& place) {
  CpuTopology topology;
  if (!place.given() ||
      !reader.Keys(place, {}, {"packages", "cores", "threads", "numa", "caches"})) {
    return topology;
  }
  const auto count = [&](const char* key) -> std::optional<int> {
    const JsonPlace member = reader.Member(place, key);
    if (!member.given()) return std::nullopt;
    return reader.Count(member);
  };
  topology.packages = count("packages");
  topology.cores = count("cores");
  topology.threads = count("threads");
  if (topology.packages.value_or(1) > topology.cores.value_or(1 << 20)) {
    reader.Fail(reader.Member(place, "packages").at, "more packages than cores");
  }
  if (topology.cores.value_or(1) > topology.threads.value_or(1 << 20)) {
    reader.Fail(reader.Member(place, "cores").at, "more cores than threads");
  }
  std::set<int> ids;
  for (const JsonPlace& element : reader.Elements(reader.Member(place, "numa"))) {
    if (!reader.Keys(element, {"id", "memory_bytes"})) break;
    const int id = reader.Count(reader.Member(element, "id"), 0);
    if (!ids.insert(id).second) {
      reader.Fail(reader.Member(element, "id").at, std::to_string(id) + " is given twice");
    }
    const JsonPlace bytes = reader.Member(element, "memory_bytes");
    NumaNode node;
    node.id = id;
    if (bytes.given()) node.memory_bytes = reader.Whole(bytes, 0);
    topology.numa.push_back(std::move(node));
  }
  for (const JsonPlace& element : reader.Elements(reader.Member(place, "caches"))) {
    if (!reader.Keys(element, {"level", "bytes", "count"})) break;
    topology.caches.push_back({.level = reader.Count(reader.Member(element, "level")),
                               .bytes = reader.Whole(reader.Member(element, "bytes"), 1),
                               .count = reader.Count(reader.Member(element, "count"))});
  }
  return topology;
}

void ReadMemory(ProfileReader& reader, const JsonPlace& place, DeviceInfo& device) {
  if (!reader.Keys(place, {"total_bytes"}, {"available_bytes", "reserve_bytes", "ceiling_bytes"})) {
    return;
  }
  device.memory_total = reader.Bytes(reader.Member(place, "total_bytes"));
  const std::pair<const char*, MemoryFact*> parts[] = {
      {"available_bytes", &device.memory_available},
      {"reserve_bytes", &device.memory_reserve},
      {"ceiling_bytes", &device.memory_ceiling},
  };
  for (const auto& [key, fact] : parts) {
    const JsonPlace part = reader.Member(place, key);
    *fact = reader.Bytes(part);
    if (fact->bytes && device.memory_total.bytes && *fact->bytes > *device.memory_total.bytes) {
      reader.Fail(part.at, std::to_string(*fact->bytes) + " is more than the total (" +
                               std::to_string(*device.memory_total.bytes) + ")");
    }
  }
}

std::vector<DType> ReadKeptTypes(ProfileReader& reader, const JsonPlace& place) {
  std::vector<DType> types;
  const std::vector<std::string> names = reader.Texts(place);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const DTypeInfo* info = FindDType(names[i]);
    if (info && info->block > 1) {
      types.push_back(info->type);
    } else {
      reader.Fail(place.at + "/" + std::to_string(i),
                  "\"" + names[i] +
                      (info ? "\" is not block-quantised; plain types are always held, leave it out"
                            : "\" is no weight type (they are named as in \"q8_0\" and \"q4_k\")"));
    }
  }
  return types;
}

std::map<std::string, KernelRate> ReadKernelRates(ProfileReader& reader, const JsonPlace& place) {
  std::map<std::string, KernelRate> rates;
  for (const auto& [name, element] : reader.Members(place)) {
    if (name != kAttentionRate && !FindDType(name)) {
      reader.Fail(element.at, "\"" + name + "\" is no weight type (as in \"q8_0\"), nor \"" +
                                  std::string(kAttentionRate) + "\"");
      break;
    }
    if (!reader.Keys(element, {}, {"gb_per_s", "tflops"})) break;
    rates.emplace(name, KernelRate{reader.Rate(reader.Member(element, "gb_per_s")),
                                   reader.Rate(reader.Member(element, "tflops"))});
  }
  return rates;
}

SimFaults ReadSim(ProfileReader& reader, const JsonPlace& place) {
  SimFaults faults;
  if (!place.given() || !reader.Keys(place, {},
                                     {"fail_at_byte", "probe_answers", "free_known",
                                      "free_wrong_bytes", "fail_at_wait"})) {
    return faults;
  }
  const auto count = [&](const char* key) -> std::optional<std::uint64_t> {
    const JsonPlace member = reader.Member(place, key);
    if (!member.given()) return std::nullopt;
    return reader.Whole(member, 0);
  };
  const auto flag = [&](const char* key) {
    const JsonPlace member = reader.Member(place, key);
    return !member.json || reader.Flag(member);
  };
  faults.fail_at_byte = count("fail_at_byte");
  faults.probe_answers = flag("probe_answers");
  faults.free_known = flag("free_known");
  faults.free_wrong_bytes = count("free_wrong_bytes");
  faults.fail_at_wait = count("fail_at_wait");
  if (faults.free_wrong_bytes && !faults.free_known) {
    reader.Fail(reader.Member(place, "free_wrong_bytes").at,
                "needs \"free_known\": a device that does not say what is free says nothing wrong");
  }
  return faults;
}

DeviceInfo ReadDevice(ProfileReader& reader, const JsonPlace& place) {
  DeviceInfo device;
  device.described = true;
  if (!reader.Keys(place, {"id", "kind", "name", "memory"},
                   {"arch", "features", "cores", "topology", "integrated",
                    "host_memory_addressable", "managed_allocations", "pageable_memory_access",
                    "memory_gb_per_s", "link_gb_per_s", "compute_tflops", "kernel_rates",
                    "launch_us", "kept_quant_types", "lacks_ops", "sim"})) {
    return device;
  }
  const auto member = [&](const char* key) { return reader.Member(place, key); };
  device.kind = ReadKind(reader, member("kind"));
  device.id = ReadId(reader, member("id"), device.kind);
  device.name = reader.Text(member("name"));
  if (member("arch").given()) device.arch = reader.Text(member("arch"));

  const bool is_cpu = device.kind == DeviceKind::kCpu;
  if (is_cpu || device.kind == DeviceKind::kSim) {
    ReadFeatures(reader, member("features"), device);
    if (member("cores").json) device.cores = reader.Count(member("cores"));
    if (is_cpu && !member("cores").json) reader.Fail(place.at, "lacks \"cores\"; add it");
    device.topology = ReadTopology(reader, member("topology"));
    if (device.cores > device.topology.threads.value_or(device.cores)) {
      reader.Fail(member("cores").at, "more cores to use than the machine has threads");
    }
  } else {
    for (const char* key : {"features", "cores", "topology"}) {
      if (member(key).json) {
        reader.Fail(member(key).at, "only a device of kind cpu or sim has it; leave it out");
      }
    }
  }
  ReadMemory(reader, member("memory"), device);
  device.integrated = reader.YesOrNo(member("integrated"));
  device.host_memory_addressable = reader.YesOrNo(member("host_memory_addressable"));
  device.managed_allocations = reader.YesOrNo(member("managed_allocations"));
  device.pageable_memory_access = reader.YesOrNo(member("pageable_memory_access"));
  device.memory_gb_per_s = reader.Rate(member("memory_gb_per_s"));
  device.link_gb_per_s = reader.Rate(member("link_gb_per_s"));
  device.compute_tflops = reader.ComputeRates(member("compute_tflops"));
  device.kernel_rates = ReadKernelRates(reader, member("kernel_rates"));
  device.launch_us = reader.Rate(member("launch_us"));
  if (member("kept_quant_types").given()) {
    device.kept_quant_types = ReadKeptTypes(reader, member("kept_quant_types"));
  }
  for (std::string& op : reader.Texts(member("lacks_ops"))) device.lacks_ops.insert(std::move(op));
  if (member("sim").given() || device.kind == DeviceKind::kSim) {
    device.sim = ReadSim(reader, member("sim"));
  }
  return device;
}

UndrivenDevice ReadUndriven(ProfileReader& reader, const JsonPlace& place) {
  UndrivenDevice device;
  if (!reader.Keys(place, {"name", "reason"},
                   {"total_bytes", "memory_gb_per_s", "link_gb_per_s", "compute_tflops"})) {
    return device;
  }
  device.name = reader.Text(reader.Member(place, "name"));
  device.reason = reader.Text(reader.Member(place, "reason"));
  device.memory_total = reader.Bytes(reader.Member(place, "total_bytes"));
  device.memory_gb_per_s = reader.Rate(reader.Member(place, "memory_gb_per_s"));
  device.link_gb_per_s = reader.Rate(reader.Member(place, "link_gb_per_s"));
  device.compute_tflops = reader.ComputeRates(reader.Member(place, "compute_tflops"));
  return device;
}

}  // namespace

Result<Profile> ParseProfile(std::string_view json) {
  VT_ASSIGN_OR_RETURN(const auto document, ParseJson(json));
  ProfileReader reader;
  const JsonPlace root{&document, ""};
  Profile profile;
  const JsonPlace schema = reader.Member(root, "schema");
  if (schema.given() &&
      reader.Text(schema) != kSchema) {  // before keys that another schema may have
    reader.Fail(schema.at, schema.json->dump() + " must be \"" + std::string(kSchema) + "\"");
  }
  if (!reader.Keys(root, {"schema", "name", "description", "devices"}, {"undriven"})) {
    return reader.status();
  }
  profile.name = reader.Text(reader.Member(root, "name"));
  profile.description = reader.Text(reader.Member(root, "description"));
  const JsonPlace devices = reader.Member(root, "devices");
  std::set<std::string> ids;
  for (const JsonPlace& place : reader.Elements(devices)) {
    profile.devices.push_back(ReadDevice(reader, place));
    const std::string& id = profile.devices.back().id;
    if (!ids.insert(id).second) {
      reader.Fail(reader.Member(place, "id").at, "\"" + id + "\" is the id of two devices");
    }
  }
  if (profile.devices.empty()) reader.Fail(devices.at, "must hold at least one device");
  for (const JsonPlace& place : reader.Elements(reader.Member(root, "undriven"))) {
    profile.undriven.push_back(ReadUndriven(reader, place));
  }
  if (!reader.status().ok()) return reader.status();
  return profile;
}

Result<std::vector<DeviceInfo>> SimDevices(const Profile& profile) {
  if (profile.devices.empty()) {
    return JsonError("/devices", std::string("a simulated device takes a profile with devices (\"")
                                     .append(profile.name)
                                     .append("\" has none)"));
  }
  std::vector<DeviceInfo> devices = profile.devices;
  for (DeviceInfo& device : devices) {
    device.kind = DeviceKind::kSim;
    device.described = false;
    if (!device.sim) device.sim.emplace();
  }
  return devices;
}

}  // namespace vt
