// Schemas that must hold together ($ref with keywords beside it, allOf, keywords beside anyOf) as
// one schema.
#include <algorithm>

#include "base/json.h"
#include "formats/grammar/schema_converter.h"

namespace vt::grammar {
namespace {

constexpr int kDeepest = 50;  // references and allOf inside each other

Json Both(const Json& a, const Json& b) {
  if (a == b) return a;
  return {{"allOf", Json::array({a, b})}};
}

// The values of `const` or `enum`; nullopt where there is neither.
std::optional<Json> ValuesOf(const Json& schema) {
  if (const auto value = schema.find("const"); value != schema.end()) return Json::array({*value});
  if (const auto values = schema.find("enum"); values != schema.end()) return *values;
  return std::nullopt;
}

bool Contains(const Json& list, const Json& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// "integer" where one side says number and the other integer.
std::vector<std::string> CommonTypes(const std::vector<std::string>& a,
                                     const std::vector<std::string>& b) {
  const auto has = [](const std::vector<std::string>& list, const std::string& type) {
    return std::find(list.begin(), list.end(), type) != list.end();
  };
  std::vector<std::string> common;
  for (const std::string& type : a) {
    if (has(b, type) || (type == "integer" && has(b, "number"))) common.push_back(type);
    if (type == "number" && !has(b, type) && has(b, "integer")) common.push_back("integer");
  }
  return common;
}

// Keywords with one number of which the larger, or the smaller, holds for both.
bool IsLowerBound(const std::string& name) {
  return name == "minimum" || name == "exclusiveMinimum" || name == "minLength" ||
         name == "minItems";
}
bool IsUpperBound(const std::string& name) {
  return name == "maximum" || name == "exclusiveMaximum" || name == "maxLength" ||
         name == "maxItems";
}

// The properties of `from`, as they are under the other side's additionalProperties.
Status AddProperties(const Json& from, const Json& other, const std::string& pointer,
                     Json* properties) {
  const auto own = from.find("properties");
  if (own == from.end()) return {};
  const auto rule = other.find("additionalProperties");
  for (const auto& [key, schema] : own->items()) {
    const bool known = other.contains("properties") && other["properties"].contains(key);
    if (known) {
      Json& merged = (*properties)[key];
      merged = merged.is_null() ? schema : Both(merged, schema);
    } else if (rule == other.end() || *rule == true) {
      (*properties)[key] = schema;
    } else if (*rule == false) {
      const auto is_required = [&key = key](const Json& side) {
        return side.contains("required") && Contains(side["required"], key);
      };
      if (is_required(from) || is_required(other)) {
        return JsonError(pointer, "property \"" + key +
                                      "\" is required by one part and excluded by the "
                                      "additionalProperties of another");
      }
    } else {
      (*properties)[key] = Both(schema, *rule);
    }
  }
  return {};
}

}  // namespace

Result<const Json*> SchemaConverter::Target(const Json& reference,
                                            const std::string& pointer) const {
  const auto& text = reference.get_ref<const std::string&>();
  const std::string at = pointer + "/$ref";
  if (!text.starts_with('#') || (text.size() > 1 && text[1] != '/')) {
    return JsonError(at, "\"" + text +
                             "\" is not supported; write a reference inside this document, "
                             "#/$defs/NAME");
  }
  // Percent signs stand for bytes, as in every URI.
  std::string path;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] != '%') {
      path += text[i];
      continue;
    }
    const std::string digits = text.substr(i + 1, 2);
    if (digits.size() != 2 ||
        digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
      return JsonError(at, "\"" + text + "\": \"%\" is not followed by two hexadecimal digits");
    }
    path += static_cast<char>(std::stoi(digits, nullptr, 16));
    i += 2;
  }
  const Json* target = &root_;
  for (std::size_t pos = 0; pos < path.size();) {
    const std::size_t end = std::min(path.find('/', pos + 1), path.size());
    std::string key;
    for (std::size_t i = pos + 1; i < end; ++i) {
      const bool escaped = path[i] == '~' && i + 1 < end;
      key += escaped ? (path[i + 1] == '0' ? '~' : '/') : path[i];
      if (escaped) ++i;
    }
    pos = end;
    const bool index = target->is_array() && !key.empty() && key.size() < 7 &&
                       key.find_first_not_of("0123456789") == std::string::npos;
    if (target->is_object() && target->contains(key)) {
      target = &(*target)[key];
    } else if (index && std::stoul(key) < target->size()) {
      target = &(*target)[std::stoul(key)];
    } else {
      return JsonError(
          at, "\"" + text + "\" names nothing in this document (\"" + key + "\" is not there)");
    }
  }
  return target;
}

Result<Json> SchemaConverter::Flatten(const SchemaPart& part, int depth) {
  VT_RETURN_IF_ERROR(CheckKeywords(part.schema, part.pointer));
  if (depth > kDeepest) {
    return JsonError(part.pointer, "references and allOf are more than " +
                                       std::to_string(kDeepest) +
                                       " deep; a schema may not be a part of itself without a "
                                       "property or item in between");
  }
  if (part.schema.is_boolean()) {
    if (part.schema == true) return Json::object();
    return JsonError(part.pointer, "false fits no value");
  }
  const bool refers = part.schema.contains("$ref");
  const bool merges = part.schema.contains("allOf");
  if (!refers && !merges) return part.schema;
  Json merged = part.schema;
  merged.erase("$ref");
  merged.erase("allOf");
  if (refers) {
    VT_ASSIGN_OR_RETURN(const Json* const target, Target(part.schema["$ref"], part.pointer));
    const std::string pointer = part.schema["$ref"].get<std::string>().substr(1);
    VT_ASSIGN_OR_RETURN(const Json flat, Flatten({*target, pointer, part.name}, depth + 1));
    VT_ASSIGN_OR_RETURN(
        merged, Merge({flat, pointer, part.name}, {merged, part.pointer, part.name}, depth + 1));
  }
  if (merges) {
    const Json& parts = part.schema["allOf"];
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const SchemaPart one = part.At(parts[i], "allOf/" + std::to_string(i), "");
      VT_ASSIGN_OR_RETURN(const Json flat, Flatten(one, depth + 1));
      VT_ASSIGN_OR_RETURN(
          merged, Merge({merged, part.pointer, part.name}, {flat, one.pointer, one.name}, depth));
    }
  }
  // A part may have brought an allOf of its own through a property only, never at this level.
  return merged;
}

Result<Json> SchemaConverter::Merge(const SchemaPart& a, const SchemaPart& b, int depth) {
  VT_ASSIGN_OR_RETURN(const Json left, Flatten(a, depth + 1));
  VT_ASSIGN_OR_RETURN(const Json right, Flatten(b, depth + 1));
  if (!HasAssertions(left)) return right;
  if (!HasAssertions(right)) return left;
  const std::string& at = b.pointer;
  Json out = Json::object();
  const std::optional<Json> left_values = ValuesOf(left), right_values = ValuesOf(right);
  if (left_values && right_values) {
    Json common = Json::array();
    for (const Json& value : *left_values) {
      if (Contains(*right_values, value)) common.push_back(value);
    }
    if (common.empty()) return JsonError(at, "no value is allowed by all parts");
    out["enum"] = common;
  }
  const std::vector<std::string> left_types = TypesOf(left), right_types = TypesOf(right);
  if (!left_types.empty() && !right_types.empty()) {
    const std::vector<std::string> types = CommonTypes(left_types, right_types);
    if (types.empty()) {
      return JsonError(at, "no type is allowed by all parts (" + Json(left_types).dump() + " and " +
                               Json(right_types).dump() + ")");
    }
    out["type"] = types.size() == 1 ? Json(types[0]) : Json(types);
  }
  if (left.contains("properties") || right.contains("properties")) {
    Json properties = Json::object();
    VT_RETURN_IF_ERROR(AddProperties(left, right, at, &properties));
    VT_RETURN_IF_ERROR(AddProperties(right, left, at, &properties));
    out["properties"] = std::move(properties);
  }
  if ((left.contains("items") && right.contains("prefixItems")) ||
      (right.contains("items") && left.contains("prefixItems"))) {
    return JsonError(at, "items of one part and prefixItems of another cannot be put together");
  }
  for (const Json* const side : {&left, &right}) {
    const Json& other = side == &left ? right : left;
    for (const auto& [name, value] : side->items()) {
      if (out.contains(name) || IsAnnotation(name) || name == "$defs" || name == "definitions") {
        continue;
      }
      if (!other.contains(name)) {
        if (!((name == "const" || name == "enum") && out.contains("enum"))) out[name] = value;
      } else if (other[name] == value) {
        out[name] = value;
      } else if (name == "required") {
        out[name] = value;
        for (const Json& key : other[name]) {
          if (!Contains(out[name], key)) out[name].push_back(key);
        }
      } else if (IsLowerBound(name)) {
        out[name] = std::max(value, other[name]);
      } else if (IsUpperBound(name)) {
        out[name] = std::min(value, other[name]);
      } else if (name == "items" || name == "additionalProperties") {
        out[name] = value == false || other[name] == false ? Json(false) : Both(value, other[name]);
      } else if (name == "const" || name == "enum") {
        continue;
      } else {
        return JsonError(at, "\"" + name +
                                 "\" in several parts that must hold together cannot be "
                                 "put together; write it in one of them");
      }
    }
  }
  return out;
}

bool SchemaConverter::AreDisjoint(const Json& a, const Json& b, int depth) {
  constexpr int kDeepestCompared = 4;
  if (depth > kDeepestCompared) return false;
  const auto flat = [this](const Json& schema) { return Flatten({schema, "", ""}, 0); };
  const Result<Json> left = flat(a), right = flat(b);
  if (!left.ok() || !right.ok()) return false;
  for (const char* keyword : {"anyOf", "oneOf"}) {
    const auto all_apart = [&](const Json& one, const Json& other) {
      return one.contains(keyword) &&
             std::all_of(one[keyword].begin(), one[keyword].end(),
                         [&](const Json& option) { return AreDisjoint(option, other, depth + 1); });
    };
    if (all_apart(*left, *right) || all_apart(*right, *left)) return true;
  }
  const auto values_fit = [](const Json& values, const std::vector<std::string>& types) {
    return types.empty() || std::any_of(values.begin(), values.end(), [&](const Json& value) {
             return !CommonTypes({TypeOfValue(value)}, types).empty();
           });
  };
  const std::optional<Json> left_values = ValuesOf(*left), right_values = ValuesOf(*right);
  if (left_values && right_values) {
    return std::none_of(left_values->begin(), left_values->end(),
                        [&](const Json& value) { return Contains(*right_values, value); });
  }
  // Types that are only implied by other keywords exclude nothing.
  const auto stated = [](const Json& s) {
    return s.contains("type") ? TypesOf(s) : std::vector<std::string>();
  };
  const std::vector<std::string> left_types = stated(*left), right_types = stated(*right);
  if (left_values) return !values_fit(*left_values, right_types);
  if (right_values) return !values_fit(*right_values, left_types);
  if (left_types.empty() || right_types.empty()) return false;
  const std::vector<std::string> common = CommonTypes(left_types, right_types);
  if (common.empty()) return true;
  if (common != std::vector<std::string>{"object"}) return false;
  // A member that one needs, and the other cannot have in that form.
  const auto excludes = [&](const Json& one, const Json& other) {
    if (!one.contains("required")) return false;
    for (const Json& name : one["required"]) {
      const std::string key = name.get<std::string>();
      const bool here = one.contains("properties") && one["properties"].contains(key);
      const bool there = other.contains("properties") && other["properties"].contains(key);
      if (!there && other.contains("additionalProperties") &&
          other["additionalProperties"] == false) {
        return true;
      }
      if (here && there &&
          AreDisjoint(one["properties"][key], other["properties"][key], depth + 1)) {
        return true;
      }
    }
    return false;
  };
  return excludes(*left, *right) || excludes(*right, *left);
}

}  // namespace vt::grammar
