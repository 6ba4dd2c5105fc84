// Which keywords there are, and what their values must be.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/json.h"
#include "base/near_names.h"
#include "formats/grammar/schema_converter.h"

namespace vt::grammar {
namespace {

enum class Form { kAny, kObject, kSchemas, kArray, kString, kStrings, kCount, kNumber, kFalse };

struct Keyword {
  std::string_view name;
  Form form;
  std::string_view type = {};  // of the values it speaks of; empty: all
};

const Keyword kKeywords[] = {
    {"$ref", Form::kString},
    {"$defs", Form::kObject},
    {"definitions", Form::kObject},
    {"type", Form::kAny},
    {"enum", Form::kArray},
    {"const", Form::kAny},
    {"anyOf", Form::kSchemas},
    {"oneOf", Form::kSchemas},
    {"allOf", Form::kSchemas},
    {"properties", Form::kObject, "object"},
    {"required", Form::kStrings, "object"},
    {"additionalProperties", Form::kAny, "object"},
    {"items", Form::kAny, "array"},
    {"prefixItems", Form::kSchemas, "array"},
    {"minItems", Form::kCount, "array"},
    {"maxItems", Form::kCount, "array"},
    {"uniqueItems", Form::kFalse, "array"},
    {"minLength", Form::kCount, "string"},
    {"maxLength", Form::kCount, "string"},
    {"pattern", Form::kString, "string"},
    {"format", Form::kString, "string"},
    {"minimum", Form::kNumber, "integer"},
    {"maximum", Form::kNumber, "integer"},
    {"exclusiveMinimum", Form::kNumber, "integer"},
    {"exclusiveMaximum", Form::kNumber, "integer"},
};

constexpr std::string_view kAnnotations[] = {"$schema",  "$id",      "$comment",   "title",
                                             "default",  "examples", "deprecated", "description",
                                             "readOnly", "writeOnly"};
constexpr std::string_view kTypes[] = {"object",  "array",   "string", "number",
                                       "integer", "boolean", "null"};

bool IsType(const Json& value) {
  return value.is_string() && std::find(std::begin(kTypes), std::end(kTypes),
                                        value.get_ref<const std::string&>()) != std::end(kTypes);
}

std::string AllTypes() {
  std::string text;
  for (const std::string_view type : kTypes) {
    text += (text.empty() ? "" : ", ") + std::string(type);
  }
  return text;
}

// What the value must be, where it is not that; empty where it is.
std::string Mismatch(const Keyword& keyword, const Json& value) {
  const auto strings = [](const Json& list) {
    return list.is_array() &&
           std::all_of(list.begin(), list.end(), [](const Json& item) { return item.is_string(); });
  };
  if (keyword.name == "type") {
    const bool list =
        value.is_array() && !value.empty() && std::all_of(value.begin(), value.end(), IsType);
    return list || IsType(value) ? "" : "one or several of " + AllTypes();
  }
  switch (keyword.form) {
    case Form::kAny:
      return "";
    case Form::kObject:
      return value.is_object() ? "" : "an object";
    case Form::kSchemas:
      return value.is_array() && !value.empty() ? "" : "an array of schemas";
    case Form::kArray:
      return value.is_array() && !value.empty() ? "" : "an array of values";
    case Form::kString:
      return value.is_string() ? "" : "a string";
    case Form::kStrings:
      return strings(value) ? "" : "an array of strings";
    case Form::kCount:
      return value.is_number_unsigned() && value.get<std::uint64_t>() <= 1'000'000
                 ? ""
                 : "a whole number from 0 to 1000000";
    case Form::kNumber:
      return value.is_number() ? "" : "a number";
    case Form::kFalse:
      return value == false ? "" : "false (no grammar can compare items)";
  }
  return "";
}

}  // namespace

bool IsAnnotation(std::string_view keyword) {
  return std::find(std::begin(kAnnotations), std::end(kAnnotations), keyword) !=
         std::end(kAnnotations);
}

bool HasAssertions(const Json& schema) {
  if (!schema.is_object()) return schema != true;
  return std::any_of(schema.items().begin(), schema.items().end(), [](const auto& item) {
    return !IsAnnotation(item.key()) && item.key() != "$defs" && item.key() != "definitions";
  });
}

Status CheckKeywords(const Json& schema, const std::string& pointer) {
  if (schema.is_boolean()) return {};
  if (!schema.is_object()) {
    return JsonError(pointer, "a schema is an object, true or false (" +
                                  std::string(schema.type_name()) + " given)");
  }
  std::vector<std::string_view> names;
  for (const Keyword& keyword : kKeywords) names.push_back(keyword.name);
  for (const auto& [name, value] : schema.items()) {
    if (IsAnnotation(name)) continue;
    const std::string at = pointer + "/" + PointerToken(name);
    const auto keyword =
        std::find_if(std::begin(kKeywords), std::end(kKeywords),
                     [&, &name = name](const Keyword& k) { return k.name == name; });
    if (keyword == std::end(kKeywords)) {
      const std::string near = NearNames(name, names);
      return JsonError(at, "keyword \"" + name + "\" is not supported" +
                               (near.empty() ? "" : " (near names: " + near + ")") +
                               "; leave it out, or write a grammar");
    }
    if (const std::string wanted = Mismatch(*keyword, value); !wanted.empty()) {
      return JsonError(at, "must be " + wanted + " (" + value.dump().substr(0, 60) + " given)");
    }
  }
  const std::vector<std::string> types = TypesOf(schema);
  for (const Keyword& keyword : kKeywords) {
    if (types.empty() || keyword.type.empty() || !schema.contains(keyword.name)) continue;
    const auto has = [&](std::string_view type) {
      return std::find(types.begin(), types.end(), type) != types.end();
    };
    const std::string at = pointer + "/" + std::string(keyword.name);
    if (keyword.type == "integer" && has("number")) {
      return JsonError(at, "keyword \"" + std::string(keyword.name) +
                               "\" is supported for type \"integer\" only");
    }
    if (!has(keyword.type)) {
      return JsonError(at, "keyword \"" + std::string(keyword.name) + "\" has an effect only on " +
                               std::string(keyword.type) + "s (the type here is " +
                               schema.at("type").dump() + "); leave it out");
    }
  }
  return {};
}

std::vector<std::string> TypesOf(const Json& schema) {
  std::vector<std::string> types;
  if (const auto type = schema.find("type"); type != schema.end()) {
    if (type->is_string()) return {type->get<std::string>()};
    for (const Json& item : *type) {
      std::string name = item.get<std::string>();
      if (std::find(types.begin(), types.end(), name) == types.end()) {
        types.push_back(std::move(name));
      }
    }
    return types;
  }
  for (const Keyword& keyword : kKeywords) {
    if (keyword.type.empty() || !schema.contains(keyword.name)) continue;
    const std::string type(keyword.type);
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  }
  return types;
}

std::string TypeOfValue(const Json& value) {
  if (value.is_number_integer()) return "integer";
  if (value.is_number_float()) {
    const double number = value.get<double>();
    return number == std::floor(number) ? "integer" : "number";
  }
  return value.type_name();
}

std::string PointerToken(const std::string& key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

Result<IntegerBounds> BoundsOf(const Json& schema, const std::string& pointer) {
  IntegerBounds bounds;
  for (const std::string name : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
    const auto value = schema.find(name);
    if (value == schema.end()) continue;
    const bool low = name == "minimum" || name == "exclusiveMinimum";
    const bool exclusive = name[0] == 'e';
    const Status too_large = JsonError(
        pointer + "/" + name, value->dump() + " is out of range (allowed -10^18 to 10^18)");
    constexpr std::int64_t kMost = 1'000'000'000'000'000'000;
    std::int64_t bound = 0;
    bool whole = true;
    if (value->is_number_float()) {
      const double number = value->get<double>();
      if (!(std::abs(number) <= static_cast<double>(kMost))) return too_large;
      const double rounded = low ? std::ceil(number) : std::floor(number);
      whole = rounded == number;
      bound = static_cast<std::int64_t>(rounded);
    } else {
      if (value->is_number_unsigned() &&
          value->get<std::uint64_t>() > static_cast<std::uint64_t>(kMost)) {
        return too_large;
      }
      bound = value->get<std::int64_t>();
      if (bound < -kMost || bound > kMost) return too_large;
    }
    if (exclusive && whole) bound += low ? 1 : -1;
    if (low) {
      bounds.lowest = bounds.lowest ? std::max(*bounds.lowest, bound) : bound;
    } else {
      bounds.highest = bounds.highest ? std::min(*bounds.highest, bound) : bound;
    }
  }
  if (bounds.lowest && bounds.highest && *bounds.lowest > *bounds.highest) {
    return JsonError(pointer, "no integer is at least " + std::to_string(*bounds.lowest) +
                                  " and at most " + std::to_string(*bounds.highest));
  }
  return bounds;
}

}  // namespace vt::grammar
