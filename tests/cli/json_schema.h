// Checks a document against a JSON Schema of docs/json: the words that those schemas use (type,
// const, enum, required, properties, additionalProperties, items, oneOf, $ref into $defs); any
// other word is a failure, so that no rule goes unchecked.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace vt::test {

// What is wrong with `document`, with its place; empty when nothing is. `schema` names a file of
// docs/json, "vt.run.schema.json".
std::string SchemaErrors(const nlohmann::json& document, const std::string& schema);
// The same for a schema that is given.
std::string ErrorsAgainst(const nlohmann::json& schema, const nlohmann::json& document);

}  // namespace vt::test
