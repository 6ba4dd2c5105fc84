// JSON Schemas as grammars: which documents they take, what they make, which schemas are refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "formats/grammar/grammar_text.h"
#include "formats/grammar/schema_cases.h"

namespace vt::test {
namespace {

Grammar GrammarOf(const std::string& schema) {
  const Result<std::string> gbnf = JsonSchemaToGbnf(schema);
  EXPECT_TRUE(gbnf.ok()) << schema << "\n" << gbnf.status().message();
  return MustParse(gbnf.ok() ? *gbnf : "root ::= \"\"");
}

TEST(JsonSchema, TakesWhatFitsAndNothingElse) {
  std::size_t documents = 0;
  for (const SchemaCase& c : SchemaCases()) {
    const Grammar grammar = GrammarOf(c.schema);
    const GrammarState state = StateOf(grammar);
    for (const std::string& text : c.fit) {
      EXPECT_TRUE(Fits(state, text)) << c.schema << "\n" << text;
      // Documents end where they end.
      EXPECT_FALSE(Fits(state, text + " x")) << c.schema << "\n" << text;
    }
    for (const auto* const texts : {&c.do_not, &c.refused}) {
      for (const std::string& text : *texts) {
        EXPECT_FALSE(Fits(state, text)) << c.schema << "\n" << text;
      }
    }
    documents += c.fit.size() + c.do_not.size() + c.refused.size();
  }
  EXPECT_GT(documents, 400u);
}

TEST(JsonSchema, RefusedSchemasNameTheKeywordAndItsPlace) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"type": "objet"})",
       R"(/type: must be one or several of object, array, string, number, integer, boolean, null ("objet" given))"},
      {R"({"type": "object", "propertys": {}})",
       R"(/propertys: keyword "propertys" is not supported (near names: "properties"))"},
      {R"({"type": "object", "properties": {"a/b": {"multipleOf": 3}}})",
       R"(/properties/a~1b/multipleOf: keyword "multipleOf" is not supported)"},
      {R"({"type": "array", "items": {"type": "array", "uniqueItems": true}})",
       "/items/uniqueItems: must be false"},
      {R"({"not": {"type": "string"}})", R"(/not: keyword "not" is not supported)"},
      {R"({"if": true, "then": true})", "/if: keyword"},
      {R"({"type": "object", "patternProperties": {}})",
       R"(/patternProperties: keyword "patternProperties" is not supported)"},
      {R"({"type": "number", "minimum": 0})",
       R"(/minimum: keyword "minimum" is supported for type "integer" only)"},
      {R"({"type": "string", "minimum": 0})",
       R"(/minimum: keyword "minimum" has an effect only on integers (the type here is "string"))"},
      {R"({"type": "string", "format": "email"})",
       R"(/format: format "email" is not supported (supported: date, date-time, time, uuid))"},
      {R"({"type": "string", "minLength": -1})",
       "/minLength: must be a whole number from 0 to 1000000 (-1 given)"},
      {R"({"type": "string", "minLength": 3, "maxLength": 2})",
       "no string has at least 3 and at most 2"},
      {R"({"type": "integer", "minimum": 3, "exclusiveMaximum": 3})",
       "no integer is at least 3 and at most 2"},
      {R"({"type": "integer", "minimum": 1e30})", "/minimum: 1e+30 is out of range"},
      {R"({"type": "array", "minItems": 2, "items": false})",
       "no array has at least 2 and at most 0"},
      {R"({"type": "string", "pattern": "^a$", "maxLength": 2})",
       "pattern, format and lengths of one string cannot be put together"},
      {R"({"type": "string", "pattern": "(?=a)b"})",
       "/pattern: pattern, character 1: look-ahead and look-behind are not supported"},
      {R"({"type": "string", "pattern": "a\\b"})",
       R"(/pattern: pattern, character 2: the escape of "b" is not supported)"},
      {R"({"type": "string", "pattern": "(a)\\1"})",
       R"(character 4: the escape of "1" is not supported)"},
      {R"({"type": "string", "pattern": "a$b"})", R"(character 2: "$" is supported only around)"},
      {R"re({"type": "string", "pattern": "(^a)"})re",
       R"(character 2: "^" is supported only around)"},
      {R"({"type": "string", "pattern": "[a"})", R"(character 1: "[" is not closed)"},
      {R"({"type": "string", "pattern": "*a"})",
       R"(character 1: "*" has nothing to repeat before it)"},
      {R"({"type": "string", "pattern": "a{,2}"})",
       R"(character 2: "{,2}" is no {m}, {m,} or {m,n})"},
      {R"({"enum": []})", "/enum: must be an array of values"},
      {R"({"enum": ["abc"], "maxLength": 2})",
       R"(/maxLength: beside enum or const, "maxLength" is not supported)"},
      {R"({"type": "string", "enum": [1, 2]})",
       R"(none of the values listed is of the type given ("string"))"},
      {R"({"$ref": "#/$defs/x"})",
       R"(/$ref: "#/$defs/x" names nothing in this document ("$defs" is not there))"},
      {R"({"$ref": "https://example.com/s.json"})",
       R"(/$ref: "https://example.com/s.json" is not supported)"},
      {R"({"$ref": "#"})", "left recursion"},
      {R"({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"})",
       "left recursion"},
      {R"({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"})",
       "more than 50 deep"},
      {R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})",
       "no finite text fits"},
      {R"({"type": "object", "properties": {"a": {}}, "required": ["b"], "additionalProperties": false})",
       R"(/required: "b" is required, and additionalProperties excludes it)"},
      {R"({"type": "object", "properties": {"a": false}})", "/properties/a: false fits no value"},
      {R"({"oneOf": [{"type": "string"}, {"type": "string", "maxLength": 3}]})",
       "/oneOf: a value may fit both option 0 and option 1"},
      {R"({"allOf": [{"type": "string"}, {"type": "integer"}]})",
       R"(no type is allowed by all parts (["string"] and ["integer"]))"},
      {R"({"allOf": [{"pattern": "a"}, {"pattern": "b"}]})", R"("pattern" in several parts)"},
      {"[1]", "a schema is an object, true or false (array given)"},
      {"{", "line 1"},
  };
  for (const auto& [schema, says] : cases) {
    const Result<std::string> gbnf = JsonSchemaToGbnf(schema);
    ASSERT_FALSE(gbnf.ok()) << schema << "\n" << *gbnf;
    EXPECT_EQ(gbnf.status().code(), Code::kInvalid) << schema;
    EXPECT_NE(gbnf.status().message().find(says), std::string::npos)
        << schema << "\nwant: " << says << "\ngot:  " << gbnf.status().message();
  }
}

// A text that a grammar makes when every next byte is drawn, the likelier the sooner it ends.
std::string RandomText(GrammarState state, std::mt19937& random, std::size_t longest) {
  std::string text;
  while (!state.must_end()) {
    const Result<GrammarState::Mask> mask = state.AllowedTokens();
    if (!mask.ok() || text.size() >= longest) return "";
    if (mask->Has(256) && random() % 3 == 0) break;
    std::vector<TokenId> choices;
    for (TokenId id = 0; id < 256; ++id) {
      if (!mask->Has(id)) continue;
      // Closing and plain characters more often, or nothing would ever end.
      const bool closes = id == '"' || id == ']' || id == '}';
      choices.insert(choices.end(), closes ? 24 : id >= 'a' && id <= 'z' ? 4 : 1, id);
    }
    const TokenId id = choices[random() % choices.size()];
    text += static_cast<char>(id);
    state.Accept(id);
  }
  return text;
}

TEST(JsonSchema, WhatIsMadeIsJson) {
  std::mt19937 random(11);
  std::size_t documents = 0;
  for (const SchemaCase& c : SchemaCases()) {
    const GrammarState state = StateOf(GrammarOf(c.schema));
    for (int i = 0; i < 10; ++i) {
      const std::string text = RandomText(state, random, 2000);
      if (text.empty()) continue;
      EXPECT_FALSE(nlohmann::json::parse(text, nullptr, false).is_discarded()) << c.schema << "\n"
                                                                               << text;
      ++documents;
    }
  }
  EXPECT_GT(documents, 500u);
}

}  // namespace
}  // namespace vt::test
