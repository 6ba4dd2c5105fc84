// The subcommands of vt-bench and what they share.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/flag_rows.h"

namespace vt::cli {

// Each reads its own arguments (without its name) and returns the exit code of an answer; an error
// is reported by the tool. Answers go to stdout, as JSON when asked for or when stdout is no
// terminal.
using BenchCommandFn = Result<int>(std::span<const std::string_view> args, Console& console);
BenchCommandFn BenchRunCommand;
BenchCommandFn BenchCompareCommand;
BenchCommandFn BenchFloorCommand;
BenchCommandFn BenchSynthCommand;
BenchCommandFn BenchOpsCommand;
BenchCommandFn BenchCalibrateCommand;

// What every subcommand takes.
struct BenchOutput {
  bool json = false;
  bool table = false;
  bool quiet = false;
  std::string file;  // -o; empty: stdout alone
  bool json_wanted() const;
};
void AddOutputFlags(std::vector<Flag>& table, BenchOutput* output, std::string_view file_doc);
// Of commands that have a text for people.
void AddTableFlag(std::vector<Flag>& table, BenchOutput* output);
Flag BenchRow(std::string_view name, std::string_view value, std::string_view doc);
// "N,N,..", each once.
Flag BenchCountsFlag(Flag row, std::vector<std::int64_t>* target, std::int64_t lowest,
                     std::int64_t highest);

// Applies `args`. True: help was asked for and has been written (usage, flags that have a doc, and
// `notes`). `files`, when given, takes the arguments that belong to no flag.
Result<bool> ParseBenchFlags(std::span<const std::string_view> args, std::span<const Flag> table,
                             std::string_view usage, std::string_view notes, Console& console,
                             std::vector<std::string>* files = nullptr,
                             GivenFlags* given = nullptr);

}  // namespace vt::cli
