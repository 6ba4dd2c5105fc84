// Command-line flags as a table: one row per flag, from which parsing, help and docs all come.
//
// A table is made for one options object; each row knows how to read its value into that object and
// how to show it. Parsing is pure: it looks at the arguments alone.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "vt/status.h"

namespace vt::cli {

struct Flag {
  std::string_view name;          // long name without dashes
  char letter = 0;                // "-m"; 0: none
  std::string_view value = {};    // "FILE"; empty: a switch
  std::string_view group = {};    // heading in the help
  std::string_view doc = {};      // one line
  std::string default_text = {};  // shown in brackets; empty: nothing to show
  bool repeatable = false;
  unsigned modes = ~0u;  // bits of the tool's modes in which the flag has an effect

  std::function<Status(std::string_view)> apply = {};  // reads the value ("" of a switch)
  std::function<void(JsonWriter&)> show = nullptr;     // writes the value as a setting; null: none

  bool is_switch() const { return value.empty(); }
};

using GivenFlags = std::set<std::string_view>;  // long names; live as long as the table

// Applies `args` (without the program's name) to the table's options, in order, and says which
// flags were given. kInvalid: an unknown flag (with the nearest name), a value that is missing or
// wrong, a flag given twice that is not repeatable, an argument that belongs to no flag.
// "--name value", "--name=value", "-x value". A value that is itself a flag of the table must be
// given with "=".
Result<GivenFlags> ParseFlags(std::span<const Flag> table, std::span<const std::string_view> args);

// The flag that an argument is: "--name" or "-x". Null: none.
const Flag* FindFlag(std::span<const Flag> table, std::string_view argument);

// The table as text of at most 80 columns, by group in the table's order.
std::string FlagHelp(std::span<const Flag> table);

// Values as people type them; the message names the text and the range allowed.
Result<std::int64_t> ParseInteger(std::string_view text, std::int64_t lowest, std::int64_t highest);
Result<float> ParseReal(std::string_view text);  // finite

}  // namespace vt::cli
