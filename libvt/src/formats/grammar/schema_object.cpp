// Objects: members in the schema's order, optional ones left out or not, others after them.
#include <algorithm>
#include <memory>

#include "base/json.h"
#include "formats/grammar/char_set.h"
#include "formats/grammar/pattern.h"
#include "formats/grammar/schema_converter.h"

namespace vt::grammar {
namespace {

// The characters that stand for themselves in a JSON string.
CharSet Plain() { return CharSet({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}).Complement(); }

}  // namespace

// Keys as a tree of characters.
struct KeyTree {
  static constexpr std::size_t kDeepest = 256;  // characters that are told apart

  bool is_key = false;
  bool blocked = false;  // a key goes on below that is not followed further
  std::map<char32_t, std::unique_ptr<KeyTree>> next;

  void Add(std::u32string_view key) {
    KeyTree* node = this;
    for (const char32_t c : key.substr(0, kDeepest)) {
      std::unique_ptr<KeyTree>& child = node->next[c];
      if (!child) child = std::make_unique<KeyTree>();
      node = child.get();
    }
    (key.size() > kDeepest ? node->blocked : node->is_key) = true;
  }
};

// A rule for the ends of keys that begin as the tree's do and are none of them. While a key may
// still become one of them it is spelled without escapes, which could hide that.
std::string SchemaConverter::OtherEnds(const KeyTree& tree, const std::string& name) {
  const CharSet plain = Plain();
  CharSet others = plain;
  std::string body;
  for (const auto& [c, child] : tree.next) {
    others = others.Intersection(CharSet({{c, c}}).Complement());
    if (!plain.Has(c) || child->blocked) continue;
    body += LiteralText(std::u32string(1, c)) + " " + OtherEnds(*child, name) + " | ";
  }
  body += ClassText(others) + " " + std::string(kCharRule) + "*";
  return AddNewRule(name, tree.is_key ? body : "(" + body + ")?");
}

// The members in order, with those that are required but described nowhere at the end.
Result<std::vector<std::pair<std::string, Json>>> SchemaConverter::Members(const SchemaPart& part) {
  std::vector<std::pair<std::string, Json>> members;
  const Json& schema = part.schema;
  if (schema.contains("properties")) {
    for (const auto& [key, value] : schema["properties"].items()) members.emplace_back(key, value);
  }
  if (!schema.contains("required")) return members;
  for (const Json& name : schema["required"]) {
    const std::string key = name.get<std::string>();
    const bool known = std::any_of(members.begin(), members.end(),
                                   [&](const auto& member) { return member.first == key; });
    if (known) continue;
    const bool ruled = schema.contains("additionalProperties");
    if (ruled && schema["additionalProperties"] == false) {
      return JsonError(part.pointer + "/required",
                       "\"" + key + "\" is required, and additionalProperties excludes it");
    }
    members.emplace_back(key, ruled ? schema["additionalProperties"] : Json(true));
  }
  return members;
}

Result<std::string> SchemaConverter::OtherKey(const SchemaPart& part, const Json& keys) {
  if (keys.empty()) return Builtin("string");
  KeyTree tree;
  for (const Json& key : keys) tree.Add(Characters(key.get<std::string>()));
  Builtin(kCharRule);
  return AddNewRule(part.name + "-other-key",
                    "\"\\\"\" " + OtherEnds(tree, part.name + "-key") + " \"\\\"\"");
}

SchemaConverter::Atom SchemaConverter::VisitObject(const SchemaPart& part) {
  const Json& schema = part.schema;
  VT_ASSIGN_OR_RETURN(const auto members, Members(part));
  // By the standard other members are free; here they are left out where some are described.
  Json others = Json(members.empty() && !schema.contains("properties"));
  if (schema.contains("additionalProperties")) others = schema["additionalProperties"];
  if (members.empty() && others == true) return Builtin("object");

  const std::string ws = Builtin("ws");
  const std::string comma = "\",\" " + ws + " ";
  std::vector<std::string> pairs;
  std::vector<bool> required;
  Json keys = Json::array();
  for (const auto& [key, value] : members) {
    const std::string pointer = "properties/" + PointerToken(key);
    VT_ASSIGN_OR_RETURN(const std::string atom, Visit(part.At(value, pointer, key)));
    pairs.push_back(LiteralText(Json(key).dump() + ":") + " " + ws + " " + atom + " " + ws);
    const auto list = schema.find("required");
    required.push_back(list != schema.end() &&
                       std::find(list->begin(), list->end(), key) != list->end());
    keys.push_back(key);
  }
  std::string other;
  if (others != false) {
    VT_ASSIGN_OR_RETURN(const std::string value,
                        Visit(part.At(others, "additionalProperties", "other")));
    VT_ASSIGN_OR_RETURN(const std::string key, OtherKey(part, keys));
    other = AddNewRule(part.name + "-other", key + " \":\" " + ws + " " + value + " " + ws);
  }

  // rest[i]: members from the i-th on, after one that is there; first[i]: when none is there yet.
  std::string rest = other.empty() ? "" : "(" + comma + other + ")*";
  std::string first = other.empty() ? "" : "(" + other + " " + rest + ")?";
  const auto join = [](const std::string& a, const std::string& b) {
    return a.empty() || b.empty() ? a + b : a + " " + b;
  };
  const std::size_t leading = static_cast<std::size_t>(
      std::find(required.begin(), required.end(), true) - required.begin());
  for (std::size_t i = pairs.size(); i > 0; --i) {
    const std::string& pair = pairs[i - 1];
    if (i - 1 > leading) {
      rest = join(required[i - 1] ? comma + pair : "(" + comma + pair + ")?", rest);
      first.clear();
      continue;
    }
    // Up to the first required member two ways lead on, so what follows is a rule of its own.
    if (leading > 0 && !rest.empty()) rest = AddNewRule(part.name + "-rest", rest);
    const bool needed = required[i - 1];
    const std::string from_here = join(pair, rest);
    if (needed) {
      first = from_here;
    } else {
      first = first.empty() ? "(" + from_here + ")?" : "(" + from_here + " | " + first + ")";
    }
    rest = join(needed ? comma + pair : "(" + comma + pair + ")?", rest);
    if (i > 1) first = AddNewRule(part.name + "-first", first);
  }
  return AddNewRule(part.name, "\"{\" " + ws + " " + (first.empty() ? "" : first + " ") + "\"}\"");
}

}  // namespace vt::grammar
