#include "cli/tool.h"

#include <algorithm>

#include "cli/signals.h"

namespace vt::cli {

int ToolMain(std::string_view tool, std::span<const std::string_view> args,
             const std::function<ToolStart()>& parse,
             const std::function<Result<int>(Console&)>& run) {
  Console console(tool, &InstallSignals());
  const ToolStart start = parse();
  console.set_json(start.json || std::find(args.begin(), args.end(), "--json") != args.end());
  console.set_quiet(start.quiet);
  if (!start.parsed.ok()) return console.Fail(start.parsed);
  const Result<int> code = run(console);
  if (console.closed()) return 0;
  return code.ok() ? *code : console.Fail(code.status());
}

Result<int> WriteAnswer(Console& console, std::string_view text) {
  VT_RETURN_IF_ERROR(console.Write(text));
  return 0;
}

}  // namespace vt::cli
