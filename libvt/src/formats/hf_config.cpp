#include "formats/hf_config.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "formats/file_error.h"

namespace vt {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;

using Json = nlohmann::ordered_json;

const Json* Walk(const Json* node, std::string_view key) {
  while (node && !key.empty()) {
    const std::size_t dot = key.find('.');
    const std::string_view name = key.substr(0, dot);
    key.remove_prefix(dot == std::string_view::npos ? key.size() : dot + 1);
    if (node->is_object()) {
      const auto found = node->find(std::string(name));
      node = found == node->end() ? nullptr : &*found;
    } else {
      std::size_t index = 0;
      const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
      const bool inside = node->is_array() && parsed.ec == std::errc() &&
                          parsed.ptr == name.data() + name.size() && index < node->size();
      node = inside ? &(*node)[index] : nullptr;
    }
  }
  return node && !node->is_null() ? node : nullptr;
}

std::string Shown(const Json& value) {
  constexpr std::size_t kMost = 80;
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

bool IsWhole(const Json& value) {
  return value.is_number_unsigned() ||
         (value.is_number_integer() && value.get<std::int64_t>() >= 0);
}

}  // namespace

Result<HfConfig> HfConfig::Read(const std::string& path, const MappedFile& file) {
  return Parse(path,
               {reinterpret_cast<const char*>(file.data()), static_cast<std::size_t>(file.size())});
}

Result<HfConfig> HfConfig::Parse(const std::string& path, std::string_view text) {
  if (text.size() > kMostBytes) {
    return FileUnsupported(path, std::to_string(text.size()) + " bytes (at most " +
                                     std::to_string(kMostBytes) + " are read)");
  }
  Result<Json> json = ParseJson(text);
  if (!json.ok()) return FileCorrupt(path, json.status().message());
  if (!json->is_object()) return FileCorrupt(path, "holds no JSON object");
  HfConfig config;
  config.path_ = path;
  config.root_ = std::make_shared<const Json>(std::move(json).value());
  return config;
}

void HfConfig::Prefer(std::string_view key) {
  const Json* const node = Walk(root_.get(), key);
  if (node && node->is_object()) preferred_ = node;
}

const HfConfig::Json* HfConfig::Find(std::string_view key) const {
  const Json* const found = Walk(preferred_, key);
  return found ? found : Walk(root_.get(), key);
}

Status HfConfig::Bad(std::string_view key, const std::string& what) const {
  return FileCorrupt(path_, "key " + Quoted(key) + ": " + what);
}

Status HfConfig::Unsupported(std::string_view key, const std::string& what) const {
  return FileUnsupported(path_, "key " + Quoted(key) + ": " + what);
}

Status HfConfig::Wrong(std::string_view key, const Json& value, const char* wanted) const {
  return Bad(key, Shown(value) + " (want " + wanted + ")");
}

Result<std::optional<std::uint64_t>> HfConfig::U64(std::string_view key) const {
  const Json* const value = Find(key);
  if (!value) return std::optional<std::uint64_t>();
  if (!IsWhole(*value)) return Wrong(key, *value, "a whole number, 0 or more");
  return std::optional(value->get<std::uint64_t>());
}

Result<std::optional<double>> HfConfig::F64(std::string_view key) const {
  const Json* const value = Find(key);
  if (!value) return std::optional<double>();
  if (!value->is_number()) return Wrong(key, *value, "a number");
  return std::optional(value->get<double>());
}

Result<std::optional<bool>> HfConfig::Bool(std::string_view key) const {
  const Json* const value = Find(key);
  if (!value) return std::optional<bool>();
  if (!value->is_boolean()) return Wrong(key, *value, "true or false");
  return std::optional(value->get<bool>());
}

Result<std::optional<std::string>> HfConfig::String(std::string_view key) const {
  const Json* const value = Find(key);
  if (!value) return std::optional<std::string>();
  if (!value->is_string()) return Wrong(key, *value, "a string");
  return std::optional(value->get<std::string>());
}

Result<std::vector<std::string>> HfConfig::Strings(std::string_view key) const {
  std::vector<std::string> out;
  const Json* const value = Find(key);
  if (!value) return out;
  if (value->is_string()) return std::vector{value->get<std::string>()};
  const bool strings =
      value->is_array() &&
      std::all_of(value->begin(), value->end(), [](const Json& e) { return e.is_string(); });
  if (!strings) return Wrong(key, *value, "an array of strings");
  for (const Json& element : *value) out.push_back(element.get<std::string>());
  return out;
}

Result<std::vector<std::uint64_t>> HfConfig::U64s(std::string_view key) const {
  std::vector<std::uint64_t> out;
  const Json* const value = Find(key);
  if (!value) return out;
  if (IsWhole(*value)) return std::vector{value->get<std::uint64_t>()};
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), IsWhole)) {
    return Wrong(key, *value, "an array of whole numbers, 0 or more");
  }
  for (const Json& element : *value) out.push_back(element.get<std::uint64_t>());
  return out;
}

std::vector<std::string> HfConfig::Keys(std::string_view key) const {
  std::vector<std::string> keys;
  const Json* const value = Find(key);
  if (!value || !value->is_object()) return keys;
  for (const auto& [name, unused] : value->items()) keys.push_back(name);
  return keys;
}

std::size_t HfConfig::Size(std::string_view key) const {
  const Json* const value = Find(key);
  return value && value->is_array() ? value->size() : 0;
}

std::string HfConfig::TypeName(std::string_view key) const {
  const Json* const value = Find(key);
  return value ? value->type_name() : "null";
}

Result<std::uint64_t> HfConfig::NeedU64(std::string_view key) const {
  VT_ASSIGN_OR_RETURN(const std::optional<std::uint64_t> value, U64(key));
  if (!value) return Bad(key, "missing (want a whole number)");
  return *value;
}

Result<double> HfConfig::NeedF64(std::string_view key) const {
  VT_ASSIGN_OR_RETURN(const std::optional<double> value, F64(key));
  if (!value) return Bad(key, "missing (want a number)");
  return *value;
}

Status HfConfig::CheckString(std::string_view key,
                             const std::vector<std::string_view>& allowed) const {
  VT_ASSIGN_OR_RETURN(const std::optional<std::string> value, String(key));
  if (!value || std::find(allowed.begin(), allowed.end(), *value) != allowed.end()) return {};
  std::string names;
  for (const std::string_view name : allowed) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return Unsupported(key, Quoted(*value) + " is not supported (allowed: " + names + ")");
}

}  // namespace vt
