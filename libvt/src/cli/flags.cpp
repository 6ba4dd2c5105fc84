#include "cli/flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace vt::cli {
namespace {

constexpr std::size_t kColumns = 80;
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

// Optimal string alignment: insertions, deletions, substitutions, swaps of neighbours.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

void AppendWrapped(std::string& out, std::string_view text, std::size_t column) {
  std::size_t at = column;
  while (!text.empty()) {
    const std::size_t word = std::min(text.find(' '), text.size());
    if (at > column && at + 1 + word > kColumns) {
      out.append("\n").append(column, ' ');
      at = column;
    } else if (at > column) {
      out.push_back(' ');
      ++at;
    }
    out.append(text.substr(0, word));
    at += word;
    text.remove_prefix(std::min(word + 1, text.size()));
  }
  out.push_back('\n');
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

std::string_view NearestName(std::string_view name, std::span<const std::string_view> names) {
  // A long unknown name costs no more than a name of this many characters.
  name = name.substr(0, 64);
  std::string_view best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (const std::string_view candidate : names) {
    const std::size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
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
    AppendWrapped(out, doc, kDocColumn);
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
