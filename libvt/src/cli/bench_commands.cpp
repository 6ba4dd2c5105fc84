#include "cli/bench_commands.h"

#include <algorithm>

#include "cli/flag_rules.h"

namespace vt::cli {

bool BenchOutput::json_wanted() const { return AnswersInJson(json, table); }

Flag BenchRow(std::string_view name, std::string_view value, std::string_view doc) {
  return FlagRow({}, name, value, doc);
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
  table.push_back(NameFlag(WithLetter('o', BenchRow("output", "FILE", file_doc)), &output->file));
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
  if (AsksForHelp(args)) {
    std::vector<Flag> shown;
    std::copy_if(table.begin(), table.end(), std::back_inserter(shown),
                 [](const Flag& flag) { return !flag.doc.empty(); });
    for (Flag& flag : shown) flag.group = {};
    VT_RETURN_IF_ERROR(console.Write(std::string(usage) + FlagHelp(shown) + std::string(notes)));
    return true;
  }
  std::vector<std::string_view> flags(args.begin(), args.end());
  if (files) {
    SplitArguments split = SplitFiles(table, args);
    flags = std::move(split.flags);
    *files = std::move(split.files);
  }
  VT_ASSIGN_OR_RETURN(const GivenFlags seen, ParseFlags(table, flags));
  VT_RETURN_IF_ERROR(CheckExclusive(seen, {{"json", "table"}}));
  if (given) *given = seen;
  return false;
}

}  // namespace vt::cli
