#include "cli/flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/near_names.h"
#include "base/text_layout.h"

namespace vt::cli {
namespace {

constexpr std::size_t kDocColumn = 29;

std::string Quoted(std::string_view text) { return "\"" + ValidUtf8(text) + "\""; }

Status UnknownFlag(std::span<const Flag> table, std::string_view argument) {
  const std::size_t dashes = std::min(argument.find_first_not_of('-'), argument.size());
  std::vector<std::string_view> names;
  for (const Flag& flag : table) names.push_back(flag.name);
  return InvalidError(ValidUtf8(argument) + ": unknown flag; the nearest is --" +
                      std::string(NearestName(argument.substr(dashes), names)) +
                      " (--help lists all)");
}

}  // namespace

const Flag* FindFlag(std::span<const Flag> table, std::string_view argument) {
  for (const Flag& flag : table) {
    if (argument.size() == 2 && argument[0] == '-' && flag.letter != 0 &&
        argument[1] == flag.letter) {
      return &flag;
    }
    if (argument.starts_with("--") && argument.substr(2) == flag.name) return &flag;
  }
  return nullptr;
}

Result<GivenFlags> ParseFlags(std::span<const Flag> table, std::span<const std::string_view> args) {
  GivenFlags given;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view argument = args[i];
    if (argument.size() < 2 || argument[0] != '-') {
      return InvalidError(Quoted(argument) +
                          ": not a flag; every value follows its flag, as in -m FILE -p TEXT");
    }
    const bool long_form = argument.starts_with("--");
    const std::size_t equals = long_form ? argument.find('=') : std::string_view::npos;
    const std::string_view name = argument.substr(0, equals);
    const Flag* flag = FindFlag(table, name);
    if (!flag) return UnknownFlag(table, name);
    const std::string shown = "--" + std::string(flag->name);
    if (!flag->repeatable && given.contains(flag->name)) {
      return InvalidError(shown + ": given twice; give it once");
    }
    std::string_view value;
    if (flag->is_switch()) {
      if (equals != std::string_view::npos) {
        return InvalidError(shown + ": takes no value (" + Quoted(argument.substr(equals + 1)) +
                            " given)");
      }
    } else if (equals != std::string_view::npos) {
      value = argument.substr(equals + 1);
    } else {
      const std::string form = shown + "=" + std::string(flag->value);
      if (i + 1 == args.size()) return InvalidError(shown + ": needs a value; write " + form);
      value = args[++i];
      if (FindFlag(table, value)) {
        return InvalidError(shown + ": needs a value, and " + Quoted(value) + " is a flag; write " +
                            form);
      }
    }
    given.insert(flag->name);
    if (Status status = flag->apply(value); !status.ok()) {
      return Status(status.code(), shown + ": " + status.message(), status.at());
    }
  }
  return given;
}

std::string FlagHelp(std::span<const Flag> table) {
  std::string out;
  std::string_view group;
  for (const Flag& flag : table) {
    if (flag.group != group) {
      group = flag.group;
      out.append("\n").append(group).append(":\n");
    }
    std::string head = flag.letter ? std::string("  -") + flag.letter + ", " : "      ";
    head.append("--").append(flag.name);
    if (!flag.is_switch()) head.append(" ").append(flag.value);
    out.append(head);
    if (head.size() + 1 > kDocColumn) {
      out.append("\n").append(kDocColumn, ' ');
    } else {
      out.append(kDocColumn - head.size(), ' ');
    }
    std::string doc(flag.doc);
    if (!flag.default_text.empty()) doc += " [" + flag.default_text + "]";
    out += Wrapped(doc, kDocColumn, kDocColumn);
  }
  return out;
}

Result<std::int64_t> ParseInteger(std::string_view text, std::int64_t lowest,
                                  std::int64_t highest) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = error != std::errc::invalid_argument && end == text.data() + text.size();
  if (!number || text.empty()) return InvalidError(Quoted(text) + " is not a whole number");
  if (error == std::errc::result_out_of_range || value < lowest || value > highest) {
    std::string allowed = "at least " + std::to_string(lowest);
    if (highest != std::numeric_limits<std::int64_t>::max()) {
      allowed = std::to_string(lowest) + " to " + std::to_string(highest);
    }
    return InvalidError(std::string(text) + " is out of range (allowed: " + allowed + ")");
  }
  return value;
}

Result<float> ParseReal(std::string_view text) {
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return InvalidError(Quoted(text) + " is not a number");
  }
  return value;
}

}  // namespace vt::cli
