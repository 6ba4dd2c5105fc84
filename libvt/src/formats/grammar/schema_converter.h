// JSON Schema to GBNF: one object turns one schema into rules.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vt/status.h"

namespace vt::grammar {

using Json = nlohmann::ordered_json;

// A schema and where it stands, for messages and for the names of its rules.
struct SchemaPart {
  const Json& schema;
  std::string pointer;
  std::string name;

  // The part below, for a value of `schema` at the keys given.
  SchemaPart At(const Json& part, const std::string& key, const std::string& name_part) const {
    return {part, pointer + "/" + key, name_part.empty() ? name : name + "-" + name_part};
  }
};

struct KeyTree;

class SchemaConverter {
 public:
  explicit SchemaConverter(const Json& root) : root_(root) {}
  Result<std::string> Convert();

 private:
  // Each gives an atom: an expression that may be repeated as it stands.
  using Atom = Result<std::string>;
  Atom Visit(const SchemaPart& part);
  Atom VisitMerged(const SchemaPart& part);
  Atom VisitReference(const SchemaPart& part);
  Atom VisitChoice(const SchemaPart& part, const std::string& keyword);
  Atom VisitValues(const SchemaPart& part, const Json& values);
  Atom VisitTypes(const SchemaPart& part);
  Atom VisitType(const SchemaPart& part, const std::string& type, bool only_type);
  Atom VisitObject(const SchemaPart& part);
  Atom VisitArray(const SchemaPart& part);
  Atom VisitString(const SchemaPart& part);
  Atom VisitInteger(const SchemaPart& part);

  Result<std::vector<std::pair<std::string, Json>>> Members(const SchemaPart& part);
  Result<std::string> OtherKey(const SchemaPart& part, const Json& keys);
  std::string OtherEnds(const KeyTree& tree, const std::string& name);

  // The schema with $ref (where other keywords stand beside it) and allOf worked in.
  Result<Json> Flatten(const SchemaPart& part, int depth);
  Result<Json> Merge(const SchemaPart& a, const SchemaPart& b, int depth);
  Result<const Json*> Target(const Json& reference, const std::string& pointer) const;
  // No value fits both, as far as can be told from types, values and required members.
  bool AreDisjoint(const Json& a, const Json& b, int depth);

  // A rule's name and body; the name gets a number where it is taken.
  std::string NewName(const std::string& wanted);
  void AddRule(const std::string& name, std::string body);
  std::string AddNewRule(const std::string& wanted, std::string body);
  std::string Builtin(std::string_view name);

  const Json& root_;
  std::vector<std::pair<std::string, std::string>> rules_;
  std::set<std::string> names_;
  std::map<std::string, std::string> references_;  // pointer -> rule
  std::map<std::string, std::string> merged_;      // schema text -> rule
  std::set<std::string> builtins_;
  int depth_ = 0;
};

// Keywords that only describe.
bool IsAnnotation(std::string_view keyword);
// Whether anything but annotations is there.
bool HasAssertions(const Json& schema);
// kInvalid for a keyword that is not supported or has a value of the wrong kind.
Status CheckKeywords(const Json& schema, const std::string& pointer);
// The types of `type`, or those that the other keywords speak of; empty: any.
std::vector<std::string> TypesOf(const Json& schema);
std::string TypeOfValue(const Json& value);  // "integer" for whole numbers
// Text for a JSON pointer: "~" and "/" escaped.
std::string PointerToken(const std::string& key);

// `minimum`.. as the lowest and highest integer. kInvalid: a bound that no 64-bit integer holds.
struct IntegerBounds {
  std::optional<std::int64_t> lowest, highest;
};
Result<IntegerBounds> BoundsOf(const Json& schema, const std::string& pointer);

// The rules that any JSON value is made of, and those of the formats: name, body, names used.
struct BuiltinRule {
  std::string_view name;
  std::string_view body;
  std::vector<std::string_view> uses;
};
const BuiltinRule* FindBuiltin(std::string_view name);
std::vector<std::string_view> FormatNames();

}  // namespace vt::grammar
