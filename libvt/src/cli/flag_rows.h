// Rows of flag tables: kinds of value, and rows that several tools have.
//
// `target` holds the default when the row is made, gets the value when it is parsed, and must
// outlive the table. The rest of the row is given by the caller.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags.h"

namespace vt::cli {

Flag FlagRow(std::string_view group, std::string_view name, std::string_view value,
             std::string_view doc, unsigned modes = ~0u);
Flag WithLetter(char letter, Flag row);                // "-m" as well
Flag WithDefault(std::string default_text, Flag row);  // what the help says of the default

Flag SwitchFlag(Flag row, bool* target, bool value = true);
Flag IntegerFlag(Flag row, std::int64_t* target, std::int64_t lowest,
                 std::int64_t highest = std::numeric_limits<std::int64_t>::max());
Flag RealFlag(Flag row, float* target);
Flag TextFlag(Flag row, std::string* target);
// A file, a device: an empty name is a mistake of a script. Shows no setting.
Flag NameFlag(Flag row, std::string* target);
Flag ListFlag(Flag row, std::vector<std::string>* target);  // repeatable; no empty name
Flag ChoiceFlag(Flag row, std::string* target, const std::vector<std::string_view>& choices);

Flag KvTypeFlag(Flag row, std::string* target);  // f32, f16, bf16, q8_0
Flag IsaFlag(Flag row, std::string* target);     // scalar, avx2, avx512, avx512vnni
// "OP=NAME", repeatable, each op once. Whether they are known is not looked at.
Flag KernelsFlag(Flag row, std::map<std::string, std::string>* target);

// A switch that is what the program does.
template <class Mode>
Flag ModeFlag(Flag row, Mode* target, Mode mode) {
  row.apply = [=](std::string_view) {
    *target = mode;
    return Status();
  };
  return row;
}

// --json and --table; neither given: AnswersInJson decides.
void AddFormFlags(std::vector<Flag>& table, std::string_view group, unsigned modes, bool* json,
                  bool* as_table);

// Whether an answer is a document rather than text for people: as the flags say, else whether
// stdout is no terminal.
bool AnswersInJson(bool json, bool as_table);

}  // namespace vt::cli
