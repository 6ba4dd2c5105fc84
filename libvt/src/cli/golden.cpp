#include "cli/golden.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/golden_commands.h"
#include "cli/golden_options.h"
#include "cli/signals.h"
#include "cli/version.h"

namespace vt::cli {
namespace {

Result<int> Run(GoldenContext& context, std::span<const Flag> table) {
  const GoldenOptions& options = context.options;
  if (options.help) {
    VT_RETURN_IF_ERROR(context.console.Write(GoldenHelp(options, table)));
    return 0;
  }
  if (options.version) {
    VT_RETURN_IF_ERROR(context.console.Write("vt-golden " + std::string(ToolVersion()) + " (" +
                                             std::string(ToolCommit()) + ")\n"));
    return 0;
  }
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
  const std::atomic<bool>& interrupted = InstallSignals();
  Console console("vt-golden", &interrupted);
  GoldenOptions options;
  std::vector<Flag> table;
  const Status parsed = ParseGoldenArgs(args, &options, &table);
  // Whoever reads documents gets the failure as one; where parsing stopped early, whoever wrote
  // --json anywhere.
  console.set_json(GoldenJsonWanted(options) ||
                   std::find(args.begin(), args.end(), "--json") != args.end());
  console.set_quiet(options.quiet);
  if (!parsed.ok()) return console.Fail(parsed);
  GoldenContext context{options, console, interrupted};
  const Result<int> code = Run(context, table);
  if (console.closed()) return 0;
  return code.ok() ? *code : console.Fail(code.status());
}

}  // namespace vt::cli
