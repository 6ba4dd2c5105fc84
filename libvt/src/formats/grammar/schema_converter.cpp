#include "formats/grammar/schema_converter.h"

#include <algorithm>

#include "base/json.h"
#include "base/near_names.h"
#include "formats/grammar/char_set.h"
#include "formats/grammar/integer_range.h"
#include "formats/grammar/pattern.h"
#include "vt/grammar.h"

namespace vt::grammar {
namespace {

constexpr int kDeepest = 150;  // schemas inside schemas

std::string Group(const std::vector<std::string>& choices) {
  if (choices.size() == 1) return choices.front();
  std::string text;
  for (const std::string& choice : choices) text += (text.empty() ? "(" : " | ") + choice;
  return text + ")";
}

// "{m,n}" with n absent where there is no bound.
std::string Times(std::uint64_t min, std::optional<std::uint64_t> max) {
  if (min == 0 && !max) return "*";
  return "{" + std::to_string(min) + "," + (max ? std::to_string(*max) : "") + "}";
}

std::optional<std::uint64_t> CountOf(const Json& schema, const char* keyword) {
  const auto value = schema.find(keyword);
  if (value == schema.end()) return std::nullopt;
  return value->get<std::uint64_t>();
}

Status NoCount(const SchemaPart& part, const char* what, std::uint64_t min, std::uint64_t max) {
  return JsonError(part.pointer, "no " + std::string(what) + " has at least " +
                                     std::to_string(min) + " and at most " + std::to_string(max));
}

}  // namespace

std::string SchemaConverter::NewName(const std::string& wanted) {
  constexpr std::size_t kLongest = 60;
  std::string base;
  for (const char c : wanted.substr(0, kLongest)) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    base += fits ? c : '-';
  }
  std::string name = base;
  for (int i = 2; FindBuiltin(name) || !names_.insert(name).second; ++i) {
    name = base + "-" + std::to_string(i);
  }
  return name;
}

void SchemaConverter::AddRule(const std::string& name, std::string body) {
  rules_.emplace_back(name, std::move(body));
}

std::string SchemaConverter::AddNewRule(const std::string& wanted, std::string body) {
  std::string name = NewName(wanted);
  AddRule(name, std::move(body));
  return name;
}

std::string SchemaConverter::Builtin(std::string_view name) {
  const BuiltinRule& rule = *FindBuiltin(name);
  if (builtins_.emplace(name).second) {
    for (const std::string_view used : rule.uses) Builtin(used);
  }
  return std::string(name);
}

Result<std::string> SchemaConverter::Convert() {
  names_.insert("root");
  VT_ASSIGN_OR_RETURN(const std::string root, Visit({root_, "", "root"}));
  std::string text = "root ::= " + root + "\n";
  for (const auto& [name, body] : rules_) text += name + " ::= " + body + "\n";
  for (const std::string& name : builtins_) {
    text += name + " ::= " + std::string(FindBuiltin(name)->body) + "\n";
  }
  return text;
}

SchemaConverter::Atom SchemaConverter::Visit(const SchemaPart& part) {
  VT_RETURN_IF_ERROR(CheckKeywords(part.schema, part.pointer));
  if (part.schema == false) return JsonError(part.pointer, "false fits no value");
  if (!HasAssertions(part.schema)) return Builtin("value");
  if (depth_ >= kDeepest) {
    return JsonError(part.pointer,
                     "schemas are more than " + std::to_string(kDeepest) + " deep; use $ref");
  }
  ++depth_;
  Atom atom = std::string();
  if (part.schema.contains("$ref")) {
    Json rest = part.schema;
    rest.erase("$ref");
    atom = HasAssertions(rest) ? VisitMerged(part) : VisitReference(part);
  } else if (part.schema.contains("allOf")) {
    atom = VisitMerged(part);
  } else if (part.schema.contains("anyOf")) {
    atom = VisitChoice(part, "anyOf");
  } else if (part.schema.contains("oneOf")) {
    atom = VisitChoice(part, "oneOf");
  } else if (part.schema.contains("const")) {
    atom = VisitValues(part, Json::array({part.schema["const"]}));
  } else if (part.schema.contains("enum")) {
    atom = VisitValues(part, part.schema["enum"]);
  } else {
    atom = VisitTypes(part);
  }
  --depth_;
  return atom;
}

// A schema that is put together anew each time it is met has one rule for one content.
SchemaConverter::Atom SchemaConverter::VisitMerged(const SchemaPart& part) {
  const std::string key = part.schema.dump();
  if (const auto it = merged_.find(key); it != merged_.end()) return it->second;
  const std::string name = NewName(part.name);
  merged_.emplace(key, name);
  VT_ASSIGN_OR_RETURN(const Json merged, Flatten(part, 0));
  VT_ASSIGN_OR_RETURN(std::string body, Visit({merged, part.pointer, name}));
  AddRule(name, std::move(body));
  return name;
}

SchemaConverter::Atom SchemaConverter::VisitReference(const SchemaPart& part) {
  const std::string text = part.schema["$ref"].get<std::string>();
  if (const auto it = references_.find(text); it != references_.end()) return it->second;
  VT_ASSIGN_OR_RETURN(const Json* const target, Target(part.schema["$ref"], part.pointer));
  const std::size_t slash = text.rfind('/');
  const std::string name =
      NewName(slash == std::string::npos ? "document" : "def-" + text.substr(slash + 1));
  references_.emplace(text, name);
  VT_ASSIGN_OR_RETURN(std::string body, Visit({*target, text.substr(1), name}));
  AddRule(name, std::move(body));
  return name;
}

SchemaConverter::Atom SchemaConverter::VisitChoice(const SchemaPart& part,
                                                   const std::string& keyword) {
  const Json& options = part.schema[keyword];
  Json rest = part.schema;
  rest.erase(keyword);
  const bool alone = !HasAssertions(rest);
  std::vector<Json> schemas;
  std::vector<std::string> atoms;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string number = std::to_string(i);
    const SchemaPart option = part.At(options[i], keyword + "/" + number, number);
    Json schema = options[i];
    if (!alone) {
      VT_ASSIGN_OR_RETURN(schema, Merge({rest, part.pointer, part.name}, option, 0));
    }
    VT_ASSIGN_OR_RETURN(std::string atom, Visit({schema, option.pointer, option.name}));
    for (std::size_t j = 0; keyword == "oneOf" && j < schemas.size(); ++j) {
      if (AreDisjoint(schemas[j], schema, 0)) continue;
      return JsonError(part.pointer + "/oneOf",
                       "a value may fit both option " + std::to_string(j) + " and option " +
                           number +
                           ", which oneOf excludes and a grammar cannot; use anyOf, or tell them "
                           "apart by type, const or a required property");
    }
    schemas.push_back(std::move(schema));
    if (std::find(atoms.begin(), atoms.end(), atom) == atoms.end()) {
      atoms.push_back(std::move(atom));
    }
  }
  return Group(atoms);
}

SchemaConverter::Atom SchemaConverter::VisitValues(const SchemaPart& part, const Json& values) {
  for (const auto& [name, value] : part.schema.items()) {
    if (IsAnnotation(name) || name == "const" || name == "enum" || name == "type" ||
        name == "$defs" || name == "definitions") {
      continue;
    }
    return JsonError(
        part.pointer + "/" + name,
        "beside enum or const, \"" + name + "\" is not supported; list the values that fit it");
  }
  const std::vector<std::string> types = TypesOf(part.schema);
  std::vector<std::string> choices;
  for (const Json& value : values) {
    const std::string type = TypeOfValue(value);
    const auto fits = [&](const std::string& t) {
      return t == type || (t == "number" && type == "integer");
    };
    if (!types.empty() && std::none_of(types.begin(), types.end(), fits)) continue;
    std::string choice = LiteralText(value.dump());
    if (std::find(choices.begin(), choices.end(), choice) == choices.end()) {
      choices.push_back(std::move(choice));
    }
  }
  if (choices.empty()) {
    return JsonError(part.pointer, "none of the values listed is of the type given (" +
                                       part.schema["type"].dump() + ")");
  }
  return Group(choices);
}

SchemaConverter::Atom SchemaConverter::VisitTypes(const SchemaPart& part) {
  std::vector<std::string> types = TypesOf(part.schema);
  // Every integer is a number.
  if (std::find(types.begin(), types.end(), "number") != types.end()) {
    std::erase(types, "integer");
  }
  std::vector<std::string> atoms;
  for (const std::string& type : types) {
    VT_ASSIGN_OR_RETURN(std::string atom, VisitType(part, type, types.size() == 1));
    atoms.push_back(std::move(atom));
  }
  return Group(atoms);
}

SchemaConverter::Atom SchemaConverter::VisitType(const SchemaPart& part, const std::string& type,
                                                 bool only_type) {
  const SchemaPart named = {part.schema, part.pointer,
                            only_type ? part.name : part.name + "-" + type};
  if (type == "object") return VisitObject(named);
  if (type == "array") return VisitArray(named);
  if (type == "string") return VisitString(named);
  if (type == "integer") return VisitInteger(named);
  return Builtin(type);
}

SchemaConverter::Atom SchemaConverter::VisitInteger(const SchemaPart& part) {
  VT_ASSIGN_OR_RETURN(const IntegerBounds bounds, BoundsOf(part.schema, part.pointer));
  if (!bounds.lowest && !bounds.highest) return Builtin("integer");
  return AddNewRule(part.name, IntegerRange(bounds.lowest, bounds.highest));
}

SchemaConverter::Atom SchemaConverter::VisitString(const SchemaPart& part) {
  const Json& schema = part.schema;
  const bool length = schema.contains("minLength") || schema.contains("maxLength");
  if (int{schema.contains("pattern")} + int{schema.contains("format")} + int{length} > 1) {
    return JsonError(part.pointer,
                     "pattern, format and lengths of one string cannot be put together; say it all "
                     "in the pattern");
  }
  if (schema.contains("format")) {
    const std::string format = schema["format"].get<std::string>();
    const std::vector<std::string_view> names = FormatNames();
    if (std::find(names.begin(), names.end(), format) == names.end()) {
      return JsonError(part.pointer + "/format",
                       "format \"" + format +
                           "\" is not supported (supported: date, date-time, "
                           "time, uuid)");
    }
    return AddNewRule(part.name, "\"\\\"\" " + Builtin(format) + " \"\\\"\"");
  }
  if (schema.contains("pattern")) {
    Builtin(kCharRule);
    const Result<std::string> body = PatternToGbnf(schema["pattern"].get<std::string>());
    if (!body.ok()) return JsonError(part.pointer + "/pattern", body.status().message());
    return AddNewRule(part.name, "\"\\\"\" " + *body + " \"\\\"\"");
  }
  if (!length) return Builtin("string");
  const std::uint64_t min = CountOf(schema, "minLength").value_or(0);
  const std::optional<std::uint64_t> max = CountOf(schema, "maxLength");
  if (max && *max < min) return NoCount(part, "string", min, *max);
  return AddNewRule(part.name, "\"\\\"\" " + Builtin(kCharRule) + Times(min, max) + " \"\\\"\"");
}

SchemaConverter::Atom SchemaConverter::VisitArray(const SchemaPart& part) {
  const Json& schema = part.schema;
  const std::uint64_t min = CountOf(schema, "minItems").value_or(0);
  std::optional<std::uint64_t> max = CountOf(schema, "maxItems");
  Json prefix = Json::array();
  std::string prefix_key = "prefixItems";
  bool has_item = true;
  if (schema.contains("prefixItems")) prefix = schema["prefixItems"];
  if (schema.contains("items") && schema["items"].is_array()) {
    // The form of the drafts before 2020-12.
    if (!prefix.empty()) {
      return JsonError(part.pointer + "/items", "is a list, as prefixItems is; leave one out");
    }
    prefix = schema["items"];
    prefix_key = "items";
    has_item = false;
  } else {
    // What follows a prefix is free by the standard, and left out here unless it is described.
    has_item = schema.contains("items") ? schema["items"] != false : prefix.empty();
  }
  if (!has_item) max = std::min<std::uint64_t>(max.value_or(prefix.size()), prefix.size());
  if (max && *max < min) return NoCount(part, "array", min, *max);

  const std::string ws = Builtin("ws");
  std::string item;
  if (has_item && (!max || *max > prefix.size())) {
    if (schema.contains("items")) {
      VT_ASSIGN_OR_RETURN(item, Visit(part.At(schema["items"], "items", "item")));
    } else {
      item = Builtin("value");
    }
  }
  // From the last possible item to the first: what may follow it.
  const std::string comma = "\",\" " + ws + " ";
  std::string tail;
  if (!item.empty()) {
    const std::uint64_t before = prefix.size();
    const std::uint64_t least = min > before ? min - before : 0;
    const std::optional<std::uint64_t> most = max ? std::optional(*max - before) : std::nullopt;
    if (before > 0) {
      tail = "(" + comma + item + " " + ws + ")" + Times(least, most);
    } else {
      const std::uint64_t more = least > 0 ? least - 1 : 0;
      tail = item + " " + ws;
      if (!most || *most > 1) {
        tail += " (" + comma + item + " " + ws + ")" +
                Times(more, most ? std::optional(*most - 1) : std::nullopt);
      }
      if (least == 0) tail = "(" + tail + ")?";
    }
  }
  const std::uint64_t listed = std::min<std::uint64_t>(prefix.size(), max.value_or(prefix.size()));
  for (std::uint64_t i = listed; i > 0; --i) {
    const std::string number = std::to_string(i - 1);
    VT_ASSIGN_OR_RETURN(const std::string atom,
                        Visit(part.At(prefix[i - 1], prefix_key + "/" + number, number)));
    tail = (i > 1 ? comma : "") + atom + " " + ws + (tail.empty() ? "" : " " + tail);
    if (i > min) tail = "(" + tail + ")?";
  }
  return AddNewRule(part.name, "\"[\" " + ws + " " + (tail.empty() ? "" : tail + " ") + "\"]\"");
}

}  // namespace vt::grammar

namespace vt {

Result<std::string> JsonSchemaToGbnf(std::string_view schema) {
  VT_ASSIGN_OR_RETURN(const grammar::Json json, ParseJson(schema));
  VT_ASSIGN_OR_RETURN(std::string text, grammar::SchemaConverter(json).Convert());
  if (const Result<Grammar> grammar = ParseGbnf(text); !grammar.ok()) {
    return JsonError(
        "", "the schema needs a grammar that cannot be used: at " + grammar.status().message());
  }
  return text;
}

}  // namespace vt
