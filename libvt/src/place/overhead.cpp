#include "place/overhead.h"

#include <algorithm>

#include "base/json.h"
#include "place/budget.h"

namespace vt {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// Of the host: the program itself, and for each byte of a header its page and what the tokenizer
// keeps of it. Measured: 8 MiB, and 3.7 to 5.4 bytes for each byte of three models' headers.
constexpr std::uint64_t kHostRuntime = 12 * kMiB;
constexpr std::uint64_t kPerHeaderByte = 6;
constexpr std::uint64_t kMostHeader = 32 * kMiB;

struct KindOverhead {
  DeviceKind kind;
  std::uint64_t runtime;
  std::uint64_t margin;
};
// A context with its modules and libraries; a simulated device has none, and counts to the byte.
constexpr KindOverhead kKinds[] = {{DeviceKind::kCpu, kHostRuntime, 32 * kMiB},
                                   {DeviceKind::kCuda, 512 * kMiB, 64 * kMiB},
                                   {DeviceKind::kHip, 384 * kMiB, 64 * kMiB},
                                   {DeviceKind::kSim, 0, 0}};

const CalibratedDevice* FindCalibrated(const Calibration& calibration, const DeviceInfo& device) {
  for (const CalibratedDevice& one : calibration.devices) {
    const bool same = one.name.empty() || device.name.empty() || one.name == device.name;
    if (one.id == device.id && same) return &one;
  }
  return nullptr;
}

Result<std::uint64_t> ReadBytes(const nlohmann::ordered_json& json, const std::string& pointer,
                                const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_unsigned()) {
    return JsonError(pointer + "/" + key, "must be a whole number of bytes");
  }
  const auto bytes = found->get<std::uint64_t>();
  if (bytes > kMostBudgetBytes) return JsonError(pointer + "/" + key, "is more than 2^50 bytes");
  return bytes;
}

}  // namespace

std::uint64_t HeaderBytes(const GgufFile& file) {
  std::uint64_t headers = 0, files = 0, tensors = 0;
  bool folder = false;
  for (const GgufShard& shard : file.shards()) {
    if (shard.computed) continue;
    headers += shard.header_bytes;
    files += shard.file_bytes;
    folder = folder || shard.version == 0;
  }
  if (folder) return headers;
  // A document that describes a file leaves long texts out, but not the sizes.
  for (const GgufTensor& tensor : file.tensors()) tensors += tensor.bytes;
  return std::min(files - std::min(files, tensors), kMostHeader);
}

Overhead OverheadOf(const GgufFile& file, const DeviceInfo& device, const Calibration& calibration,
                    std::uint64_t more_header_bytes) {
  Overhead overhead;
  for (const KindOverhead& one : kKinds) {
    if (one.kind != device.kind) continue;
    overhead.runtime_bytes = one.runtime;
    overhead.margin_bytes = one.margin;
  }
  const bool host = device.kind == DeviceKind::kCpu;
  const std::uint64_t header = HeaderBytes(file) + more_header_bytes;
  if (const CalibratedDevice* measured = FindCalibrated(calibration, device)) {
    overhead.runtime_bytes = measured->runtime_bytes;
    overhead.runtime_how = "measured (" + calibration.file + ")";
    if (host && header > measured->header_bytes) {
      overhead.runtime_bytes += kPerHeaderByte * (header - measured->header_bytes);
    }
    return overhead;
  }
  if (host) overhead.runtime_bytes += kPerHeaderByte * header;
  overhead.runtime_how = "assumed for " + std::string(NameOf(device.kind));
  return overhead;
}

void WriteCalibratedDevices(JsonWriter& json, const std::vector<CalibratedDevice>& devices) {
  json.Key("devices").BeginArray();
  for (const CalibratedDevice& device : devices) {
    json.BeginObject().Field("id", device.id).Key("name");
    if (device.name.empty()) {
      json.Null();
    } else {
      json.Value(device.name);
    }
    json.Field("runtime_bytes", device.runtime_bytes);
    json.Field("header_bytes", device.header_bytes).EndObject();
  }
  json.EndArray();
}

Result<Calibration> ReadCalibration(std::string_view text, std::string file) {
  VT_ASSIGN_OR_RETURN(const nlohmann::ordered_json json, ParseJson(text));
  const auto schema = json.is_object() ? json.find("schema") : json.end();
  if (!json.is_object() || schema == json.end() || *schema != kCalibrationSchema) {
    return JsonError("/schema", "must be \"" + std::string(kCalibrationSchema) + "\"");
  }
  const auto devices = json.find("devices");
  if (devices == json.end() || !devices->is_array()) {
    return JsonError("/devices", "must be a list of devices");
  }
  Calibration calibration{std::move(file), {}};
  for (std::size_t i = 0; i < devices->size(); ++i) {
    const std::string pointer = "/devices/" + std::to_string(i);
    const nlohmann::ordered_json& one = (*devices)[i];
    if (!one.is_object() || !one.contains("id") || !one["id"].is_string()) {
      return JsonError(pointer + "/id", "must be the id of a device");
    }
    CalibratedDevice device;
    device.id = one["id"].get<std::string>();
    if (one.contains("name") && one["name"].is_string()) device.name = one["name"];
    VT_ASSIGN_OR_RETURN(device.runtime_bytes, ReadBytes(one, pointer, "runtime_bytes"));
    VT_ASSIGN_OR_RETURN(device.header_bytes, ReadBytes(one, pointer, "header_bytes"));
    calibration.devices.push_back(std::move(device));
  }
  return calibration;
}

}  // namespace vt
