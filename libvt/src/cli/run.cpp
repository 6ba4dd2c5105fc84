#include "cli/run.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/describe.h"
#include "cli/dump_prompts.h"
#include "cli/generate_run.h"
#include "cli/run_options.h"
#include "cli/signals.h"
#include "cli/version.h"
#include "vt/model_spec.h"

namespace vt::cli {
namespace {

int Finish(const Status& status, Console& console) {
  if (console.closed()) return 0;
  return status.ok() ? 0 : console.Fail(status);
}

Status ListArchitectures(Console& console) {
  std::string text;
  for (const std::string_view name : KnownArchitectures()) text.append(name).append("\n");
  return console.Write(text);
}

std::string VersionText() {
  return "vt-run " + std::string(ToolVersion()) + " (" + std::string(ToolCommit()) + ")\n";
}

}  // namespace

int RunTool(std::span<const std::string_view> args) {
  const std::atomic<bool>& interrupted = InstallSignals();
  Console console("vt-run", &interrupted);
  RunOptions options;
  const std::vector<Flag> table = RunFlags(&options);
  const Status parsed = ParseRunFlags(args, table, &options);
  // Where parsing stopped early, whoever wrote --json anywhere reads JSON.
  console.set_json(options.json || options.jsonl ||
                   std::any_of(args.begin(), args.end(), [](std::string_view argument) {
                     return argument == "--json" || argument == "--jsonl";
                   }));
  console.set_quiet(options.quiet);
  if (!parsed.ok()) return console.Fail(parsed);
  switch (options.mode) {
    case kHelp:
      return Finish(console.Write(RunHelp(table)), console);
    case kVersion:
      return Finish(console.Write(VersionText()), console);
    case kListArchs:
      return Finish(ListArchitectures(console), console);
    case kDescribe:
      return Finish(Describe(options.model, console), console);
    case kDumpTokens:
    case kDumpPrompt: {
      const Result<int> code = DumpPrompts(options, console, interrupted);
      if (!code.ok()) return Finish(code.status(), console);
      return *code;
    }
    case kGenerate:
      break;
  }
  return RunGenerate(&options, table, console, interrupted);
}

}  // namespace vt::cli
