#include "cli/json_schema.h"

#include <algorithm>
#include <set>

#include "support/test_files.h"

namespace vt::test {
namespace {

using nlohmann::json;

bool HasType(const json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return type == value.type_name();
}

class Checker {
 public:
  explicit Checker(const json& root) : root_(root) {}

  std::string Check(const json& value, const json& schema, const std::string& at) const {
    static const std::set<std::string> kKnown = {
        "$schema", "title",    "type",       "const",
        "enum",    "required", "properties", "additionalProperties",
        "items",   "oneOf",    "$ref",       "$defs"};
    for (const auto& [word, unused] : schema.items()) {
      if (!kKnown.contains(word)) return at + ": the schema uses " + word;
    }
    if (schema.contains("$ref")) {
      const std::string ref = schema["$ref"];
      return Check(value, root_.at(json::json_pointer(ref.substr(1))), at);
    }
    if (schema.contains("const") && value != schema["const"]) {
      return at + ": is not " + schema["const"].dump();
    }
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end()) {
      return at + ": " + value.dump() + " is not one of " + schema["enum"].dump();
    }
    if (schema.contains("type")) {
      const json types = schema["type"].is_array() ? schema["type"] : json::array({schema["type"]});
      const bool fits = std::any_of(types.begin(), types.end(),
                                    [&](const json& type) { return HasType(value, type); });
      if (!fits) return at + ": " + value.dump() + " is no " + types.dump();
    }
    if (schema.contains("oneOf")) {
      std::string reasons;
      int fitting = 0;
      for (const json& choice : schema["oneOf"]) {
        const std::string why = Check(value, choice, at);
        if (why.empty()) ++fitting;
        reasons += why + "; ";
      }
      if (fitting != 1) return at + ": fits " + std::to_string(fitting) + " of: " + reasons;
    }
    if (value.is_object()) return CheckObject(value, schema, at);
    if (value.is_array() && schema.contains("items")) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        const std::string why = Check(value[i], schema["items"], at + "/" + std::to_string(i));
        if (!why.empty()) return why;
      }
    }
    return "";
  }

 private:
  std::string CheckObject(const json& value, const json& schema, const std::string& at) const {
    if (schema.contains("required")) {
      for (const std::string key : schema["required"]) {
        if (!value.contains(key)) return at + ": lacks " + key;
      }
    }
    const json none = json::object();
    const json& properties = schema.contains("properties") ? schema["properties"] : none;
    for (const auto& [key, member] : value.items()) {
      std::string why;
      if (properties.contains(key)) {
        why = Check(member, properties[key], at + "/" + key);
      } else if (schema.contains("additionalProperties")) {
        if (schema["additionalProperties"] == false) return at + ": has an unknown key " + key;
        why = Check(member, schema["additionalProperties"], at + "/" + key);
      }
      if (!why.empty()) return why;
    }
    return "";
  }

  const json& root_;
};

}  // namespace

std::string SchemaErrors(const json& document, const std::string& schema) {
  return ErrorsAgainst(json::parse(ReadFile(DataPath("../../docs/json/" + schema))), document);
}

std::string ErrorsAgainst(const json& root, const json& document) {
  return Checker(root).Check(document, root, "");
}

}  // namespace vt::test
