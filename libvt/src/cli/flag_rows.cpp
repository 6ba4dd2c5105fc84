#include "cli/flag_rows.h"

#include <unistd.h>

#include <algorithm>

namespace vt::cli {
namespace {

std::function<void(JsonWriter&)> ShowText(const std::string* text) {
  return [=](JsonWriter& json) {
    if (text->empty()) {
      json.Null();
    } else {
      json.Value(*text);
    }
  };
}

}  // namespace

Flag FlagRow(std::string_view group, std::string_view name, std::string_view value,
             std::string_view doc, unsigned modes) {
  return {.name = name, .value = value, .group = group, .doc = doc, .modes = modes};
}

Flag WithLetter(char letter, Flag row) {
  row.letter = letter;
  return row;
}

Flag WithDefault(std::string default_text, Flag row) {
  row.default_text = std::move(default_text);
  return row;
}

Flag SwitchFlag(Flag row, bool* target, bool value) {
  row.apply = [=](std::string_view) {
    *target = value;
    return Status();
  };
  row.show = [=](JsonWriter& json) { json.Value(*target == value); };
  return row;
}

Flag IntegerFlag(Flag row, std::int64_t* target, std::int64_t lowest, std::int64_t highest) {
  if (row.default_text.empty()) row.default_text = std::to_string(*target);
  row.apply = [=](std::string_view text) {
    VT_ASSIGN_OR_RETURN(*target, ParseInteger(text, lowest, highest));
    return Status();
  };
  row.show = [=](JsonWriter& json) { json.Value(*target); };
  return row;
}

Flag RealFlag(Flag row, float* target) {
  if (row.default_text.empty()) row.default_text = JsonWriter().Value(*target).Take();
  row.apply = [=](std::string_view text) {
    VT_ASSIGN_OR_RETURN(*target, ParseReal(text));
    return Status();
  };
  row.show = [=](JsonWriter& json) { json.Value(*target); };
  return row;
}

Flag TextFlag(Flag row, std::string* target) {
  row.apply = [=](std::string_view text) {
    *target = text;
    return Status();
  };
  row.show = ShowText(target);
  return row;
}

Flag NameFlag(Flag row, std::string* target) {
  row.apply = [=](std::string_view text) {
    if (text.empty()) return InvalidError("the name is empty");
    *target = text;
    return Status();
  };
  return row;
}

Flag ListFlag(Flag row, std::vector<std::string>* target) {
  row.repeatable = true;
  row.apply = [=](std::string_view text) {
    if (text.empty()) return InvalidError("the name is empty");
    target->emplace_back(text);
    return Status();
  };
  row.show = [=](JsonWriter& json) {
    json.BeginArray();
    for (const std::string& text : *target) json.Value(text);
    json.EndArray();
  };
  return row;
}

Flag ChoiceFlag(Flag row, std::string* target, const std::vector<std::string_view>& choices) {
  if (row.default_text.empty()) row.default_text = *target;
  row.apply = [=](std::string_view text) {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      std::string allowed;
      for (const std::string_view choice : choices) {
        allowed.append(allowed.empty() ? "" : ", ").append(choice);
      }
      return InvalidError("\"" + ValidUtf8(text) + "\"" + " is not known (allowed: " + allowed +
                          ")");
    }
    *target = text;
    return Status();
  };
  row.show = ShowText(target);
  return row;
}

Flag KvTypeFlag(Flag row, std::string* target) {
  return ChoiceFlag(std::move(row), target, {"f32", "f16", "bf16", "q8_0"});
}

Flag IsaFlag(Flag row, std::string* target) {
  return ChoiceFlag(std::move(row), target, {"scalar", "avx2", "avx512", "avx512vnni"});
}

Flag KernelsFlag(Flag row, std::map<std::string, std::string>* target) {
  row.repeatable = true;
  row.apply = [=](std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
      return InvalidError("\"" + ValidUtf8(text) +
                          "\" is not OP=NAME (as in matmul=cpu.scalar.f32)");
    }
    const std::string op(text.substr(0, equals));
    if (!target->emplace(op, text.substr(equals + 1)).second) {
      return InvalidError("op " + ValidUtf8(op) + " has two kernels");
    }
    return Status();
  };
  row.show = [=](JsonWriter& json) {
    json.BeginObject();
    for (const auto& [op, name] : *target) json.Field(op, name);
    json.EndObject();
  };
  return row;
}

void AddFormFlags(std::vector<Flag>& table, std::string_view group, unsigned modes, bool* json,
                  bool* as_table) {
  table.push_back(
      SwitchFlag(FlagRow(group, "json", "", "JSON, the default when piped", modes), json));
  table.push_back(SwitchFlag(
      FlagRow(group, "table", "", "a table, the default at a terminal", modes), as_table));
}

bool AnswersInJson(bool json, bool as_table) {
  if (json || as_table) return json;
  return isatty(STDOUT_FILENO) != 1;
}

}  // namespace vt::cli
