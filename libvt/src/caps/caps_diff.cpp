#include "caps/caps_diff.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/resolve.h"

namespace vt {
namespace {

template <class... Args>
std::set<std::string, std::less<>> WeightOps(const OpList<Args...>*) {
  std::set<std::string, std::less<>> ops;
  const auto add = [&]<class One>(const One& args) {
    if (WeightTypeOf(args)) ops.insert(One::kOp);
  };
  (add(Args{}), ...);
  return ops;
}

const DeviceInfo* Find(const Machine& machine, const std::string& id) {
  for (const DeviceInfo& device : machine.devices) {
    if (device.id == id) return &device;
  }
  return nullptr;
}

bool On(const CapsRow& row, const std::string& id) {
  return std::find(row.devices.begin(), row.devices.end(), id) != row.devices.end();
}

// "op kernel" of what is usable on a device, in the order of the document.
std::vector<std::pair<std::string, std::string>> Usable(const CapsReport& report,
                                                        const std::string& id) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const CapsRow& row : report.rows) {
    if (On(row, id)) rows.emplace_back(row.op, row.kernel);
  }
  return rows;
}

// The best tier of each op and type on a device.
std::map<std::pair<std::string, std::string>, Tier> Tiers(const CapsReport& report,
                                                          const DeviceInfo& device) {
  static const auto weight_ops = WeightOps(static_cast<const AllOps*>(nullptr));
  std::map<std::pair<std::string, std::string>, Tier> tiers;
  for (const CapsRow& row : report.rows) {
    if (!On(row, device.id)) continue;
    for (const std::string& type : row.types) {
      const DTypeInfo* info = FindDType(type);
      if (info && weight_ops.contains(row.op) && !Keeps(device, info->type).yes) continue;
      const auto [at, added] = tiers.emplace(std::pair(row.op, type), row.tier);
      if (!added) at->second = std::max(at->second, row.tier);
    }
  }
  return tiers;
}

std::vector<std::string> Missing(std::uint32_t from, std::uint32_t in) {
  std::vector<std::string> names;
  for (const std::string_view name : FeatureNames(from & ~in)) names.emplace_back(name);
  return names;
}

void DiffDevice(const CapsReport& a, const CapsReport& b, const DeviceInfo& in_a,
                const DeviceInfo& in_b, CapsDiff& diff) {
  const std::string& id = in_a.id;
  if (in_a.features != in_b.features) {
    diff.devices.push_back({id, true, true, Missing(in_a.features, in_b.features),
                            Missing(in_b.features, in_a.features)});
  }
  const auto usable_a = Usable(a, id), usable_b = Usable(b, id);
  const auto add_rows = [&](const auto& has, const auto& lacks, bool only_a) {
    for (const auto& row : has) {
      if (std::find(lacks.begin(), lacks.end(), row) == lacks.end()) {
        diff.kernels.push_back({row.first, row.second, id, only_a});
      }
    }
  };
  add_rows(usable_a, usable_b, true);
  add_rows(usable_b, usable_a, false);

  const auto tiers_a = Tiers(a, in_a), tiers_b = Tiers(b, in_b);
  std::set<std::pair<std::string, std::string>> asked;
  for (const auto* tiers : {&tiers_a, &tiers_b}) {
    for (const auto& [key, unused] : *tiers) asked.insert(key);
  }
  for (const auto& key : asked) {
    const auto tier = [&](const auto& tiers) {
      const auto found = tiers.find(key);
      return found == tiers.end() ? std::nullopt : std::optional(found->second);
    };
    if (tier(tiers_a) != tier(tiers_b)) {
      diff.types.push_back({key.first, key.second, id, tier(tiers_a), tier(tiers_b)});
    }
  }
  const auto memory = [&](const char* fact, const MemoryFact& one, const MemoryFact& other) {
    if (one.bytes != other.bytes) diff.memory.push_back({id, fact, one.bytes, other.bytes});
  };
  memory("total_bytes", in_a.memory_total, in_b.memory_total);
  memory("limit_bytes", in_a.memory_limit, in_b.memory_limit);
  memory("ceiling_bytes", in_a.memory_ceiling, in_b.memory_ceiling);
}

}  // namespace

Result<CapsDiff> DiffCaps(const CapsReport& a, const CapsReport& b) {
  if (a.filters.ops != b.filters.ops || a.filters.dtypes != b.filters.dtypes ||
      a.filters.devices != b.filters.devices) {
    return InvalidError(
        "the two documents were made with different filters (--op, --dtype, --device); make both "
        "with the same");
  }
  CapsDiff diff;
  for (const DeviceInfo& device : a.machine.devices) {
    if (const DeviceInfo* other = Find(b.machine, device.id)) {
      DiffDevice(a, b, device, *other, diff);
    } else {
      diff.devices.push_back({.id = device.id, .in_a = true});
    }
  }
  for (const DeviceInfo& device : b.machine.devices) {
    if (!Find(a.machine, device.id)) diff.devices.push_back({.id = device.id, .in_b = true});
  }
  return diff;
}

void WriteDiffBody(const CapsDiff& diff, JsonWriter& json) {
  json.Field("same", diff.same()).Key("devices").BeginArray();
  for (const CapsDiff::Device& device : diff.devices) {
    json.BeginObject().Field("id", device.id).Field("in_a", device.in_a);
    json.Field("in_b", device.in_b);
    for (const auto& [key, names] : {std::pair("features_only_a", &device.features_only_a),
                                     {"features_only_b", &device.features_only_b}}) {
      json.Key(key).BeginArray();
      for (const std::string& name : *names) json.Value(name);
      json.EndArray();
    }
    json.EndObject();
  }
  json.EndArray().Key("kernels").BeginArray();
  for (const CapsDiff::Kernel& row : diff.kernels) {
    json.BeginObject().Field("op", row.op).Field("kernel", row.kernel);
    json.Field("device", row.device).Field("only", row.only_a ? "a" : "b").EndObject();
  }
  json.EndArray().Key("types").BeginArray();
  for (const CapsDiff::Type& type : diff.types) {
    json.BeginObject().Field("op", type.op).Field("type", type.type).Field("device", type.device);
    for (const auto& [key, tier] : {std::pair("a", type.a), {"b", type.b}}) {
      json.Key(key);
      if (tier) {
        json.Value(NameOf(*tier));
      } else {
        json.Null();
      }
    }
    json.EndObject();
  }
  json.EndArray().Key("memory").BeginArray();
  for (const CapsDiff::Memory& memory : diff.memory) {
    json.BeginObject().Field("device", memory.device).Field("fact", memory.fact);
    json.Field("a", memory.a).Field("b", memory.b).EndObject();
  }
  json.EndArray();
}

}  // namespace vt
