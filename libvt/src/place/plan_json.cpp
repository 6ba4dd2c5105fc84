#include "place/plan_json.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "base/json_writer.h"
#include "place/plan_document.h"

namespace vt {
namespace {

using nlohmann::ordered_json;

void Write(const ordered_json& json, JsonWriter& out) {
  switch (json.type()) {
    case ordered_json::value_t::object:
      out.BeginObject();
      for (const auto& [key, member] : json.items()) {
        out.Key(key);
        Write(member, out);
      }
      out.EndObject();
      return;
    case ordered_json::value_t::array:
      out.BeginArray();
      for (const ordered_json& element : json) Write(element, out);
      out.EndArray();
      return;
    case ordered_json::value_t::string:
      out.Value(json.get_ref<const std::string&>());
      return;
    case ordered_json::value_t::boolean:
      out.Value(json.get<bool>());
      return;
    case ordered_json::value_t::number_integer:
      out.Value(json.get<std::int64_t>());
      return;
    case ordered_json::value_t::number_unsigned:
      out.Value(json.get<std::uint64_t>());
      return;
    case ordered_json::value_t::number_float:
      out.Value(json.get<double>());
      return;
    default:
      out.Null();
  }
}

Result<ordered_json> ParseObject(std::string_view text, const char* what) {
  VT_ASSIGN_OR_RETURN(ordered_json json, ParseJson(text));
  if (!json.is_object()) return JsonError("", std::string(what) + " must be a JSON object");
  return json;
}

}  // namespace

std::string CanonicalJson(const ordered_json& json,
                          std::initializer_list<std::string_view> leave_out) {
  JsonWriter out;
  if (!json.is_object() || leave_out.size() == 0) {
    Write(json, out);
    return out.Take();
  }
  out.BeginObject();
  for (const auto& [key, member] : json.items()) {
    if (std::find(leave_out.begin(), leave_out.end(), key) != leave_out.end()) continue;
    out.Key(key);
    Write(member, out);
  }
  return out.EndObject().Take();
}

std::string TextHash(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  char hex[48];
  std::snprintf(hex, sizeof hex, "xxh3-128:%016llx%016llx",
                static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return hex;
}

Result<std::string> PlanHash(std::string_view json) {
  VT_ASSIGN_OR_RETURN(const ordered_json plan, ParseObject(json, "a plan"));
  return TextHash(CanonicalJson(plan, {"hash", "fit"}));
}

Result<std::string> WithFitPart(std::string_view plan, std::string_view fit) {
  VT_ASSIGN_OR_RETURN(ordered_json document, ParseObject(plan, "a plan"));
  VT_ASSIGN_OR_RETURN(const ordered_json part, ParseObject(fit, "a verdict"));
  document.erase("fit");
  document["fit"] = part;
  return CanonicalJson(document);
}

}  // namespace vt
