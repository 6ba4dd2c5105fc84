#include "cli/golden.h"

#include <vector>

#include "cli/golden_commands.h"
#include "cli/golden_options.h"
#include "cli/tool.h"
#include "cli/version.h"

namespace vt::cli {
namespace {

Result<int> Run(GoldenContext& context, std::span<const Flag> table) {
  const GoldenOptions& options = context.options;
  if (options.help) return WriteAnswer(context.console, GoldenHelp(options, table));
  if (options.version) return WriteAnswer(context.console, VersionText("vt-golden"));
  switch (options.command) {
    case GoldenCommand::kRecord:
      return RunGoldenRecord(context);
    case GoldenCommand::kCheck:
      return RunGoldenCheck(context);
    case GoldenCommand::kDiff:
      return RunGoldenDiff(context);
    case GoldenCommand::kImport:
      return RunGoldenImport(context);
    case GoldenCommand::kSelfTest:
      return RunGoldenSelfTest(context);
    case GoldenCommand::kNone:
      break;
  }
  return InternalError("no subcommand");
}

}  // namespace

int RunGoldenTool(std::span<const std::string_view> args) {
  GoldenOptions options;
  std::vector<Flag> table;
  const auto parse = [&] {
    const Status parsed = ParseGoldenArgs(args, &options, &table);
    return ToolStart{parsed, GoldenJsonWanted(options), options.quiet};
  };
  return ToolMain("vt-golden", args, parse, [&](Console& console) {
    GoldenContext context{options, console, console.interrupted_flag()};
    return Run(context, table);
  });
}

}  // namespace vt::cli
