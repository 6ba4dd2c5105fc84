#include "cli/run.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cli/describe.h"
#include "cli/dump_prompts.h"
#include "cli/generate_run.h"
#include "cli/run_options.h"
#include "cli/tool.h"
#include "cli/version.h"
#include "vt/model_spec.h"

namespace vt::cli {
namespace {

std::string Architectures() {
  std::string text;
  for (const std::string_view name : KnownArchitectures()) text.append(name).append("\n");
  return text;
}

Result<int> Run(RunOptions* options, std::span<const Flag> table, Console& console) {
  switch (options->mode) {
    case kHelp:
      return WriteAnswer(console, RunHelp(table));
    case kVersion:
      return WriteAnswer(console, VersionText("vt-run"));
    case kListArchs:
      return WriteAnswer(console, Architectures());
    case kDescribe:
      VT_RETURN_IF_ERROR(Describe(options->model, console));
      return 0;
    case kDumpTokens:
    case kDumpPrompt:
      return DumpPrompts(*options, console, console.interrupted_flag());
    case kGenerate:
      break;
  }
  return RunGenerate(options, table, console);
}

}  // namespace

int RunTool(std::span<const std::string_view> args) {
  RunOptions options;
  const std::vector<Flag> table = RunFlags(&options);
  const auto parse = [&] {
    const Status parsed = ParseRunFlags(args, table, &options);
    const bool lines = std::find(args.begin(), args.end(), "--jsonl") != args.end();
    return ToolStart{parsed, options.json || options.jsonl || lines, options.quiet};
  };
  return ToolMain("vt-run", args, parse,
                  [&](Console& console) { return Run(&options, table, console); });
}

}  // namespace vt::cli
