// Rules that schemas are built on.
#include "formats/grammar/schema_converter.h"

namespace vt::grammar {
namespace {

// Numbers are kept to lengths that every reader of JSON takes; a \u escape is one character, and a
// pair of surrogates is one.
const BuiltinRule kRules[] = {
    {"ws", R"re((" " | "\n" [ \t]{0,20})?)re", {}},
    {"hex", "[0-9a-fA-F]", {}},
    {"escape",
     R"re("\\" (["\\/bfnrt] | "u" ([0-9abcefABCEF] hex{3} | [dD] [0-7] hex{2} | [dD] [89abAB] hex{2} "\\u" [dD] [c-fC-F] hex{2})))re",
     {"hex"}},
    {"char", R"re([^"\\\x00-\x1F] | escape)re", {"escape"}},
    {"string", R"re("\"" char* "\"")re", {"char"}},
    {"number",
     R"re("-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?)re",
     {}},
    {"integer", R"re("0" | "-"? [1-9] [0-9]{0,15})re", {}},
    {"boolean", R"re("true" | "false")re", {}},
    {"null", R"re("null")re", {}},
    {"object",
     R"re("{" ws (string ":" ws value ws ("," ws string ":" ws value ws)*)? "}")re",
     {"ws", "string", "value"}},
    {"array", R"re("[" ws (value ws ("," ws value ws)*)? "]")re", {"ws", "value"}},
    {"value",
     "object | array | string | number | boolean | null",
     {"object", "array", "string", "number", "boolean", "null"}},
    // Dates that exist, in the years 1000 to 9999.
    {"date",
     R"re([1-9] [0-9]{3} "-" (("0" [13578] | "1" [02]) "-" ("0" [1-9] | [12] [0-9] | "3" [01]) | ("0" [469] | "11") "-" ("0" [1-9] | [12] [0-9] | "30") | "02-" ("0" [1-9] | "1" [0-9] | "2" [0-8])) | leap-year "-02-29")re",
     {"leap-year"}},
    {"leap-year",
     R"re([1-9] [0-9] ("0" [48] | [2468] [048] | [13579] [26]) | ([2468] [048] | [13579] [26]) "00")re",
     {}},
    {"time",
     R"re(([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,9})? ("Z" | [-+] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]))re",
     {}},
    {"date-time", R"re(date "T" time)re", {"date", "time"}},
    {"uuid", R"re(hex{8} "-" hex{4} "-" hex{4} "-" hex{4} "-" hex{12})re", {"hex"}},
};

}  // namespace

const BuiltinRule* FindBuiltin(std::string_view name) {
  for (const BuiltinRule& rule : kRules) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

std::vector<std::string_view> FormatNames() { return {"date", "date-time", "time", "uuid"}; }

}  // namespace vt::grammar
