#include "cli/bench_commands.h"

#include <unistd.h>

#include <algorithm>

namespace vt::cli {

bool BenchOutput::json_wanted() const { return json || (!table && isatty(STDOUT_FILENO) != 1); }

Flag BenchRow(std::string_view name, std::string_view value, std::string_view doc) {
  return {.name = name, .value = value, .doc = doc};
}

Flag BenchNameFlag(Flag row, std::string* target) {
  row.apply = [=](std::string_view text) {
    if (text.empty()) return InvalidError("the name is empty");
    *target = text;
    return Status();
  };
  return row;
}

Flag BenchCountsFlag(Flag row, std::vector<std::int64_t>* target, std::int64_t lowest,
                     std::int64_t highest) {
  row.apply = [=](std::string_view text) {
    std::vector<std::int64_t> counts;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      VT_ASSIGN_OR_RETURN(const std::int64_t count,
                          ParseInteger(text.substr(at, comma - at), lowest, highest));
      if (std::find(counts.begin(), counts.end(), count) != counts.end()) {
        return InvalidError(std::to_string(count) + " is there twice");
      }
      counts.push_back(count);
      at = comma + 1;
    }
    *target = std::move(counts);
    return Status();
  };
  return row;
}

void AddOutputFlags(std::vector<Flag>& table, BenchOutput* output, std::string_view file_doc) {
  table.push_back(
      SwitchFlag(BenchRow("json", "", "JSON on stdout, the default when piped"), &output->json));
  Flag file = BenchRow("output", "FILE", file_doc);
  file.letter = 'o';
  table.push_back(BenchNameFlag(std::move(file), &output->file));
  table.push_back(
      SwitchFlag(BenchRow("quiet", "", "no progress and notes on stderr"), &output->quiet));
}

void AddTableFlag(std::vector<Flag>& table, BenchOutput* output) {
  table.push_back(
      SwitchFlag(BenchRow("table", "", "text, the default at a terminal"), &output->table));
}

Result<bool> ParseBenchFlags(std::span<const std::string_view> args, std::span<const Flag> table,
                             std::string_view usage, std::string_view notes, Console& console,
                             std::vector<std::string>* files, GivenFlags* given) {
  for (const std::string_view argument : args) {
    if (argument != "--help" && argument != "-h") continue;
    std::vector<Flag> shown;
    std::copy_if(table.begin(), table.end(), std::back_inserter(shown),
                 [](const Flag& flag) { return !flag.doc.empty(); });
    for (Flag& flag : shown) flag.group = {};
    VT_RETURN_IF_ERROR(console.Write(std::string(usage) + FlagHelp(shown) + std::string(notes)));
    return true;
  }
  std::vector<std::string_view> rest;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view argument = args[i];
    if (files && (argument == "-" || !argument.starts_with('-'))) {
      files->emplace_back(argument);
      continue;
    }
    rest.push_back(argument);
    const auto flag = std::find_if(table.begin(), table.end(), [&](const Flag& one) {
      if (argument.starts_with("--")) return argument.substr(2) == one.name;
      return argument.size() == 2 && one.letter != 0 && argument[1] == one.letter;
    });
    if (flag != table.end() && !flag->is_switch() && i + 1 < args.size()) rest.push_back(args[++i]);
  }
  VT_ASSIGN_OR_RETURN(const GivenFlags seen, ParseFlags(table, rest));
  if (seen.contains("json") && seen.contains("table")) {
    return InvalidError("--json and --table contradict each other; give one");
  }
  if (given) *given = seen;
  return false;
}

}  // namespace vt::cli
